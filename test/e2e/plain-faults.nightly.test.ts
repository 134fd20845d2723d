import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { boothOf, MINUTE, START } from "../support/active-site.ts";
import { eventually } from "../support/eventually.ts";
import { recordFault, type FaultEntry } from "../support/faults.ts";
import { httpBed, RECORD, ROUTE, TOTAL_MS, untilActive, type HttpBed } from "./http-bed.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { SERIAL } from "../support/virtual-service.ts";
import { virtualSite } from "../support/virtual-site.ts";

const BY = { by: "alex", note: "" };
const SEARCH = "GET /api/booths";
const ROUTES = [SEARCH, `POST ${ROUTE}`, `PUT ${RECORD}`];

/** Records of the booth at the service, against the one that should be there: complete, and naming no gateway. */
function claimCounts(db: HttpBed["service"]["db"]): Pick<FaultEntry, "lost" | "doubled" | "wrong"> {
  const there = rows<{ gateway_id: string | null; completion_status: string }>(
    db,
    "SELECT gateway_id, completion_status FROM provisionings",
  );
  const wrong = there.filter(
    ({ gateway_id, completion_status }) => gateway_id !== null || completion_status !== "COMPLETE",
  );
  return { lost: there.length === 0 ? 1 : 0, doubled: Math.max(0, there.length - 1), wrong: wrong.length };
}

/** One record, complete, that names no gateway; and the booth knows where it stands. */
function complete({ service, agent, site }: HttpBed): void {
  expect(rows(service.db, "SELECT gateway_id, completion_status FROM provisionings")).toEqual([
    { gateway_id: null, completion_status: "COMPLETE" },
  ]);
  expect(boothOf(agent)).toMatchObject({ serial: SERIAL, tz: "America/Denver", provisioning: { delivery: "none" } });
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
}

it.each([
  [25, "service 5xx", ROUTES.flatMap((route) => [500, 503].map((status) => ({ route, status })))],
  [25, "connection cut instead of an answer", ROUTES.map((route) => ({ route, reset: true, times: 3 }))],
  [26, "429 with Retry-After", ROUTES.map((route) => ({ route, status: 429, retry_after: "40", times: 2 }))],
  [27, "answer lost after it applied", ROUTES.map((route) => ({ route, when: "after", reset: true, times: 2 }))],
  [27, "time-out after it applied", ROUTES.map((route) => ({ route, when: "after", delay_ms: 2 * TOTAL_MS }))],
  [30, "200 with broken JSON", ROUTES.map((route) => ({ route, when: "after", truncate: true, times: 2 }))],
] as const)("plain level, row %i, %s: one complete record in the end", async (row, fault, plan) => {
  const here = await httpBed({ plain: true });
  for (const one of plan) here.service.faults.add(one);
  await here.agent.enterSerial("booth-1", SERIAL, BY);
  await untilActive(here);
  const injected = here.service.faults.struck();
  expect(injected).toBe(plan.reduce((sum, one) => sum + ("times" in one ? one.times : 1), 0));
  expect(here.asked.failed).toBeGreaterThan(0);
  process.stdout.write(
    `plain, row ${row}, ${fault}: ${injected} injected, ${here.asked.failed} of ${here.asked.all} requests failed\n`,
  );
  const counts = claimCounts(here.service.db);
  const passed = counts.lost + counts.doubled + counts.wrong === 0;
  recordFault({ row, fault: `plain level: ${fault}`, injected, ...counts, passed });
  complete(here);
});

it("plain level, row 42: a serial number of nobody is not found; the right one then is", async () => {
  const here = await httpBed({ plain: true });
  await here.agent.enterSerial("booth-1", "WXYZ-999", BY);
  await eventually("not found", () => (boothOf(here.agent).provisioning.state === "not_found" ? true : undefined));
  await here.agent.enterSerial("booth-1", SERIAL, BY);
  await untilActive(here);
  complete(here);
});

/** Provisions with the power cut once, as the n-th request comes in or its answer goes out; null: there is no n-th. */
async function cutAt(what: "request" | "answer", n: number): Promise<ReturnType<typeof claimCounts> | null> {
  const facility = { plain: true };
  const site = virtualSite({ folder: temporaryFolder(), scenario: "busy-day", start: START, seed: n, facility });
  let requests = 0;
  const power = { cut: false };
  site.service.way.passing = (passing) => {
    if (passing === "request") requests += 1;
    if (power.cut || requests !== n || passing !== what) return Promise.resolve();
    power.cut = true;
    site.cutPower();
    return new Promise(() => undefined);
  };
  let agent = await site.start();
  const isActive = (): boolean => boothOf(agent).provisioning.state === "active";
  await site.clock.runUntil(() => power.cut || isActive(), 30 * MINUTE);
  if (power.cut) {
    await site.clock.run(MINUTE);
    agent = await site.start();
    await site.clock.runUntil(isActive, 30 * MINUTE);
  }
  const counts = claimCounts(site.service.db);
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
  site.close();
  return power.cut ? counts : null;
}

it("plain level: the power cut at each step of a claim: one complete record in the end", async () => {
  const sum = { lost: 0, doubled: 0, wrong: 0 };
  let cuts = 0;
  for (const what of ["request", "answer"] as const) {
    for (let n = 1; ; n += 1) {
      const counts = await cutAt(what, n);
      if (counts === null) break;
      cuts += 1;
      for (const name of ["lost", "doubled", "wrong"] as const) sum[name] += counts[name];
    }
  }
  process.stdout.write(`plain claim: ${cuts} power cuts, all active in the end\n`);
  // Search, facility, claim, completion and a look at it at least, each before and after the service had it.
  expect(cuts).toBeGreaterThanOrEqual(10);
  const passed = sum.lost + sum.doubled + sum.wrong === 0;
  recordFault({ row: 3, fault: "plain level: power cut at each step of a claim", injected: cuts, ...sum, passed });
  expect(sum).toEqual({ lost: 0, doubled: 0, wrong: 0 });
});
