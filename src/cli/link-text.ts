import type { LinkStatus } from "../domain/status.ts";
import { PLAIN, type Style } from "./style.ts";
import { lasting } from "./text.ts";

/** A link in words: state, since when, why, what to do, and when it is tried again. */
export function linkText(link: LinkStatus, now: number, style: Style = PLAIN): string {
  const since = lasting(Math.max(0, now - link.since));
  switch (link.kind) {
    case "up":
      return `${style.good("up")} for ${since}`;
    case "degraded":
      return `${style.warn("DEGRADED")} for ${since}: ${sayings(link.reason, link.advice)}`;
    case "down": {
      const { next_try_at, attempt } = link;
      const tried = attempt === 0 ? "" : attempt === 1 ? "1 failed try" : `${attempt.toString()} failed tries`;
      const next = next_try_at === null ? "" : `next try in ${lasting(Math.max(0, next_try_at - now))}`;
      return `${style.bad("DOWN")} for ${since}: ${sayings(link.reason, link.advice, [tried, next].filter(Boolean).join(", "))}`;
    }
  }
}

/** What there is of it, with semicolons between. */
export function sayings(...texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("; ");
}
