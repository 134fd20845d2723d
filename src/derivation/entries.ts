import { FILTER_TYPES, type FilterType } from "../domain/booth.ts";
import type { FilterEntry } from "../domain/entry.ts";
import type { FilterService, Stored, VoidRecord } from "../domain/record.ts";
import type { EpochMs } from "../domain/units.ts";
import { enterService, undoService } from "./changes.ts";
import type { DeriveState, EntryState, Fold } from "./state.ts";
import { UNDO_MS } from "./without-entry.ts";

/** Some weeks of them; whoever asks again does so within minutes. */
const MAX_ENTRIES = 32;

/** A person entered that a filter was changed. The same entry again changes nothing. */
export function takeEntry(fold: Fold, record: Stored<FilterService>): void {
  const { value, seq } = record;
  if (value.source !== "technician" && value.source !== "service") return;
  const { state } = fold;
  const { now } = state.clock;
  const { id, filter, by = "", ago_ms } = value;
  const entries = (state.entries ??= []);
  if (id !== undefined && entries.some((entry) => entry.id === id)) return;
  const installed_at = ago_ms === undefined ? Math.min(value.installed_at, now) : now - ago_ms;
  const outcome = enterService(fold, record, { seq, at: installed_at });
  if (id === undefined) return;
  entries.push({ id, seq, filter, by, entered_at: now, installed_at, outcome });
  if (entries.length > MAX_ENTRIES) entries.shift();
}

/** An entry is withdrawn, if it still can be. */
export function undoEntry(fold: Fold, record: VoidRecord): void {
  if (!undoService(fold, record)) return;
  const entry = fold.state.entries?.find(({ seq }) => seq === record.value.seq);
  if (entry !== undefined) entry.outcome = "undone";
}

/** The last entries of people and what became of them, oldest first; `now`: corrected time. */
export function entriesOf(state: DeriveState, now: EpochMs): FilterEntry[] {
  return (state.entries ?? []).map(({ seq, ...entry }) => ({ ...entry, undo_until: undoUntil(state, seq, now) }));
}

/** Seq of the record that made the entry; undefined: none of that name is known. */
export function seqOfEntry({ entries = [] }: DeriveState, id: EntryState["id"]): number | undefined {
  return entries.find((entry) => entry.id === id)?.seq;
}

/** Minutes by which the usage of each filter exceeds what its counter in the PLC shows; 0 is left out. */
export function counterOffsets({ filters }: DeriveState): Partial<Record<FilterType, number>> {
  const offsets: Partial<Record<FilterType, number>> = {};
  for (const type of FILTER_TYPES) {
    const offset = filters[type]?.current.plc?.offset ?? 0;
    if (offset !== 0) offsets[type] = offset;
  }
  return offsets;
}

/** An entry that the PLC's own reset came after, or another change, stands. */
function undoUntil({ filters }: DeriveState, seq: number, now: EpochMs): EpochMs | null {
  const entry = Object.values(filters).find((filter) => filter.entry?.seq === seq)?.entry ?? null;
  return entry === null || now > entry.at + UNDO_MS ? null : entry.at + UNDO_MS;
}
