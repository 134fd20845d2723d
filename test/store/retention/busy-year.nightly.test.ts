import { describe, expect, it } from "vitest";
import { recordFault } from "../../support/faults.ts";
import { bed, BUDGET, bytesOf, FACT_EVERY, hour, keptIn } from "../budget-bed.ts";

const MAX_BYTES = 2_350_000;

describe("a store with a size budget", () => {
  it("stays within its budget over a busy year, half of it offline, and declares exactly the missing records", () => {
    // A budget in which the undelivered facts of half a year leave little space for readings.
    const one = bed({ ...BUDGET, max_bytes: MAX_BYTES });
    const acksUntil = 180 * 24;
    let acked = 0;
    let largest = 0;
    for (let index = 0; index < 365 * 24; index += 1) {
      hour(one, index);
      if (index < acksUntil) acked = one.writer.ack(one.stream, one.writer.info(one.stream).newest_seq).acked_seq;
      largest = Math.max(largest, bytesOf(one.folder));
    }
    const { newest_seq, oldest_seq } = one.writer.info(one.stream);
    const { log, facts, gaps } = keptIn(one);
    expect(largest).toBeLessThanOrEqual(MAX_BYTES);
    expect(largest).toBeGreaterThan(MAX_BYTES / 2);
    const declared = new Set<number>();
    for (const { from, to } of gaps) for (let seq = from; seq <= to; seq += 1) declared.add(seq);
    const wrong: number[] = [];
    for (let seq = acked + 1; seq <= newest_seq; seq += 1) {
      const isThere = log.has(seq) || facts.has(seq);
      if (!isThere && !declared.has(seq)) wrong.push(seq);
      if (log.has(seq) && declared.has(seq)) wrong.push(seq);
    }
    const counts = { largest, newest_seq, oldest_seq, acked, declared: declared.size, facts: facts.size };
    process.stdout.write(`${JSON.stringify(counts)}\n`);
    const lost = wrong.length;
    const passed = wrong.length === 0 && largest <= MAX_BYTES;
    const fault = "a year within 2.35 MB, half of it without the service";
    recordFault({ row: 8, fault, injected: declared.size, lost, doubled: 0, wrong: 0, passed });
    expect(wrong).toEqual([]);
    expect([...declared].every((seq) => seq > acked && seq < oldest_seq)).toBe(true);
    expect(declared.size).toBe(oldest_seq - 1 - acked);
    // Facts outlive the readings from which they were made: all undelivered facts of the half year are stored.
    const outlived = [...facts].filter((seq) => seq > acked && seq < oldest_seq).length;
    expect(outlived).toBeGreaterThan((oldest_seq - acked) / (FACT_EVERY + 1) - 2);
    expect(outlived).toBeGreaterThan(1_000);
    one.writer.close();
  });
});
