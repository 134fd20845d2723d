import type { FactDraft } from "../../src/core/derive/state.ts";
import type { StoreReader, Window } from "../../src/ports.ts";
import type { Folded } from "./booth.ts";

/** What a store would answer of a folded log. */
export function readerOf({ state, facts, records }: Folded): StoreReader {
  const stored = facts.map((fact, index) => ({ ...fact, seq: records.length + index + 1 }));
  return {
    streams: () => [],
    facts: (_stream, kind, window) => stored.filter((fact) => fact.kind === kind && overlaps(fact, window)) as never,
    log: () => records,
    state: () => state,
  };
}

function overlaps(fact: FactDraft, { start, end }: Window): boolean {
  if (fact.kind === "m" || fact.kind === "c") return fact.value.start < end && fact.value.end > start;
  if (fact.kind === "d") return fact.value.hour < end && fact.value.hour + 3_600_000 > start;
  return true;
}
