import { KIND, type Fact, type Placed } from "../../domain/record.ts";
import type { RebuildChange } from "../../domain/rebuild.ts";
import type { EpochMs } from "../../domain/units.ts";

/** A fact that a refolding of the log made. It has no sequence number (seq) yet. */
export interface Refolded {
  readonly fact: Fact;
  readonly time: EpochMs;
}

export type Comparison = ReturnType<typeof compareFacts>;

const MAX_EXAMPLES = 100;

/** Compares the stored facts with the facts that the log yields now. Equal facts keep their seq. */
export function compareFacts(standing: readonly Placed<Fact>[], refolded: readonly Refolded[]) {
  const counts = new Map<string, { kept: number; added: number; replaced: number; withdrawn: number }>();
  const count = (kind: string, what: Exclude<keyof RebuildChange, "kind">): void => {
    const one = counts.get(kind) ?? { kept: 0, added: 0, replaced: 0, withdrawn: 0 };
    one[what] += 1;
    counts.set(kind, one);
  };
  const byText = bagOf(standing, textOf);
  const fresh = refolded.filter(({ fact }) => {
    const same = byText.take(textOf(fact));
    if (same !== undefined) count(fact.kind, "kept");
    return same === undefined;
  });
  const stale = byText.rest().sort((a, b) => a.seq - b.seq);
  const byPlace = bagOf(stale, placeOf);
  const examples: string[] = [];
  const append = fresh.map(({ fact, time }) => {
    // Withdraws the old revision or filter change, because these kinds have no field for the fact that they replace.
    const before = fact.kind !== KIND.revision && fact.kind !== KIND.filter ? byPlace.take(placeOf(fact)) : undefined;
    count(fact.kind, before === undefined ? "added" : "replaced");
    if (examples.length < MAX_EXAMPLES) examples.push(exampleOf(before, fact));
    return { fact, time, supersedes: before?.seq ?? null };
  });
  const withdraw = byPlace.rest();
  for (const fact of withdraw) {
    count(fact.kind, "withdrawn");
    if (examples.length < MAX_EXAMPLES) examples.push(exampleOf(fact, undefined));
  }
  const changes = [...counts].map(([kind, one]) => ({ kind, ...one }));
  return {
    /** New facts to append. `supersedes` is the seq of the fact that the new one replaces. */
    append,
    /** Wrong facts that no new fact replaces. Each needs a record that withdraws it (kind x). */
    withdraw,
    /** Seqs of all wrong facts, both replaced and withdrawn. */
    replaced: stale.map(({ seq }) => seq),
    changes,
    examples,
  };
}

/** Returns the fact's content as text, without the seq of the fact that it replaced. */
export function textOf({ kind, boot, mono, at, tag, value, quality }: Fact): string {
  return JSON.stringify([kind, boot, mono, at, tag, { ...value, supersedes: undefined }, quality]);
}

/** Returns the subject of a fact as text. A fact with the same subject and other content is a correction. */
function placeOf(fact: Fact): string {
  switch (fact.kind) {
    case KIND.stage:
    case KIND.cycle:
      return `${fact.kind} ${fact.value.bay} ${fact.value.start}`;
    case KIND.hour:
      return `d ${fact.value.hour}`;
    case KIND.incident: {
      const { check, tag_name, first_seen_at, resolved_at } = fact.value;
      return `i ${check} ${tag_name} ${first_seen_at} ${resolved_at === null ? "open" : "over"}`;
    }
    case KIND.revision:
      return `v ${fact.value.item} ${fact.value.first_seen_at}`;
    case KIND.filterDay:
      return `u ${fact.value.start} ${fact.value.filter} ${fact.value.installed_at}`;
    case KIND.bake:
      return `b ${fact.value.bay} ${fact.value.start}`;
    case KIND.label:
      return `n ${fact.value.id}`;
    case KIND.filter:
      return `f ${fact.value.filter} ${fact.value.installed_at}`;
  }
}

function exampleOf(before: Fact | undefined, after: Fact | undefined): string {
  const say = (fact: Fact | undefined): string => (fact === undefined ? "nothing" : JSON.stringify(fact.value));
  return `${(after ?? before)?.kind ?? ""}: ${say(before)} -> ${say(after)}`;
}

/** Groups facts by a key. Several facts may have the same key. */
export function bagOf(facts: readonly Placed<Fact>[], keyOf: (fact: Fact) => string) {
  const held = Map.groupBy(facts, keyOf);
  return { take: (key: string) => held.get(key)?.shift(), rest: () => [...held.values()].flat() };
}
