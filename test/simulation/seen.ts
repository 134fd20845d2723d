import type { Profile } from "../../src/domain/profile.ts";
import type { Poll } from "./laws/time-line.ts";
import type { Take } from "./ledger.ts";
import type { Span } from "./outcome.ts";
import type { GivenUp, Held } from "./records.ts";

/** Returns the tag whose readings are the booth's mode; null: the profile has no such tag. */
export function modeTagOf({ tags }: Profile): string | null {
  return tags.find(({ role }) => role === "mode")?.name ?? null;
}

/** Returns the modes that the polls of the mode's group showed. */
export function modePolls(profile: Profile, takes: readonly Take[]): readonly Poll[] {
  const tag = profile.tags.find(({ role }) => role === "mode");
  const polls: Poll[] = [];
  let mode: string | null = null;
  for (const { at, entry } of takes) {
    if (entry.kind !== "poll" || !entry.answered || entry.group !== tag?.group) continue;
    const change = entry.changes.find(([name]) => name === tag.name);
    if (change !== undefined) mode = change[2] === "bad" ? null : (profile.modes[String(change[1])] ?? null);
    polls.push({ at, mode });
  }
  return polls;
}

/**
 * Returns the spans of boots without a confirmed time, each from the last take before the boot to the first take after
 * it.
 */
export function unsureSpans(takes: readonly Take[], held: readonly Held[]): readonly Span[] {
  const synced = new Set(
    held
      .filter(({ kind, value }) => kind === "t" && (value as { readonly state: string }).state === "synced")
      .map(({ boot }) => boot),
  );
  const spans: Span[] = [];
  let boot = "";
  let start = 0;
  let last_at = 0;
  const close = (end: number): void => {
    if (boot !== "" && !synced.has(boot)) spans.push({ start, end });
  };
  for (const { at, entry } of takes) {
    const own = entry.kind === "poll" ? entry.boot : entry.record.boot;
    if (own !== boot) {
      close(at);
      [boot, start] = [own, last_at];
    }
    last_at = at;
  }
  close(Number.MAX_SAFE_INTEGER);
  return spans;
}

/**
 * Returns the spans of a stream's dropped records: from the last stored record before them to the first one after. With
 * a tag, each span ends at the first later record with that tag's value, which only a change or a heartbeat logs.
 */
export function declaredSpans(
  held: readonly Held[],
  given_up: readonly GivenUp[],
  tag: string | null = null,
): readonly Span[] {
  const read = held.filter(({ kind }) => kind === "r" || kind === "h" || kind === "t");
  const told = tag === null ? read : read.filter((record) => record.kind === "r" && record.tag === tag);
  return given_up.map(({ stream, from, to }) => {
    const before = read.findLast((record) => record.stream === stream && record.seq < from);
    const after = told.find((record) => record.stream === stream && record.seq > to);
    return { start: before?.time ?? 0, end: after?.time ?? Number.MAX_SAFE_INTEGER };
  });
}
