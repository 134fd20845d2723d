import type { BootId, EpochMs, Milliseconds } from "../domain/units.ts";

/** A later time that is lower by more than this says that the earlier one was wrong. By less, a clock was a little fast. */
export const WRONG_MS: Milliseconds = 3_600_000;

/** What a clock record with a witness said. */
export interface Shown {
  readonly boot: BootId;
  readonly mono: Milliseconds;
  readonly wall: EpochMs;
}

/** A stretch of a boot whose clock records are taken back. */
export interface TakenBack {
  readonly boot: BootId;
  /** In mono of the boot; null: its end. */
  readonly from: Milliseconds;
  readonly to: Milliseconds | null;
  /** Corrected time = mono + offset; null: nobody ever said it right, so it goes on from the last known instant. */
  readonly offset: Milliseconds | null;
}

/**
 * Which of a log's clock records, given in order, are taken back by later ones. The last word of a boot is right about the whole
 * boot, as mono went on all the while; a later boot is right about those before it, which had ended when it began.
 */
export function takenBack(shown: readonly Shown[]): TakenBack[] {
  const boots = [...new Set(shown.map(({ boot }) => boot))].reverse();
  const found: TakenBack[] = [];
  let limit = Infinity;
  for (const boot of boots) {
    const own = shown.filter((one) => one.boot === boot);
    const last = own.findLast(({ wall }) => wall <= limit + WRONG_MS);
    const isRight = (one: Shown): boolean => last !== undefined && offsetOf(one) <= offsetOf(last) + WRONG_MS;
    own.forEach((one, index) => {
      if (isRight(one)) return;
      // What took it back says where it stands; where that was a later boot, what was right before.
      const by = own.slice(index).find(isRight) ?? own.slice(0, index).findLast(isRight);
      const [from, to] = [index === 0 ? 0 : one.mono, own[index + 1]?.mono ?? null];
      found.push({ boot, from, to, offset: by === undefined ? null : offsetOf(by) });
    });
    limit = Math.min(limit, ...own.filter(isRight).map(({ wall }) => wall));
  }
  return found;
}

export function offsetOf({ wall, mono }: Shown): Milliseconds {
  return wall - mono;
}
