import { expect, it } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import type { Reconciliation } from "../../src/domain/reconciliation.ts";
import { row, rows, run } from "../../simulators/service/storage/db.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import { localCall } from "../support/local-call.ts";
import type { VirtualSite, VirtualSiteOptions } from "../support/virtual-site.ts";

/** Mon 2026-03-02 22:20 in Denver: one cycle, and the day is over. */
const EVENING = Date.UTC(2026, 2, 3, 5, 20);
const MIDNIGHT = Date.UTC(2026, 2, 3, 7);
const DAY = "2026-03-02";

type Done = Extract<Reconciliation, { kind: "done" }>;

async function pastMidnight(options: Partial<VirtualSiteOptions> = {}): Promise<{ site: VirtualSite; agent: Agent }> {
  const { site, agent } = await activeSite({ start: EVENING, scenario: "standard-cycle", for_ms: 0, ...options });
  await site.clock.run(MIDNIGHT + 15 * MINUTE - site.clock.wall());
  return { site, agent };
}

async function reconciled(site: VirtualSite, agent: Agent): Promise<Done> {
  const id = agent.reconcile("booth-1", null);
  const now = (): Reconciliation | null => agent.reconciliation("booth-1", id);
  await site.clock.runUntil(() => now()?.kind !== "running", 60 * MINUTE);
  const done = now();
  if (done?.kind !== "done") throw new Error(JSON.stringify(done));
  return done;
}

const seqsAt = (site: VirtualSite, from: number, to: number): number[] =>
  rows<{ seq: number }>(
    site.service.db,
    `SELECT seq FROM records WHERE time >= ${from} AND time < ${to} ORDER BY seq`,
  ).map(({ seq }) => seq);

it("the daily comparison finds deleted and changed records at the service, and resends only the hours that differ", async () => {
  const { site, agent } = await pastMidnight();
  expect(await reconciled(site, agent)).toMatchObject({ day: DAY, differed: 0, hours: 0, resent: 0, remaining: [] });

  const { db } = site.service;
  const before = seqsAt(site, 0, Number.MAX_SAFE_INTEGER);
  const hour = MIDNIGHT - 60 * MINUTE;
  const modes = rows<{ seq: number }>(
    db,
    "SELECT r.seq FROM records r JOIN names n ON n.id = r.tag WHERE r.kind = 'r' AND n.name = 'mode' ORDER BY r.seq",
  );
  const deleted = modes[1]?.seq ?? 0;
  const changed = modes[2]?.seq ?? 0;
  run(db, "DELETE FROM records WHERE seq = ?", deleted);
  run(db, "UPDATE records SET value = '9' WHERE seq = ?", changed);
  const gone = run(db, "DELETE FROM records WHERE time >= ? AND time < ?", hour, MIDNIGHT);
  run(db, "UPDATE streams SET version = version + 1");
  expect(gone).toBeGreaterThan(10);
  const came = site.service.came.length;

  const healed = await reconciled(site, agent);
  expect(healed.differed).toBeGreaterThan(0);
  expect(healed).toMatchObject({ hours: 2, remaining: [], algorithm: false });
  expect(seqsAt(site, 0, Number.MAX_SAFE_INTEGER).slice(0, before.length)).toEqual(before);
  expect(row(db, "SELECT value FROM records WHERE seq = ?", changed)).not.toEqual({ value: "9" });
  expect(rows(db, "SELECT seq FROM replaced_records")).toEqual([{ seq: changed }]);
  expect(rows(db, "SELECT * FROM backfills")).toEqual([]);
  // Only the hours that differed were sent again.
  const again = (site.service.came.slice(came) as { s0: number; k: unknown[] }[])
    .flatMap(({ s0, k }) => k.map((_, index) => s0 + index))
    .filter((seq) => seq <= (before.at(-1) ?? 0));
  const hours = [...seqsAt(site, hour - 60 * MINUTE, hour), ...seqsAt(site, hour, MIDNIGHT)];
  expect(again).toHaveLength(healed.resent);
  expect(again.toSorted((a, b) => a - b)).toEqual(
    hours.filter((seq) => seq >= (again.toSorted((a, b) => a - b)[0] ?? 0)),
  );
  process.stdout.write(
    `reconcile: ${healed.differed} of ${healed.compared} figures differed; 1 record deleted, 1 changed, ${gone} of an hour gone; ${healed.resent} of ${before.length} records sent again\n`,
  );
  expect(await reconciled(site, agent)).toMatchObject({ differed: 0, resent: 0 });
});

it("the daily comparison reports differences without an incident if the full store dropped records of the day", async () => {
  const { site, agent } = await pastMidnight({
    budget: { max_bytes: 60_000, max_age_ms: 30 * 86_400_000 },
    commit_interval_ms: 60_000,
  });
  const done = await reconciled(site, agent);
  expect(done.remaining.length).toBeGreaterThan(0);
  expect(done).toMatchObject({ algorithm: false, hours: 0, resent: 0 });
  await site.clock.run(5 * MINUTE);
  expect(site.lines.filter((line) => line.includes("algorithm_difference"))).toEqual([]);
});

