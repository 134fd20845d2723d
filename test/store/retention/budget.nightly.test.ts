import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { hoursToFull } from "../../../src/domain/storage.ts";
import { storePath } from "../../../src/store/open.ts";
import { recordFault } from "../../support/faults.ts";
import { clockRecord } from "../../support/records.ts";
import {
  bed,
  BUDGET,
  bytesOf,
  commit,
  DAY,
  FACT_EVERY,
  HOUR,
  hour,
  keptIn,
  lostIn,
  openBudgeted,
  restart,
  unsynced,
} from "../budget-bed.ts";
import { sqlOn } from "../../support/store.ts";
import { memoryFolder } from "../../support/temporary.ts";

/** SQL that is true for log rows with a gap record. */
const HAS_GAP = `substr(packed, 1, 2) IN (x'0301', x'0303')`;

describe("a store with a size budget", () => {
  it("deletes acked records first, without a gap record", () => {
    const one = bed({ max_bytes: 200_000, max_age_ms: 10 * 365 * DAY });
    for (let index = 0; index < 700; index += 1) {
      hour(one, index);
      one.writer.ack(one.stream, one.writer.info(one.stream).newest_seq);
    }
    expect(one.writer.info(one.stream).oldest_seq).toBeGreaterThan(1);
    expect(keptIn(one).gaps).toEqual([]);
    one.writer.close();
  });

  it("deletes acked facts before unacked readings once facts fill half of the budget", () => {
    const one = bed({ max_bytes: 200_000, max_age_ms: 10 * 365 * DAY });
    for (let index = 0; index < 900; index += 1) {
      hour(one, index);
      one.writer.ack(one.stream, one.writer.info(one.stream).newest_seq);
    }
    const { acked_seq } = one.writer.info(one.stream);
    for (let index = 900; index < 960; index += 1) hour(one, index);
    const { gaps, log, facts } = keptIn(one);
    expect(gaps).toEqual([]);
    expect([...log].filter((seq) => seq > acked_seq)).toHaveLength(60 * 120);
    expect(facts.size).toBeGreaterThan(50);
    one.writer.close();
  });

  it("deletes the oldest records of unknown time once it is full, and declares them after the time is known", () => {
    const budget = { max_bytes: 100_000, max_age_ms: 30 * DAY };
    const one = unsynced(budget);
    let largest = 0;
    for (let index = 0; index < 600; index += 1) {
      hour(one, index);
      largest = Math.max(largest, bytesOf(one.folder));
      // The agent restarts now and then on the remaining data.
      if (index % 200 === 199) restart(one);
    }
    expect(largest).toBeLessThanOrEqual(budget.max_bytes);
    expect(one.writer.read(one.stream, 1, 1_000)).toEqual([]);
    commit(one, [clockRecord(600 * HOUR)]);
    const { newest_seq, oldest_seq, sendable_seq } = one.writer.info(one.stream);
    expect(sendable_seq).toBe(newest_seq);
    expect(oldest_seq).toBeGreaterThan(1_000);
    const kept = keptIn(one);
    const lost = lostIn(one, kept);
    const injected = kept.gaps.reduce((sum, { from, to }) => sum + to - from + 1, 0);
    const fault = "full of readings that wait for a sync";
    recordFault({ row: 8, fault, injected, lost: lost.length, doubled: 0, wrong: 0, passed: lost.length === 0 });
    expect(lost).toEqual([]);
    for (const { from, to } of kept.gaps) expect([...kept.log].filter((seq) => seq >= from && seq <= to)).toEqual([]);
    one.writer.close();
  });

  it("deletes records by age only if they are acked", () => {
    const one = bed({ max_bytes: 64_000_000, max_age_ms: DAY });
    for (let index = 0; index < 240; index += 1) hour(one, index);
    expect(one.writer.info(one.stream).oldest_seq).toBe(1);
    const half = 120 * 120;
    one.writer.ack(one.stream, half);
    hour(one, 240);
    const { oldest_seq } = one.writer.info(one.stream);
    // Chunks are deleted as a whole.
    expect(oldest_seq).toBeGreaterThan(half - 4_200);
    expect(oldest_seq).toBeLessThanOrEqual(half + 1);
    expect(keptIn(one).gaps).toEqual([]);
    one.writer.close();
  });

  it("has the same state after a restart if rows were deleted", () => {
    const budget = { ...BUDGET, max_bytes: 400_000 };
    const one = bed(budget);
    for (let index = 0; index < 1_000; index += 1) hour(one, index);
    const info = one.writer.info(one.stream);
    const state = structuredClone(one.writer.state(one.stream));
    expect(info.oldest_seq).toBeGreaterThan(1);
    const copy = memoryFolder();
    // A copy as after a crash, without the data that a close would save.
    new Database(storePath(one.folder), { readonly: true }).prepare("VACUUM INTO ?").run(storePath(copy));
    const again = openBudgeted(copy, budget);
    again.openStream("booth-1");
    expect(again.info(one.stream)).toEqual(info);
    expect(again.state(one.stream)).toEqual(state);
    again.close();
    one.writer.close();
  });

  it.each([
    { why: "for lack of space", hours: [...Array(1_000).keys()], budget: { ...BUDGET, max_bytes: 400_000 } },
    { why: "after 400 days", hours: [...Array(60).keys(), 420 * 24, 421 * 24, 422 * 24], budget: BUDGET },
  ])("passes a check after facts were deleted $why", ({ hours, budget }) => {
    const one = bed(budget);
    for (const index of hours) {
      hour(one, index);
      if (budget === BUDGET) one.writer.ack(one.stream, one.writer.info(one.stream).newest_seq);
    }
    const [first = 0] = keptIn(one).facts;
    expect(first).toBeGreaterThan(2 * FACT_EVERY);
    while (one.writer.check());
    expect(one.writer.read(one.stream, first, 1)).toMatchObject([{ seq: first, kind: "m" }]);
    restart(one);
    while (one.writer.check());
    one.writer.close();
  });

  it("declares deleted records again if the gap record that declared them is damaged", () => {
    const one = bed({ ...BUDGET, max_bytes: 400_000 });
    for (let index = 0; index < 1_000; index += 1) hour(one, index);
    const before = keptIn(one);
    expect(before.gaps).not.toEqual([]);
    one.writer.close();
    expect(sqlOn(one.folder, `UPDATE log SET crc = crc + 1 WHERE ${HAS_GAP}`)).toBeGreaterThan(0);
    one.writer = openBudgeted(one.folder, one.budget);
    one.writer.openStream("booth-1");
    while (one.writer.check());
    expect(keptIn(one).gaps).toEqual([]);
    hour(one, 1_000);
    const after = keptIn(one);
    expect(lostIn(one, after)).toEqual([]);
    expect(after.log.size).toBeGreaterThan(1_000);
    one.writer.close();
  });

  it("reports for how long it can still store records without the service", () => {
    const fill = { max_bytes: 1_000, used_bytes: 500, kept: 100, unacked: 50, kept_ms: 10 * HOUR };
    expect(hoursToFull(fill)).toBe(15);
    expect(hoursToFull({ ...fill, unacked: 0 })).toBe(20);
    expect(hoursToFull({ ...fill, used_bytes: 2_000, unacked: 100 })).toBe(0);
    expect(hoursToFull({ ...fill, kept_ms: HOUR - 1 })).toBeNull();
    expect(hoursToFull({ ...fill, kept: 0 })).toBeNull();
  });
});
