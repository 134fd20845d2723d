import { step } from "../../src/derivation/fold.ts";
import { emptyState, type FactDraft } from "../../src/derivation/state.ts";
import type { LogRecord, Placed, Reading } from "../../src/domain/record.ts";
import type { StoreReader, Window } from "../../src/store/port.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { Source } from "../../src/reports/source.ts";
import { type Folded, run, type Script, T0 } from "./booth.ts";

/** Makes a reader that answers from a folded log as a store would. */
export function readerOf({ state, facts, records }: Folded): StoreReader {
  const stored = facts.map((fact, index) => ({ ...fact, seq: records.length + index + 1 }));
  return {
    streams: () => [],
    facts: (_stream, kind, window) => stored.filter((fact) => fact.kind === kind && overlaps(fact, window)) as never,
    stages: (_stream, window) =>
      stored
        .filter((fact) => fact.kind === "m")
        .map(({ value }) => value)
        .filter(({ bay, start, end }) => bay === 0 && start < window.end && end >= window.start),
    log: (_stream, window) => placed(records).filter(({ time }) => time >= window.start && time < window.end),
    readings: (_stream, window, tags) =>
      placed(records)
        .filter((record): record is Placed<Reading> => record.kind === "r")
        .filter(({ tag, time }) => time >= window.start && time < window.end && tags?.has(tag) !== false),
    state: () => state,
  };
}

/** Returns the records with the corrected time that the fold assigns. */
function placed(records: Folded["records"]): Placed<LogRecord>[] {
  let state = emptyState();
  return records.map((record) => {
    state = step(state, record).state;
    return { ...record, time: state.clock.now };
  });
}

function overlaps(fact: FactDraft, { start, end }: Window): boolean {
  if (fact.kind === "m" || fact.kind === "c") return fact.value.start < end && fact.value.end > start;
  if (fact.kind === "d") return fact.value.hour < end && fact.value.hour + 3_600_000 > start;
  if (fact.kind === "i") return fact.value.first_seen_at < end && (fact.value.resolved_at ?? Infinity) >= start;
  return true;
}

/** Makes the source for reports about a scripted booth, `now` ms after its start. */
export function sourceOf(booth: Script, parameters: Parameters, now = booth.now): Source {
  return { reader: readerOf(run(booth, parameters)), stream: "s", now_ms: T0 + now };
}
