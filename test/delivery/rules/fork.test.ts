import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { doubtAfter, isBelieved, nextForkAt } from "../../../src/delivery/rules/belief.ts";
import { mendedLabel } from "../../../src/domain/stream-label.ts";
import type { StreamLabel } from "../../../src/domain/provisioning.ts";
import { T0 } from "../../support/records.ts";
import { HOUR_MS, DAY_MS } from "../../../src/domain/time.ts";

const label = (forked_at?: number): StreamLabel => ({
  id: "b",
  from_seq: 50,
  predecessor: { stream_id: "a", last_seq: 49 },
  forked_at,
});

describe("the next new name of a log", () => {
  it.each([
    [null, null],
    [undefined, null],
    [T0, T0 + DAY_MS],
    [T0 - DAY_MS + 1, T0 + 1],
    [T0 - DAY_MS, null],
    // By a clock that was years ahead.
    [T0 + 1, null],
  ])("after one at %s: %s", (forked_at, next) => {
    expect(nextForkAt(forked_at === null ? null : label(forked_at), T0)).toBe(next);
  });

  it("a day holds one at most, however often it is asked for", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: DAY_MS }), { maxLength: 50 }), (waits) => {
        const forks: number[] = [];
        let now = T0;
        for (const wait of waits) {
          now += wait;
          if (nextForkAt(label(forks.at(-1)), now) === null) forks.push(now);
        }
        expect(forks.every((at, index) => index === 0 || at - (forks[index - 1] ?? 0) >= DAY_MS)).toBe(true);
      }),
    );
  });
});

it("a conflict that nothing can prove is believed when the service says the same for an hour", () => {
  const first = doubtAfter(null, 5, 1_000);
  const later = doubtAfter(first, 5, 2_000);
  expect(later).toBe(first);
  expect(isBelieved(later, 1_000 + HOUR_MS - 1)).toBe(false);
  expect(isBelieved(later, 1_000 + HOUR_MS)).toBe(true);
  expect(doubtAfter(first, 6, 2_000)).toEqual({ seq: 6, since: 2_000 });
});

describe("a stored name of a log", () => {
  it("that is to begin before the log does begins where the service has it under the one before", () => {
    const bogus = { id: "b", from_seq: 0, predecessor: { stream_id: "a", last_seq: -1 }, booth_from_seq: 1 };
    const mended = { id: "b", from_seq: 51, predecessor: { stream_id: "a", last_seq: 50 }, booth_from_seq: 1 };
    expect(mendedLabel(bogus, 50)).toEqual(mended);
    expect(mendedLabel(mended, 70)).toBe(mended);
  });

  it.each([
    null,
    label(),
    { ...label(), predecessor: null },
    { ...label(), from_seq: 1, predecessor: { stream_id: "a", last_seq: 0 } },
  ])("that can work stays as it is: %o", (sound) => {
    expect(mendedLabel(sound, 60)).toBe(sound);
  });
});
