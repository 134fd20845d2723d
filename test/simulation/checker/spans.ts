import type { Span } from "../outcome.ts";

/** Merges spans that touch or overlap, in order. */
export function united(spans: readonly Span[]): readonly Span[] {
  const out: Span[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = out.at(-1);
    if (last !== undefined && start <= last.end)
      out[out.length - 1] = { start: last.start, end: Math.max(last.end, end) };
    else out.push({ start, end });
  }
  return out;
}

/** Returns the parts of a span outside the others (which are united). */
export function without({ start, end }: Span, others: readonly Span[]): readonly Span[] {
  const left: Span[] = [];
  let from = start;
  for (const other of others) {
    if (other.end <= from) continue;
    if (other.start >= end) break;
    if (other.start > from) left.push({ start: from, end: other.start });
    from = other.end;
  }
  return from < end ? [...left, { start: from, end }] : left;
}

export function overlaps(a: Span, b: Span): boolean {
  return a.start < b.end && b.start < a.end;
}

/** Returns the common part of two overlapping spans. */
export function common(a: Span, b: Span): Span {
  return { start: Math.max(a.start, b.start), end: Math.min(a.end, b.end) };
}

export function widened({ start, end }: Span, before: number, after: number): Span {
  return { start: start - before, end: end + after };
}

/** Formats a span for a message. */
export function spanText({ start, end }: Span): string {
  return `${new Date(start).toISOString()} to ${new Date(end).toISOString()}`;
}
