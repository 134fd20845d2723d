import type { FilterEntry, FilterLabel } from "../domain/entry.ts";
import type { BoothStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import type { Identity } from "../store/port.ts";

/** Labels kept per booth, a few hundred bytes each: enough for ten years with a change every other week. */
const MAX_KEPT = 260;

export interface FilterLabels {
  /** Returns a booth's labels, oldest first. */
  of(booth: BoothId): Promise<readonly FilterLabel[]>;
  /** Stores a label. It replaces an earlier label with the same id. */
  keep(booth: BoothId, label: FilterLabel): Promise<void>;
}

/** Stores part numbers and notes of filter changes in the identity's database. */
export function createFilterLabels(identity: Pick<Identity, "kept" | "keep">): FilterLabels {
  const nameOf = (booth: BoothId): string => `filter-labels/${booth}`;
  // Casts the entry, because only `keep` writes it.
  const of = async (booth: BoothId): Promise<readonly FilterLabel[]> =>
    ((await identity.kept(nameOf(booth))) as readonly FilterLabel[] | null | undefined) ?? [];
  let last: Promise<unknown> = Promise.resolve();
  return {
    of,
    keep(booth, label) {
      const add = async (): Promise<void> => {
        const others = (await of(booth)).filter(({ id }) => id !== label.id);
        await identity.keep(nameOf(booth), [...others, label].slice(-MAX_KEPT));
      };
      // Labels are added one at a time. Two concurrent changes of the list would lose a label.
      const kept = last.then(add, add);
      last = kept.catch(() => undefined);
      return kept;
    },
  };
}

/**
 * Returns the valid entries that people made, oldest first, with their labels. Recent entries come from the fold, older ones from the
 * stored labels.
 */
export function labelledEntries({ now }: Pick<BoothStatus, "now">, labels: readonly FilterLabel[]): FilterLabel[] {
  const entries = now?.filter_entries ?? [];
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  const written = new Map(labels.map((label) => [label.id, label]));
  const valid = entries.filter(({ outcome }) => outcome === "entered" || outcome === "same_change");
  const older = labels.filter(({ id }) => !known.has(id));
  return [...older, ...valid.map((entry) => labelOf(entry, written.get(entry.id)))].sort(
    (a, b) => a.installed_at - b.installed_at,
  );
}

function labelOf({ id, filter, installed_at, by }: FilterEntry, written: FilterLabel | undefined): FilterLabel {
  const { part_number = "", note = "" } = written ?? {};
  return { id, filter, installed_at, by, part_number, note };
}
