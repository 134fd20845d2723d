import { expect, it, onTestFinished } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { seedSite } from "../../simulators/service/accounts/seed.ts";
import { startService } from "../../simulators/service/start.ts";
import { boothOf, START } from "../support/active-site.ts";
import { eventually } from "../support/eventually.ts";
import { recordFault, type FaultEntry } from "../support/faults.ts";
import { delivered, httpBed, RECORD, ROUTE, TOTAL_MS, untilActive, type HttpBed } from "./http-bed.ts";
import { PROVISION_KEY, SERIAL } from "../support/virtual-service.ts";

/**
 * Expects one claim, one binding, one stream, and each record once, despite the faults. The fault is entered in the
 * matrix first.
 */
async function bound(
  here: HttpBed,
  { row, fault, injected }: Pick<FaultEntry, "row" | "fault" | "injected">,
): Promise<void> {
  const { service, site } = here;
  const { records, lost, doubled, wrong } = await delivered(here);
  const claims = rows(service.db, "SELECT action FROM provisioning_audit WHERE action = 'claim'").length;
  const counts = { lost, doubled: doubled + claims - 1, wrong };
  const passed = counts.lost + counts.doubled + counts.wrong === 0;
  process.stdout.write(
    `row ${row}, ${fault}: ${injected} injected, ${here.asked.failed} of ${here.asked.all} requests failed, ${records} records\n`,
  );
  recordFault({ row, fault, injected, ...counts, passed });
  expect(counts).toEqual({ lost: 0, doubled: 0, wrong: 0 });
  expect(records).toBeGreaterThan(5);
  expect(rows(service.db, "SELECT idem_key FROM idempotency")).toHaveLength(1);
  expect(service.oracle()).toMatchObject([{ generation: 1, conflicts_offered: 0 }]);
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
}

const STATUSES = [500, 502, 503, 504];
const ROUTES = [`GET ${RECORD}`, `POST ${ROUTE}`, `PUT ${RECORD}`];

it.each([
  [25, "service 5xx", ROUTES.flatMap((route) => STATUSES.map((status) => ({ route, status })))],
  [25, "connection cut instead of an answer", ROUTES.map((route) => ({ route, reset: true, times: 3 }))],
  [26, "429 with Retry-After in seconds", ROUTES.map((route) => ({ route, status: 429, retry_after: "40", times: 2 }))],
  [27, "answer lost after it applied", ROUTES.map((route) => ({ route, when: "after", reset: true, times: 2 }))],
  [27, "time-out after it applied", ROUTES.map((route) => ({ route, when: "after", delay_ms: 2 * TOTAL_MS }))],
  [30, "200 with broken JSON", ROUTES.map((route) => ({ route, when: "after", truncate: true, times: 2 }))],
] as const)("fault matrix row %i, %s: the booth is bound by a single claim", async (row, fault, plan) => {
  const here = await httpBed();
  for (const one of plan) here.service.faults.add(one);
  await here.agent.enterSerial("booth-1", SERIAL, { by: "alex", note: "" });
  await untilActive(here);
  const injected = here.service.faults.struck();
  expect(injected).toBe(plan.reduce((sum, one) => sum + ("times" in one ? one.times : 1), 0));
  await bound(here, { row, fault, injected });
});

it("the agent waits at least as long as a Retry-After header requires, in seconds or as a date (fault matrix row 26)", async () => {
  for (const form of ["seconds", "date"]) {
    const here = await httpBed();
    const until = here.site.clock.wall() + 90_000;
    const retry_after = form === "seconds" ? "90" : new Date(until).toUTCString();
    here.service.faults.add({ route: `GET ${RECORD}`, status: 429, retry_after });
    await here.agent.enterSerial("booth-1", SERIAL, { by: "alex", note: "" });
    await eventually("it is queued", () => (boothOf(here.agent).provisioning.state === "queued" ? true : undefined));
    const asked = here.asked.all;
    await here.site.clock.run(85_000);
    expect(here.asked.all).toBe(asked);
    await untilActive(here);
    const fault = `Retry-After as ${form === "seconds" ? "seconds" : "a date"} is kept to`;
    await bound(here, { row: 26, fault, injected: here.service.faults.struck() });
  }
});

it("an unknown serial number is reported and looked up again until the right number is entered (fault matrix row 42)", async () => {
  const here = await httpBed();
  await here.agent.enterSerial("booth-1", "WXYZ-999", { by: "alex", note: "" });
  await eventually("not found", () => (boothOf(here.agent).provisioning.state === "not_found" ? true : undefined));
  const asked = here.asked.all;
  await eventually("asked again by itself", async () => {
    await here.site.clock.run(60_000);
    return here.asked.all > asked ? true : undefined;
  });
  const injected = here.asked.failed;
  await here.agent.enterSerial("booth-1", SERIAL, { by: "alex", note: "" });
  await untilActive(here);
  await bound(here, { row: 42, fault: "unknown serial", injected });
});

it("exactly one of 100 simultaneous claims of a serial number succeeds, and the other 99 get status 409 (fault matrix row 43)", async () => {
  const service = await startService({ dataDir: ":memory:", port: 0, mqttPort: 0, clock: { wall: () => START } });
  onTestFinished(() => service.stop());
  seedSite(service.db, { serial: SERIAL, provisionKey: PROVISION_KEY, now: START });
  const claims = Array.from({ length: 100 }, async (_, index) => {
    const id = `gw-${index}`;
    const gateway = {
      id,
      hardware_id: id,
      agent_version: "1",
      credential_sha256: index.toString(16).padStart(64, "0"),
    };
    const body = { serial_number: SERIAL, gateway, stream_id: `s-${id}`, intent: "claim", expected_generation: 0 };
    const answer = await fetch(service.url + ROUTE, {
      method: "POST",
      headers: { authorization: PROVISION_KEY, "content-type": "application/json", "idempotency-key": `claim-${id}` },
      body: JSON.stringify(body),
    });
    return { id, status: answer.status };
  });
  const answers = await Promise.all(claims);
  const winners = answers.filter(({ status }) => status === 201);
  const wrong = answers.filter(({ status }) => status !== 201 && status !== 409).length;
  const counts = { lost: winners.length === 0 ? 1 : 0, doubled: Math.max(0, winners.length - 1), wrong };
  const passed = counts.lost + counts.doubled + counts.wrong === 0;
  recordFault({ row: 43, fault: "100 claims at once", injected: claims.length, ...counts, passed });
  expect(counts).toEqual({ lost: 0, doubled: 0, wrong: 0 });
  const held = rows<{ gateway_id: string }>(service.db, "SELECT gateway_id FROM provisionings");
  expect(held).toEqual([{ gateway_id: winners[0]?.id }]);
  expect(rows(service.db, "SELECT * FROM streams")).toHaveLength(1);
});
