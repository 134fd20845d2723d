/** An event of a range in OSV's schema. Each event has one of the keys. */
export interface RangeEvent {
  readonly introduced?: string;
  readonly fixed?: string;
  readonly last_affected?: string;
  readonly limit?: string;
}

/** Returns whether OSV's evaluation of the events, in any order, gives that the version is affected. */
export function isInRange(version: string, events: readonly RangeEvent[]): boolean {
  const key = orderKey(version);
  const limits = events.flatMap(({ limit }) => (limit === undefined || limit === "*" ? [] : [limit]));
  if (limits.length > 0 && limits.every((limit) => key >= orderKey(limit))) return false;
  const ordered = events
    .map((event) => ({ ...event, at: orderKey(event.introduced ?? event.fixed ?? event.last_affected ?? "0") }))
    .sort((a, b) => (a.at < b.at ? -1 : 1));
  let isAffected = false;
  for (const { introduced, fixed, last_affected, at } of ordered) {
    if (introduced !== undefined && key >= at) isAffected = true;
    if ((fixed !== undefined && key >= at) || (last_affected !== undefined && key > at)) isAffected = false;
  }
  return isAffected;
}

/** Returns a text that sorts as Semantic Versioning 2.0 orders versions. OSV's "0" is less than each version. */
function orderKey(version: string): string {
  if (version === "0") return "";
  const [, release = "", candidate] = /^([^-+]*)(?:-([^+]*))?/.exec(version) ?? [];
  // A number is less than a word, a candidate less than its release, a shorter list less than a longer one.
  const keys = (list: string): string[] =>
    list.split(".").map((part) => (/^\d+$/.test(part) ? `0${part.padStart(16, "0")}` : `1${part}`));
  return [...keys(release), ...(candidate === undefined ? ["~"] : keys(candidate))].join(" ");
}
