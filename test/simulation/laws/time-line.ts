import type { Span } from "../outcome.ts";

/** A stretch in which a booth was in one mode. */
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
  /** Two polls further apart leave open what was between them. */
  readonly bridge_ms: number;
  /** A difference this short is none: a poll, and what a clock may be off. */
  readonly slack_ms: number;
  /** Spans of which nothing is said. */
  readonly unsure: readonly Span[];
}

/**
 * Each instant is in the mode that the last poll before it showed; only where the next one came later than the bridge may it
 * be no data instead. What is wrong from one poll to the next is one stretch: short ones are as long as the clock may be off.
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

/** Spans tile the window: no instant is missing, none counted twice. */
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