it("the daily comparison raises an incident and resends nothing if the records agree but a figure differs", async () => {
  const { site, agent } = await pastMidnight();
  let asked = 0;
  const undo = answersWith(site, (text) => {
    asked += 1;
    const body = JSON.parse(text) as { cycle_count: number };
    return JSON.stringify({ ...body, cycle_count: body.cycle_count + 7 });
  });
  const done = await reconciled(site, agent);
  const [cycles, ...more] = done.remaining;
  expect(more).toEqual([]);
  expect(cycles?.figure).toBe("utilization_stats.cycle_count");
  expect(Number(cycles?.service)).toBe(Number(cycles?.gateway) + 7);
  expect(done).toMatchObject({ algorithm: true, hours: 0, resent: 0 });
  await site.clock.run(5 * MINUTE);
  const incidents = rows<{ value: string }>(site.service.db, "SELECT value FROM records WHERE kind = 'i'");
  expect(incidents.filter(({ value }) => value.includes("algorithm_difference"))).toHaveLength(1);

  asked = 0;
  await site.stop();
  const next = await site.start();
  // The result is kept over the restart, and the service is not asked again.
  expect(boothOf(next).reconciliation).toMatchObject({ kind: "done", day: DAY, algorithm: true });
  expect(asked).toBe(0);
  undo();
});

/** Replaces the service's answers to the utilization report. Returns a function that undoes it. */
function answersWith(site: VirtualSite, textOf: (text: string) => string): () => void {
  const { http } = site.service;
  const send = http.send.bind(http);
  const lying: typeof send = async (request) => {
    const answer = await send(request);
    return request.path.includes("utilization_stats") ? { ...answer, text: textOf(answer.text) } : answer;
  };
  Object.assign(http, { send: lying });
  return () => void Object.assign(http, { send });
}

it("the daily comparison reports an error without stopping the agent, and keeps only 100 of 60,000 differences", async () => {
  const figures = { fail: false };
  const { site, agent } = await pastMidnight({
    given: (parts) => ({
      ...parts,
      figures: (booth, day, status) => {
        if (figures.fail) throw new RangeError("Maximum call stack size exceeded");
        return parts.figures(booth, day, status);
      },
    }),
  });
  const outcome = async (): Promise<Reconciliation | null> => {
    const id = agent.reconcile("booth-1", null);
    await site.clock.runUntil(() => agent.reconciliation("booth-1", id)?.kind !== "running", 60 * MINUTE);
    return agent.reconciliation("booth-1", id);
  };
  const failure = (about: string) => ({ kind: "failed", reason: expect.stringContaining(about) as string });
  const undo = answersWith(site, () => `${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}`);
  expect(await outcome()).toMatchObject(failure("utilization_stats"));
  undo();
  figures.fail = true;
  expect(await outcome()).toMatchObject(failure("call stack"));
  figures.fail = false;

  const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`k${at}`, at + 1]));
  answersWith(site, () => JSON.stringify(many));
  const done = await reconciled(site, agent);
  expect(done.remaining).toHaveLength(100);
  expect(done.remaining_count).toBeGreaterThanOrEqual(60_000);
  expect(JSON.stringify(agent.status()).length).toBeLessThan(100_000);
  await site.stop();
  const next = await site.start();
  expect(boothOf(next).reconciliation).toMatchObject({ kind: "done", remaining_count: done.remaining_count });
});

it("the daily comparison can be read by its ID, rejects a day that has not ended, and is not repeated after a restart", async () => {
  const { site, agent } = await pastMidnight();
  const control = site.control();
  const post = async (day: string): Promise<{ readonly id: string; readonly day: string }> => {
    const { status, body } = await localCall("POST /reconcile", { control, body: { day } });
    expect(status).toBe(202);
    return body as { id: string; day: string };
  };
  const get = (id: string): ReturnType<typeof localCall> => localCall("GET /reconcile", { control, query: { id } });
  const over = async (id: string): Promise<void> =>
    site.clock.runUntil(() => agent.reconciliation("booth-1", id)?.kind !== "running", 60 * MINUTE);

  expect(() => agent.reconcile("booth-1", "2026-03-03")).toThrow("a day is YYYY-MM-DD");
  expect(() => agent.reconcile("booth-1", "yesterday")).toThrow("a day is YYYY-MM-DD");
  const first = await post(DAY);
  expect(() => agent.reconcile("booth-1", DAY)).toThrow("a comparison is under way");
  await over(first.id);
  const second = await post("2026-03-01");
  expect(second).toMatchObject({ kind: "running", day: "2026-03-01" });
  expect((await get(first.id)).body).toMatchObject({ kind: "done", id: first.id, day: DAY });
  await over(second.id);
  expect((await get(second.id)).body).toMatchObject({ kind: "done", id: second.id, day: "2026-03-01" });
  expect((await get(first.id)).body).toMatchObject({ kind: "done", day: DAY });
  expect((await get("another")).status).toBe(404);

  // A comparison of an older day on request and a restart don't repeat the nightly comparison.
  await site.stop();
  const next = await site.start();
  await site.clock.run(3 * 60 * MINUTE);
  expect(boothOf(next).reconciliation).toMatchObject({ id: first.id, day: DAY });
});
