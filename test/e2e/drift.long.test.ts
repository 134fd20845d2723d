import { expect, it } from "vitest";
import type { HttpAnswer } from "../../src/delivery/http/client.ts";
import { drifted, type Drift } from "../../simulators/service/faults/drift.ts";
import { rows } from "../../simulators/service/storage/db.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";

/** What the agent reads of a record, and a field that nobody knows. */
const DRIFTS: readonly Drift[] = [
  { kind: "added", field: "brand_new" },
  ...["generation", "status", "gateway", "mqtt", "config", "tz", "working_hours", "revision", "filters", "url"].flatMap(
    (field) => (["removed", "renamed", "retyped"] as const).map((kind) => ({ kind, field })),
  ),
];

it("the service's record departs from its contract in each field and manner: nothing is lost, bound it stays, and an incident says so", async () => {
  const { site, agent } = await activeSite({ for_ms: MINUTE });
  const { http, db } = site.service;
  const send = http.send.bind(http);
  let drift: Drift | null = null;
  let statusWord: string | null = null;
  const drifting: typeof send = async (request) => {
    const answer: HttpAnswer = await send(request);
    if (!request.path.includes("booths_provisioning") || answer.status !== 200) return answer;
    const body = drift === null ? (JSON.parse(answer.text) as object) : drifted(JSON.parse(answer.text), drift);
    const whole = statusWord === null ? body : { ...(body as object), status: statusWord };
    return { ...answer, text: JSON.stringify(whole) };
  };
  Object.assign(http, { send: drifting });
  const parameters = (): unknown[] => rows(db, "SELECT seq FROM records WHERE kind = 'p'");
  const before = parameters();
  for (const one of DRIFTS) {
    drift = one;
    // The record is read anew at each start.
    await site.stop();
    const now = await site.start();
    await site.clock.run(30_000);
    expect([one, boothOf(now).provisioning.state]).toEqual([one, "active"]);
  }
  drift = null;
  statusWord = "half_provisioned";
  await site.stop();
  const last = await site.start();
  await site.clock.run(2 * MINUTE);
  const { log, provisioning } = boothOf(last);
  expect(provisioning).toMatchObject({ state: "active", generation: 1 });
  // Time zone, hours and limits stayed in force throughout, and every record is there.
  expect(parameters()).toEqual(before);
  const seqs = rows<{ seq: number }>(db, "SELECT seq FROM records ORDER BY seq").map(({ seq }) => seq);
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => index + 1));
  expect(seqs.length).toBeGreaterThanOrEqual(log.acked_seq);
  const incidents = rows<{ value: string }>(db, "SELECT value FROM records WHERE kind = 'i'").filter(({ value }) =>
    value.includes("service_drift"),
  );
  expect(incidents.length).toBeGreaterThan(0);
  const told = rows<{ value: string }>(db, "SELECT value FROM records WHERE kind = 'e'").map(({ value }) => value);
  for (const field of ["generation", "mqtt", "config", "tz", "working_hours", "status"]) {
    expect(told.filter((value) => value.includes("service_drift") && value.includes(field)).length).toBeGreaterThan(0);
  }
  expect(agent).not.toBe(last);
  process.stdout.write(
    `drift: ${DRIFTS.length + 1} departures, ${told.length} told, ${seqs.length} records without a hole\n`,
  );
});
