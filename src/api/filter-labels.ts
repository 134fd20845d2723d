import type { FilterEntry, FilterLabel } from "../domain/entry.ts";
import type { BoothStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import type { Identity } from "../store/port.ts";

/** Labels of a booth: ten years of changes every other week. Each has a few hundred bytes. */
const MAX_KEPT = 260;

export interface FilterLabels {
  /** Returns the labels, oldest first. */
  of(booth: BoothId): Promise<readonly FilterLabel[]>;
  /** Keeps a label; it replaces an earlier one with the same id. */
  keep(booth: BoothId, label: FilterLabel): Promise<void>;
}

/** Keeps part numbers and notes of filter changes in the identity's database. */
export function createFilterLabels(identity: Pick<Identity, "kept" | "keep">): FilterLabels {
  const nameOf = (booth: BoothId): string => `filter-labels/${booth}`;
  // Written only by `keep`.
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
      // In sequence, so that no label is lost if two are added at once.
      const kept = last.then(add, add);
      last = kept.catch(() => undefined);
      return kept;
    },
  };
}

/** Returns people's valid entries with their labels, oldest first: the newest ones by the fold, older ones as they were kept. */
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
