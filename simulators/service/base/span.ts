import { firstAfter } from "./search.ts";

/** A half-open span [start, end) in epoch ms. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export function length(spans: readonly Span[]): number {
  return spans.reduce((sum, span) => sum + (span.end - span.start), 0);
}

/** Returns the parts of the spans inside the window. */
export function clip(spans: readonly Span[], window: Span): Span[] {
  return spans
    .map((span) => ({ start: Math.max(span.start, window.start), end: Math.min(span.end, window.end) }))
    .filter((span) => span.end > span.start);
}

/** Merges spans into ordered spans without overlap. */
export function union(spans: readonly Span[]): Span[] {
  const out: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const last = out.at(-1);
    if (last !== undefined && span.start <= last.end) {
      out[out.length - 1] = { start: last.start, end: Math.max(last.end, span.end) };
    } else if (span.end > span.start) out.push({ start: span.start, end: span.end });
  }
  return out;
}

/** Returns the time that is in both lists. Each list is ordered and without overlap. */
export function intersection(a: readonly Span[], b: readonly Span[]): Span[] {
  const out: Span[] = [];
  let j = firstAfter(b, a[0]?.start ?? Infinity, (span) => span.end);
  for (const span of a) {
    while (j < b.length && (b[j]?.end ?? 0) <= span.start) j += 1;
    for (let k = j; k < b.length; k += 1) {
      const other = b[k];
      if (other === undefined || other.start >= span.end) break;
      out.push({ start: Math.max(span.start, other.start), end: Math.min(span.end, other.end) });
    }
  }
  return out;
}
