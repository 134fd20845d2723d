import type { RevisionState } from "../derivation/state.ts";
import { KIND, type IncidentFact } from "../domain/record.ts";
import type { EpochMs } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { type Source, stateOf } from "./source.ts";

export type Incident = IncidentFact["value"] & {
  /** Sequence number of the fact that opened the incident. */
  readonly id: number;
};

/**
 * Returns the incidents that were open at some time in the window, by start, each with its last record. An incident is written when it
 * opens and again when it is resolved. The first record has no end, so the query starts at 0. A later start would find only the first
 * record of some incidents and show them as open.
 */
export function validationIncidents(source: Source, window: Window): Incident[] {
  const { reader, stream, now_ms } = source;
  const end = Math.min(window.end, now_ms + 1);
  const found = new Map<string, Incident>();
  const facts = [...reader.facts(stream, KIND.incident, { start: 0, end })].sort((a, b) => a.seq - b.seq);
  for (const { seq, value } of facts) {
    const { check, tag_name, first_seen_at } = value;
    const key = `${check} ${tag_name} ${first_seen_at}`;
    found.set(key, { ...value, id: found.get(key)?.id ?? seq });
  }
  return [...found.values()]
    .filter(({ resolved_at, first_seen_at }) => first_seen_at < end && (resolved_at ?? Infinity) >= window.start)
    .sort((a, b) => a.first_seen_at - b.first_seen_at || a.id - b.id);
}

/** Returns all versions seen, oldest first. A return to an older version is a separate entry. */
export function revisionHistory(source: Source) {
  const { reader, stream, now_ms } = source;
  const all = reader.facts(stream, KIND.revision, { start: 0, end: now_ms + 1 }).map(({ value }) => value);
  const { firmware, program } = stateOf(source).revisions;
  return {
    firmware_versions: all.filter(({ item }) => item === "firmware"),
    program_versions: all.filter(({ item }) => item === "program"),
    last_firmware_update: updatedAt(firmware),
    last_program_update: updatedAt(program),
  };
}

/** Returns the time of the last update; null: only the version at first contact is known. */
export function updatedAt({ entered }: RevisionState): EpochMs | null {
  return entered === null || entered.initial ? null : entered.first_seen_at;
}
