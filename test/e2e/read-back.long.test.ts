import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import type { HttpAnswer, HttpRequest } from "../../src/delivery/http/client.ts";
import { statusText } from "../../src/cli/status.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import type { VirtualSite } from "../support/virtual-site.ts";

/** Longer than the maximum time between two reports without a change. */
const REPORT_AGAIN_MS = 361 * MINUTE;

/** Intercepts the requests to the service. `stand` answers each request, and may forward it with `pass`. */
function between(
  { service }: VirtualSite,
  stand: (request: HttpRequest, pass: () => Promise<HttpAnswer>) => Promise<HttpAnswer>,
): { undo: () => void } {
  const send = service.http.send.bind(service.http);
  Object.assign(service.http, { send: (request: HttpRequest) => stand(request, () => send(request)) });
  return { undo: () => void Object.assign(service.http, { send }) };
}

it("a report that differs from the booth's record at the service is logged once and shown until both agree", async () => {
  const { site, agent } = await activeSite({ for_ms: 3 * MINUTE });
  const reports = () => boothOf(agent).reports;
  expect(reports()).toMatchObject({ refused: null, read_back: { differences: [] } });
  const stale = between(site, async ({ method, path }, pass) => {
    const answer = await pass();
    if (method !== "GET" || path !== "/api/booths/b-1") return answer;
    return { ...answer, text: JSON.stringify({ ...(JSON.parse(answer.text) as object), firmware_version: "0.9" }) };
  });
  await site.clock.runUntil(() => (reports().read_back?.differences.length ?? 0) > 0, REPORT_AGAIN_MS);
  expect(reports().read_back?.differences).toMatchObject([{ field: "firmware_version", shown: "0.9" }]);
  expect(statusText(agent.status())).toContain("shows firmware_version 0.9 instead of ");
  const { at } = reports().read_back ?? { at: 0 };
  await site.clock.runUntil(() => (reports().read_back?.at ?? 0) > at, REPORT_AGAIN_MS);
  await site.clock.run(MINUTE);
  const events = rows<{ value: string }>(site.service.db, "SELECT value FROM records WHERE kind = 'e'");
  expect(events.filter(({ value }) => value.includes("firmware_version 0.9"))).toHaveLength(1);
  const incidents = rows<{ value: string }>(site.service.db, "SELECT value FROM records WHERE kind = 'i'");
  expect(incidents.some(({ value }) => value.includes("service_drift"))).toBe(true);
  stale.undo();
  await site.clock.runUntil(() => reports().read_back?.differences.length === 0, REPORT_AGAIN_MS);
  expect(statusText(agent.status())).not.toContain("shows firmware_version");
});

it("a permanently rejected report is set aside, and the status shows the reason until the service accepts a report", async () => {
  const { site, agent } = await activeSite({ for_ms: 3 * MINUTE });
  let asked = 0;
  const refusing = between(site, ({ method, body }, pass) => {
    const isReport = method === "PUT" && typeof body === "object" && body !== null && "reported" in body;
    if (!isReport) return pass();
    asked += 1;
    return Promise.resolve({ status: 422, headers: {}, text: JSON.stringify({ error: "no such mode" }) });
  });
  await site.clock.runUntil(() => boothOf(agent).reports.refused !== null, REPORT_AGAIN_MS);
  expect(boothOf(agent).reports.refused).toMatchObject({ reason: "no such mode (422)" });
  expect(asked).toBe(1);
  await site.stop();
  refusing.undo();
  site.service.way.down = true;
  const after = await site.start();
  expect(statusText(after.status())).toMatch(
    /REFUSED {3}the report on the booth's devices, .* ago: no such mode \(422\)/,
  );
  site.service.way.down = false;
  await site.clock.runUntil(() => boothOf(after).reports.refused === null, REPORT_AGAIN_MS);
});
