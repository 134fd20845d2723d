import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { agentFindings } from "../../src/tools/doctor/agent.ts";
import { statusText } from "../../src/cli/status.ts";
import { gatewayFigures, openSource } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { SERIAL } from "../support/virtual-service.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 07:50 in Denver. */
const START = Date.UTC(2026, 2, 2, 14, 50);

it("a plain service (which accepts no readings) receives only the claim of the booth and its completion", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "busy-day", start: START, facility: { plain: true } });
  const requests: string[] = [];
  site.service.way.passing = (what, { method, path, body, headers }) => {
    if (what === "request")
      requests.push(`${method} ${path} ${JSON.stringify(body ?? null)} ${JSON.stringify(headers ?? {})}`);
    return Promise.resolve();
  };
  const agent = await site.start();
  const booth = () => agent.status().booths[0];
  await site.clock.runUntil(() => booth()?.provisioning.state === "active", 10 * MINUTE_MS);
  expect(booth()).toMatchObject({
    serial: SERIAL,
    provisioning: { delivery: "none", booth_id: "b-1", facility: "Main Street", reason: "" },
  });
  await site.clock.run(40 * MINUTE_MS);
  const log = booth()?.log;
  expect(log?.newest_seq).toBeGreaterThan(100);
  expect(log?.acked_seq).toBe(log?.newest_seq);
  expect(site.service.came).toEqual([]);
  // The changing requests contain only fields of the interface document: no gateway, no stream, no generation, no
  // report.
  const changing = requests.filter((text) => !text.startsWith("GET"));
  expect(changing).toEqual([
    `POST /api/booths_provisioning {"serial_number":"${SERIAL}"} {}`,
    `PUT /api/booths_provisioning/${SERIAL} {"completion_status":"COMPLETE"} {}`,
  ]);
  expect(rows(site.service.db, "SELECT gateway_id, completion_status FROM provisionings")).toEqual([
    { gateway_id: null, completion_status: "COMPLETE" },
  ]);
  await site.stop();
  const { source, close } = openSource(folder, site.clock.wall());
  const { minutes } = gatewayFigures(source, { start: START + MINUTE_MS, end: START + 40 * MINUTE_MS });
  expect(minutes["No Data"] ?? 0).toBeLessThan(0.1);
  close();
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
  site.close();
});

it("a plain service without a broker counts as up while it answers, and the doctor command then reports no fault", async () => {
  const site = virtualSite({
    folder: temporaryFolder(),
    scenario: "busy-day",
    start: START,
    facility: { plain: true },
    unnamed: true,
  });
  const agent = await site.start();
  const booth = () => agent.status().booths[0];
  await agent.enterSerial("booth-1", SERIAL, null);
  await site.clock.runUntil(() => booth()?.provisioning.state === "awaiting_confirm", MINUTE_MS);
  // A look-up was answered: the service is up, and no ack is claimed.
  expect(agent.status().service.kind).toBe("up");
  expect(statusText(agent.status())).not.toMatch(/DOWN|acked/);
  // An hour later, that answer no longer proves that the service is up.
  await site.clock.run(60 * MINUTE_MS);
  expect(agent.status().service.kind).toBe("down");
  await agent.confirm("booth-1", { by: "alex", note: "" });
  await site.clock.runUntil(() => booth()?.provisioning.state === "active", 10 * MINUTE_MS);
  await site.clock.run(20 * MINUTE_MS);
  expect(statusText(agent.status())).not.toMatch(/DOWN|acked/);
  expect(statusText(agent.status())).toContain("stored only on the gateway: this service does not accept readings");
  const findings = agentFindings(agent.status());
  expect(findings.filter(({ state }) => state !== "ok")).toEqual([]);
  site.service.way.down = true;
  await site.clock.runUntil(() => agent.status().service.kind === "down", 6 * MINUTE_MS);
  expect(statusText(agent.status())).toMatch(/DOWN for .*no route to the service/);
  site.service.way.down = false;
  await site.clock.runUntil(() => agent.status().service.kind === "up", 6 * MINUTE_MS);
  site.close();
});

it("the status of a booth at a plain service does not show records as acked while another serial number is looked up", async () => {
  const site = virtualSite({
    folder: temporaryFolder(),
    scenario: "busy-day",
    start: START,
    facility: { plain: true },
  });
  const agent = await site.start();
  const booth = () => agent.status().booths[0];
  await site.clock.runUntil(() => booth()?.provisioning.state === "active", 10 * MINUTE_MS);
  await site.clock.run(5 * MINUTE_MS);
  site.service.way.down = true;
  await agent.enterSerial("booth-1", "WXYZ-999", { by: "alex", note: "" });
  await site.clock.runUntil(() => booth()?.provisioning.state === "queued", MINUTE_MS);
  expect(booth()?.log.acked_seq).toBeGreaterThan(50);
  expect(statusText(agent.status())).toMatch(/records, \d+ kept here until the booth is bound;/);
  site.close();
});
