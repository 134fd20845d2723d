import type { Span } from "../outcome.ts";

/** A span in which a booth was in one mode. */
export interface ModeSpan extends Span {
  readonly mode: string;
}

export interface Poll {
  readonly at: number;
  /** The PLC's mode; null: no usable value. */
  readonly mode: string | null;
}

export interface Rules {
  readonly start: number;
  readonly end: number;
  /** If two polls are further apart, the mode between them is unknown. */
  readonly bridge_ms: number;
  /** Differences up to this length are ignored: the distance of two polls, and the clock's error. */
  readonly slack_ms: number;
  /** Spans that are not checked. */
  readonly unsure: readonly Span[];
}

/**
 * Finds spans with a wrong mode. Each instant must have the mode of the last poll before it. If the next poll came
 * later than the bridge, no data is right too. Wrong stages from one poll to the next count as one span, and short ones
 * are allowed up to the clock's error.
 */
export function wrongSpans(polls: readonly Poll[], derived: readonly ModeSpan[], rules: Rules): string[] {
  const wrong: Wrong[] = [];
  const said = polls.filter(({ mode }) => mode !== null);
  let index = -1;
  for (const { mode, start, end } of derived) {
    for (let from = start; from < end;) {
      while ((said[index + 1]?.at ?? Infinity) <= from) index += 1;
      const before = said[index];
      const next = said[index + 1];
      const to = Math.min(end, next?.at ?? Infinity);
      const is_open = before === undefined || (next?.at ?? Infinity) - before.at > rules.bridge_ms;
      const is_right = mode === before?.mode || (is_open && mode === "no_data");
      const isUnsure = rules.unsure.some((span) => span.start < to && from < span.end);
      if (!is_right && !isUnsure) note(wrong, { mode, start: from, end: to, said: before?.mode ?? "nothing" });
      from = to;
    }
  }
  return wrong
    .filter(({ start, end }) => Math.min(end, rules.end) - Math.max(start, rules.start) > rules.slack_ms)
    .map(({ mode, start, end, said: told }) => {
      const what = `${new Date(start).toISOString()} to ${new Date(end).toISOString()}`;
      return `${what}: ${mode}, the PLC had said ${told}`;
    });
}

interface Wrong extends ModeSpan {
  readonly said: string;
}

function note(wrong: Wrong[], one: Wrong): void {
  const last = wrong.at(-1);
  if (last?.end === one.start && last.mode === one.mode) wrong[wrong.length - 1] = { ...last, end: one.end };
  else wrong.push(one);
}

/** Checks that the spans cover each instant of the window exactly once. */
export function untiled(derived: readonly ModeSpan[], { start, end }: Span): string[] {
  let next = start;
  const wrong: string[] = [];
  for (const span of derived) {
    if (span.start !== next)
      wrong.push(`${new Date(next).toISOString()} is followed by ${new Date(span.start).toISOString()}`);
    next = span.end;
  }
  return next === end
    ? wrong
    : [...wrong, `it ends at ${new Date(next).toISOString()}, not ${new Date(end).toISOString()}`];
}
