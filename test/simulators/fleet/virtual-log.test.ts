import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  chunkOf,
  COMMIT_MS,
  COMMIT_RECORDS,
  commitsUpTo,
  recordAt,
  recordsOf,
  seqAfter,
  type VirtualLog,
} from "../../../simulators/fleet/virtual-log.ts";
import { faultOfRecord } from "../../../simulators/service/ingest/validate.ts";
import { unpackChunk } from "../../../src/store/log/chunk.ts";
import { hashOf } from "../../../src/contract/hash.ts";
import { CHANGES_PER_POLL } from "../../support/sixty-tags.ts";

const START = Date.UTC(2026, 2, 2, 15);
const LOG: VirtualLog = { seed: 7, start: START, clock_steps: [], variants: [] };

describe("the simulated record log of a fleet gateway", () => {
  it("returns the same records in one read or in two parts", () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: 1, max: 5_000 }),
        fc.integer({ min: 1, max: 400 }),
        (seed, from, count) => {
          const log = { ...LOG, seed };
          const whole = recordsOf(log, from, from + count - 1);
          const cut = from + Math.floor(count / 2);
          expect(hashOf([...recordsOf(log, from, cut - 1), ...recordsOf(log, cut, from + count - 1)])).toBe(
            hashOf(whole),
          );
          expect(whole.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, index) => from + index));
        },
      ),
    );
  });

  it("contains only records that the service accepts, in time order, and each tag at most once per poll", () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 100_000 }), (seed, from) => {
        const records = recordsOf({ ...LOG, seed }, from, from + 2 * COMMIT_RECORDS);
        expect(records.flatMap((record) => faultOfRecord(record, record.value) ?? [])).toEqual([]);
        records.reduce((before, record) => {
          expect(record.mono).toBeGreaterThanOrEqual(before.mono);
          return record;
        });
        const named = records.filter(({ kind }) => kind === "r").map(({ tag, mono }) => `${mono} ${tag}`);
        expect(new Set(named).size).toBe(named.length);
      }),
    );
  });

  it("has as many readings per poll as the benchmark's booth with sixty tags", () => {
    const readings = recordsOf(LOG, seqAfter(10) + 1, seqAfter(11)).filter(({ kind }) => kind === "r");
    expect(readings.length / (COMMIT_MS / 1_000)).toBeCloseTo(CHANGES_PER_POLL, 1);
  });

  it("is divided into chunks (compressed blocks), each of one boot and one clock offset, and single records", () => {
    const log: VirtualLog = {
      ...LOG,
      clock_steps: [{ commit: 150, off_ms: -3_600_000 }],
      variants: [{ from_seq: seqAfter(260) + 1, variant: 1 }],
    };
    const end = seqAfter(400) + 20;
    let from = 1;
    let packed = 0;
    while (from <= end) {
      const { chunk, to } = chunkOf(log, from, end);
      expect(to).toBeGreaterThanOrEqual(from);
      if (chunk !== null) {
        const records = unpackChunk(chunk, Buffer.from(chunk.body), () => true);
        expect(hashOf(records)).toBe(hashOf(recordsOf(log, from, to)));
        expect(records.map(({ time }) => time)).toEqual(recordsOf(log, from, to).map(({ time }) => time));
        packed += records.length;
      }
      from = to + 1;
    }
    expect(packed).toBe(seqAfter(400) - seqAfter(1));
  });

  it("converts between commit numbers and sequence numbers", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), (commits) => {
        expect(commitsUpTo(seqAfter(commits))).toBe(commits);
        if (commits > 0) expect(commitsUpTo(seqAfter(commits) - 1)).toBe(commits - 1);
      }),
    );
  });

  it("has other records after the restore of an old copy, and other times after a clock step", () => {
    const from_seq = seqAfter(3) + 1;
    const log = { ...LOG, clock_steps: [{ commit: 4, off_ms: 3_600_000 }], variants: [{ from_seq, variant: 1 }] };
    expect(hashOf(recordsOf(log, 1, from_seq - 1))).toBe(hashOf(recordsOf(LOG, 1, from_seq - 1)));
    for (let seq = from_seq; seq < from_seq + COMMIT_RECORDS; seq += 1)
      expect(hashOf([recordAt(log, seq)])).not.toBe(hashOf([recordAt(LOG, seq)]));
    const late = seqAfter(4) + 1;
    expect(recordAt(log, late).time - recordAt(LOG, late).time).toBe(3_600_000);
    expect(recordAt(log, late).mono).toBe(recordAt(LOG, late).mono);
  });
});
