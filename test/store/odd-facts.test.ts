import { describe, expect, it } from "vitest";
import type { Fact, LogRecord } from "../../src/domain/record.ts";
import { deriveFold } from "../../src/store/facts/fold.ts";
import type { Fold } from "../../src/store/facts/fold.ts";
import { openReader } from "../../src/store/reader.ts";
import { PARAMETERS, withFilters } from "../support/parameters.ts";
import { clockRecord, coverage, reading, T0 } from "../support/records.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const base = (mono: number) => ({ boot: "b1", mono, at: T0 + mono, tag: "", quality: "good" }) as const;
const parametersAt = (mono: number, value = PARAMETERS): LogRecord => ({ kind: "p", ...base(mono), value });

/** Makes a derivation whose facts are changed before they are stored. */
function spoilt(change: (fact: Fact) => Fact): Fold {
  const step: Fold["step"] = (state, record) => {
    const out = deriveFold.step(state, record);
    return { ...out, facts: out.facts.map(change) };
  };
  return { ...deriveFold, step };
}

const stages = [
  clockRecord(0),
  parametersAt(0),
  coverage(0, 5 * MINUTE_MS),
  reading(0, "mode", 3),
  reading(MINUTE_MS, "mode", 4),
  reading(2 * MINUTE_MS, "mode", 3),
];
const later = [
  coverage(6 * MINUTE_MS, 9 * MINUTE_MS),
  reading(7 * MINUTE_MS, "mode", 4),
  reading(8 * MINUTE_MS, "mode", 3),
];

describe("a fact with an instant that the database's integer column rejects", () => {
  it("is committed and found by its time window if the instant has a fraction of half a millisecond", () => {
    const folder = temporaryFolder();
    const writer = writerIn(folder);
    const { stream } = writer.openStream("booth-1");
    const entered = { filter: "exhaust_filter", source: "technician", installed_at: 0, flagged: false } as const;
    const entry: LogRecord = {
      kind: "f",
      ...base(4 * MINUTE_MS),
      value: { ...entered, ago_ms: MINUTE_MS + 0.5, id: "entry-1" },
    };
    const filters = withFilters({ exhaust_filter: { limits: { minutes: 100 } } });
    const before = [clockRecord(0), parametersAt(0, filters), coverage(0, 5 * MINUTE_MS), reading(0, "mode", 3)];
    writer.ingest(stream, [...before, entry], 1);
    expect(writer.ingest(stream, later, 2).newest_seq).toBeGreaterThanOrEqual(before.length + 1 + later.length);
    writer.close();
    const reader = openReader(folder);
    const at = T0 + 3 * MINUTE_MS - 0.5;
    for (const window of [
      { start: at, end: at + 1 },
      { start: at - 1, end: at + 0.25 },
    ]) {
      const found = reader.facts(stream, "f", window).filter(({ value }) => value.installed_at === at);
      expect(found).toHaveLength(1);
    }
    reader.close();
  });

  it.each([
    ["between two milliseconds", T0 + 0.25],
    ["at NaN", NaN],
    ["at Infinity", Infinity],
    ["at 1e300", 1e300],
    ["at -1e300", -1e300],
  ])("is committed like any other fact if it starts %s, and later commits succeed", (_, start) => {
    const folder = temporaryFolder();
    const odd = (fact: Fact): Fact =>
      fact.kind === "m" ? { ...fact, value: { ...fact.value, start, end: start } } : fact;
    const writer = writerIn(folder, spoilt(odd));
    const { stream } = writer.openStream("booth-1");
    const made = [...writer.ingest(stream, stages, 1).facts, ...writer.ingest(stream, later, 2).facts];
    expect(made.filter(({ kind }) => kind === "m").length).toBeGreaterThan(1);
    const { newest_seq } = writer.info(stream);
    const held = writer.read(stream, 1, 1_000);
    expect(held.map(({ seq }) => seq)).toEqual(Array.from({ length: newest_seq }, (_, index) => index + 1));
    // The scan of the whole store finds no damage.
    while (writer.check());
    expect(writer.ingest(stream, [coverage(10 * MINUTE_MS, 11 * MINUTE_MS)], 3).storage.quarantined).toBe(0);
    writer.close();
  });
});
