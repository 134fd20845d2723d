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
  /** Erases a person's name from the booth's labels. Returns the number of changed labels. */
  forget(booth: BoothId, by: string): Promise<number>;
}

/** Stores part numbers and notes of filter changes in the identity's database. */
export function createFilterLabels(identity: Pick<Identity, "kept" | "keep">): FilterLabels {
  const nameOf = (booth: BoothId): string => `filter-labels/${booth}`;
  // Casts the entry, because only `keep` writes it.
  const of = async (booth: BoothId): Promise<readonly FilterLabel[]> =>
    ((await identity.kept(nameOf(booth))) as readonly FilterLabel[] | null | undefined) ?? [];
  let last: Promise<unknown> = Promise.resolve();
  // Labels are changed one at a time. Two concurrent changes of the list would lose a label.
  const change = (
    booth: BoothId,
    changed: (labels: readonly FilterLabel[]) => readonly FilterLabel[],
  ): Promise<void> => {
    const write = async (): Promise<void> => identity.keep(nameOf(booth), changed(await of(booth)));
    const kept = last.then(write, write);
    last = kept.catch(() => undefined);
    return kept;
  };
  return {
    of,
    keep: (booth, label) =>
      change(booth, (labels) => [...labels.filter(({ id }) => id !== label.id), label].slice(-MAX_KEPT)),
    async forget(booth, by) {
      const named = (await of(booth)).filter((one) => one.by === by);
      await change(booth, (labels) => labels.map((one) => (one.by === by ? { ...one, by: "" } : one)));
      return named.length;
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

function labelOf({ id, filter, installed_at, ...entry }: FilterEntry, written: FilterLabel | undefined): FilterLabel {
  const { part_number = "", note = "", by = entry.by } = written ?? {};
  return { id, filter, installed_at, by, part_number, note };
}
