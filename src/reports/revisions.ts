import type { RevisionFact } from "../domain/record.ts";
import type { EpochMs } from "../domain/units.ts";
import { stateOf, type Source } from "./source.ts";

export interface RevisionHistory {
  readonly firmware_versions: readonly RevisionFact["value"][];
  readonly program_versions: readonly RevisionFact["value"][];
  /** null while only the value found at first contact is known. */
  readonly last_firmware_update: EpochMs | null;
  readonly last_program_update: EpochMs | null;
}

/** Every version seen, oldest first. Going back to an older one is an entry of its own. */
export function revisionHistory(source: Source): RevisionHistory {
  const { reader, stream, now_ms } = source;
  const all = reader.facts(stream, "v", { start: 0, end: now_ms + 1 }).map(({ value }) => value);
  const { firmware, program } = stateOf(source).revisions;
  return {
    firmware_versions: all.filter(({ item }) => item === "firmware"),
    program_versions: all.filter(({ item }) => item === "program"),
    last_firmware_update: updateOf(firmware.entered),
    last_program_update: updateOf(program.entered),
  };
}

function updateOf(entered: { first_seen_at: EpochMs; initial: boolean } | null): EpochMs | null {
  return entered === null || entered.initial ? null : entered.first_seen_at;
}
