import type { FilterEntry, FilterLabel } from "../domain/entry.ts";
import type { BoothStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import type { Identity } from "../store/port.ts";

/** Ten years of a booth whose filters are changed every other week; a few hundred bytes each. */
const MAX_KEPT = 260;

export interface FilterLabels {
  /** Oldest first. */
  of(booth: BoothId): Promise<readonly FilterLabel[]>;
  /** The same entry again replaces what was kept of it. */
  keep(booth: BoothId, label: FilterLabel): Promise<void>;
}

/** Labels among the small things that outlive the process. */
export function createFilterLabels(identity: Pick<Identity, "kept" | "keep">): FilterLabels {
  const nameOf = (booth: BoothId): string => `filter-labels/${booth}`;
  // Written by `keep` alone.
  const of = async (booth: BoothId): Promise<readonly FilterLabel[]> =>
    ((await identity.kept(nameOf(booth))) as readonly FilterLabel[] | null | undefined) ?? [];
  let last: Promise<unknown> = Promise.resolve();
  return {
    of,
    keep(booth, label) {
      const act = async (): Promise<void> => {
        const others = (await of(booth)).filter(({ id }) => id !== label.id);
        await identity.keep(nameOf(booth), [...others, label].slice(-MAX_KEPT));
      };
      // One after the other, so that neither of two at once is lost.
      const kept = last.then(act, act);
      last = kept.catch(() => undefined);
      return kept;
    },
  };
}

/** People's entries that stand, with what they wrote, oldest first: the newest by the fold's word, older ones as they were kept. */
export function labelledEntries({ now }: Pick<BoothStatus, "now">, labels: readonly FilterLabel[]): FilterLabel[] {
  const entries = now?.filter_entries ?? [];
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  const written = new Map(labels.map((label) => [label.id, label]));
  const standing = entries.filter(({ outcome }) => outcome === "entered" || outcome === "same_change");
  const older = labels.filter(({ id }) => !known.has(id));
  return [...older, ...standing.map((entry) => labelOf(entry, written.get(entry.id)))].sort(
    (a, b) => a.installed_at - b.installed_at,
  );
}

function labelOf({ id, filter, installed_at, by }: FilterEntry, written: FilterLabel | undefined): FilterLabel {
  const { part_number = "", note = "" } = written ?? {};
  return { id, filter, installed_at, by, part_number, note };
}
