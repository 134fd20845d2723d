import type { IncidentFact, Stored } from "../domain/record.ts";
import type { Window } from "../store/port.ts";
import type { Source } from "./source.ts";

export type Incident = IncidentFact["value"] & {
  /** Seq of the fact that opened it. */
  readonly id: number;
};

/** Incidents that were open at some time of the window, by their first sight; each once, as it was written last: what is open was seen last when it was found, as at the service. */
export function validationIncidents(source: Source, window: Window): Incident[] {
  const { reader, stream, now_ms } = source;
  const end = Math.min(window.end, now_ms + 1);
  const found = new Map<string, Incident>();
  const facts = [...reader.facts(stream, "i", { start: window.start, end })].sort((a, b) => a.seq - b.seq);
  for (const fact of facts) found.set(keyOf(fact.value), { ...merged(found.get(keyOf(fact.value)), fact) });
  return [...found.values()]
    .filter(({ resolved_at, first_seen_at }) => first_seen_at < end && (resolved_at ?? Infinity) >= window.start)
    .sort((a, b) => a.first_seen_at - b.first_seen_at || a.id - b.id);
}

/** An incident is written when it opens and again when it is over. */
function merged(known: Incident | undefined, { seq, value }: Stored<IncidentFact>): Incident {
  return { ...value, id: known?.id ?? seq };
}

function keyOf({ check, tag_name, first_seen_at }: Pick<Incident, "check" | "tag_name" | "first_seen_at">): string {
  return `${check} ${tag_name} ${first_seen_at.toString()}`;
}
