import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordsOf } from "../../../src/acquisition/rules/records.ts";
import type { LogRecord, Placed } from "../../../src/domain/record.ts";
import { packLog, seqsOfLog, unpackLog } from "../../../src/store/log/rows.ts";
import { sixtyTags } from "../../support/sixty-tags.ts";
import { clockRecord, coverage, reading, T0 } from "../../support/records.ts";
import { seededRandom } from "../../support/seeded-random.ts";

/** Merges ascending seqs into ranges without a gap. */
function runsOfSeqs(seqs: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const seq of seqs) {
    const last = runs.at(-1);
    if (last?.[1] === seq - 1) last[1] = seq;
    else runs.push([seq, seq]);
  }
  return runs;
}

const OFF = 37;

function placed(
  records: readonly LogRecord[],
  seqs: (index: number) => number = (index) => index + 1,
): Placed<LogRecord>[] {
  return records.map((record, index) => ({ ...record, seq: seqs(index), time: T0 + OFF + record.mono }));
}

const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
  fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
  fc.integer({ min: -1_000, max: 1_000 }).map((value) => value / 10),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, 2 ** 50, -(2 ** 50), 1e300, 5e-324),
);
const value = fc.oneof(number, fc.constant(null), fc.boolean(), fc.string());
const record = fc.record({
  step: fc.oneof(fc.constant(1_000), fc.integer({ min: -5_000, max: 100_000 }), fc.constant(0)),
  skipped: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 9 })),
  wall: fc.oneof(fc.constant(0), fc.integer({ min: -1e12, max: 1e12 })),
  tag: fc.constantFrom("a", "b", "mode", "c d", ""),
  source: fc.option(fc.integer({ min: -1e6, max: 1e6 }), { nil: undefined, freq: 2 }),
  quality: fc.constantFrom("good", "good", "uncertain", "bad"),
  value,
});

describe("packed records", () => {
  it("are unpacked unchanged, whatever values they contain", () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 60 }), fc.boolean(), (drawn, isOneSort) => {
        let mono = 5_000;
        let seq = 7;
        const records = drawn.map(({ step, skipped, wall, tag, source, quality, value: drawnValue }) => {
          mono += step;
          seq += 1 + skipped;
          const stamp = { boot: "b1", mono, at: T0 + OFF + mono + wall, seq, time: T0 + OFF + mono };
          const sort = isOneSort && typeof drawnValue !== "number" ? null : drawnValue;
          const more = source === undefined ? {} : { source_at: stamp.time + source };
          return { kind: "r", ...stamp, tag, value: sort, ...more, quality } as const;
        });
        const row = packLog("s", records, true);
        expect(unpackLog(row)).toEqual(records);
        expect(seqsOfLog(row)).toEqual(runsOfSeqs(records.map((one) => one.seq)));
        for (const wanted of [["a"], ["c d"], ["none"], ["", "a", "mode"]]) {
          const isWanted = (_: string, tag: string): boolean => wanted.includes(tag);
          expect(unpackLog(row, isWanted)).toEqual(records.filter(({ tag }) => wanted.includes(tag)));
        }
      }),
    );
  });

  it("are unpacked unchanged for every kind of record, even for a value that only resembles coverage", () => {
    const odd = {
      ...coverage(4_000, 9_000),
      value: { ...(coverage(4_000, 9_000).value as object), polls: 0.5 },
    } as LogRecord;
    const gap: LogRecord = { ...clockRecord(9_500), kind: "g", value: { from: 1, to: 2, reason: "full" } };
    const records = placed([
      clockRecord(0),
      coverage(0, 3_000),
      coverage(4_000, 8_000),
      reading(8_000, "mode", 3),
      gap,
    ]);
    for (const one of [records, placed([coverage(0, 3_000), odd])])
      expect(unpackLog(packLog("s", one, true))).toEqual(one);
  });

  it.each([
    ["mono", { mono: 0.5 }],
    ["the wall clock", { at: T0 + 0.25 }],
    ["the device's own time", { source_at: NaN }],
  ])("are rejected if an instant (%s) isn't a whole number of milliseconds", (_, odd) => {
    const records = placed([reading(0, "mode", 3), { ...reading(1, "mode", 4), ...odd }]);
    expect(() => packLog("s", records, true)).toThrow(/whole number of ms/);
  });

  it("need less than a byte per changed value in a chunk of 4,000 records of a busy booth", () => {
    const random = seededRandom(9);
    const polls = sixtyTags("s", () => random.next());
    polls(); // all tags, in their order
    const records: LogRecord[] = [];
    while (records.length < 4_000) records.push(...recordsOf(Array.from({ length: 10 }, polls), () => 5_000));
    const row = packLog("s", placed(records), true);
    const changes = records.filter(({ kind }) => kind === "r").length;
    expect(unpackLog(row)).toEqual(placed(records));
    expect(row.packed.length / changes).toBeLessThan(1);
  });
});
