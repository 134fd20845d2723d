import type { TagValue } from "../../../src/domain/booth.ts";
import type { Take } from "../ledger.ts";
import type { Held } from "../records.ts";

/** Returns the key of a reading's position. A tag has one reading per position. */
function placeOf(boot: string, mono: number, tag: string): string {
  return `${boot} ${mono} ${tag}`;
}

interface Cover {
  readonly boot: string;
  readonly group: string;
  readonly from: number;
  readonly to: number;
}

/** Groups coverage records by boot and group, in order. */
function coversOf(held: readonly Held[]): ReadonlyMap<string, readonly Cover[]> {
  const covers = new Map<string, Cover[]>();
  for (const { kind, boot, value } of held) {
    if (kind !== "h") continue;
    const cover = { ...(value as Omit<Cover, "boot"> & { readonly polls: number }), boot };
    if (cover.polls === 0) continue;
    const key = `${boot} ${cover.group}`;
    covers.set(key, [...(covers.get(key) ?? []), cover]);
  }
  return covers;
}

/**
 * Checks that the service has everything that was taken: each answered poll in a coverage record, each reading with its
 * value, each other record.
 */
export function missingAtService(takes: readonly Take[], held: readonly Held[]): string[] {
  return takes.flatMap(missingOf(held));
}

/** Returns the takes that the service lacks in whole or in part. */
export function undelivered(takes: readonly Take[], held: readonly Held[]): Take[] {
  const missing = missingOf(held);
  return takes.filter((take) => missing(take).length > 0);
}

/** Returns a function that lists the missing parts of a take. */
function missingOf(held: readonly Held[]): (take: Take) => string[] {
  const covers = coversOf(held);
  const readings = new Map<string, TagValue>();
  const others = new Set<string>();
  for (const { kind, boot, mono, tag, value } of held) {
    if (kind === "r") readings.set(placeOf(boot, mono, tag), value as TagValue);
    else others.add(placeOf(boot, mono, kind));
  }
  return ({ at, entry }) => {
    const when = new Date(at).toISOString();
    if (entry.kind === "record") {
      const { kind, boot, mono } = entry.record;
      return others.has(placeOf(boot, mono, kind)) ? [] : [`${kind} of ${when}: not at the service`];
    }
    if (!entry.answered) return [];
    const { boot, mono, group } = entry;
    const missing: string[] = [];
    const isCovered = covers.get(`${boot} ${group}`)?.some(({ from, to }) => from <= mono && mono <= to) ?? false;
    if (!isCovered) missing.push(`poll of ${group} at ${when}: in no coverage record at the service`);
    for (const [tag, value] of entry.changes) {
      const seen = readings.get(placeOf(boot, mono, tag));
      if (seen !== value) missing.push(`${tag} at ${when}: taken ${String(value)}, at the service ${String(seen)}`);
    }
    return missing;
  };
}

/** Finds readings at the service that weren't taken or have another value. */
export function inventedAtService(takes: readonly Take[], held: readonly Held[]): string[] {
  const taken = new Map<string, TagValue>();
  for (const { entry } of takes) {
    if (entry.kind !== "poll") continue;
    for (const [tag, value] of entry.changes) taken.set(placeOf(entry.boot, entry.mono, tag), value);
  }
  return held
    .filter(({ kind, boot, mono, tag, value }) => kind === "r" && taken.get(placeOf(boot, mono, tag)) !== value)
    .map(({ seq, tag, boot, mono, value }) => `seq ${seq}: ${tag} ${String(value)} at ${boot} ${mono}`);
}
