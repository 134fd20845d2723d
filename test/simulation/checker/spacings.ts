import { type Mode, wireNameOf } from "../../../src/domain/booth.ts";
import type { Span } from "../outcome.ts";

/** Answered polls of a group in one coverage record. */
export interface Covered extends Span {
  readonly max_interval_ms: number;
}

/**
 * A span with two polls further apart than usual, up to the bridge: the value of the first poll is valid until the
 * second. The polls are the ends of the span or, within one coverage record, any two polls `reach_ms` apart.
 */
export interface Spacing extends Span {
  readonly reach_ms: number;
}

/** Error of a clock that only the service corrected over a slow line, plus a second of rounding in answers. */
export const CLOCK_MS = 5_000;

/** Returns the spacings of the records in order of time. */
export function spacingsOf(
  covered: readonly Covered[],
  { poll_ms, bridge_ms }: { readonly poll_ms: number; readonly bridge_ms: number },
): readonly Spacing[] {
  return covered.flatMap(({ start, end, max_interval_ms }, i) => {
    const next = covered[i + 1]?.start ?? end;
    return [
      ...(max_interval_ms > poll_ms ? [{ start, end, reach_ms: max_interval_ms }] : []),
      ...(next - end > poll_ms && next - end <= bridge_ms ? [{ start: end, end: next, reach_ms: next - end }] : []),
    ];
  });
}

/**
 * Returns the maximum delay with which a transition at that instant may be shown: `usual_ms` if the polls were on time.
 */
export function latenessAt(spacings: readonly Spacing[], at: number, usual_ms: number): number {
  const near = spacings.filter(({ start, end }) => start - CLOCK_MS <= at && at <= end + CLOCK_MS);
  return Math.max(usual_ms, ...near.map(({ end, reach_ms }) => Math.min(reach_ms, Math.max(0, end - at)) + CLOCK_MS));
}

/** Whether a mode that had ended may still be shown for that span, because no poll had shown its end. */
export function isHeldOver(
  shown: Span & { readonly mode: string },
  stages: readonly (Span & { readonly mode: Mode })[],
  spacings: readonly Spacing[],
): boolean {
  return spacings.some(
    ({ start, end, reach_ms }) =>
      start - CLOCK_MS <= shown.start &&
      shown.end <= end + CLOCK_MS &&
      stages.some(
        (stage) =>
          wireNameOf(stage.mode) === shown.mode &&
          stage.start <= shown.start &&
          stage.end >= shown.end - reach_ms - CLOCK_MS,
      ),
  );
}
