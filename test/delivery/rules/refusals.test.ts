import { render } from "../../../src/domain/messages/render.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  allRefused,
  conflictAfter,
  heldSeqs,
  isRefusedForGood,
  newNameAt,
  type RefusalCause,
  tooLongOf,
  waitingAfter,
  type WaitingRecord,
} from "../../../src/delivery/rules/refusals.ts";
import { forkTrouble } from "../../../src/delivery/service-words.ts";
import type { StreamLabel } from "../../../src/domain/provisioning.ts";
import { mendedLabel } from "../../../src/domain/stream-label.ts";
import { DAY_MS, HOUR_MS } from "../../../src/domain/time.ts";
import { T0 } from "../../support/records.ts";

const record = (cause: RefusalCause, seq = 7) => ({ seq, reason: "no", cause });
const label = (forked_at?: number): StreamLabel => ({
  id: "b",
  from_seq: 50,
  predecessor: { stream_id: "a", last_seq: 49 },
  forked_at,
});

/** Returns the state of a record that is rejected with these causes, an hour apart. */
function refusedHourly(causes: readonly RefusalCause[]): WaitingRecord | undefined {
  return causes.reduce<WaitingRecord | undefined>(
    (before, cause, hour) => waitingAfter(before, record(cause), { mono: hour * HOUR_MS, at: T0 + hour * HOUR_MS }),
    undefined,
  );
}

describe("a rejected record", () => {
  it.each([
    ["named", 24, false],
    ["named", 25, true],
    ["whole", 25, true],
    ["unanswered", 25, true],
    ["too_long", 1_000, false],
    ["silence", 1_000, false],
  ] as const)(
    "with the cause %s and %i hourly attempts counts as permanently rejected: %s",
    (cause, offers, isFinal) => {
      const waiting = refusedHourly(Array.from({ length: offers }, () => cause));
      expect(
        waiting !== undefined && isRefusedForGood(waiting, { mono: (offers - 1) * HOUR_MS, isEnding: false }),
      ).toBe(isFinal);
    },
  );

  it.each([
    ["named", true],
    ["unanswered", true],
    ["silence", false],
    ["too_long", false],
  ] as const)("with the cause %s counts as permanently rejected while the binding ends: %s", (cause, isFinal) => {
    const waiting = waitingAfter(undefined, record(cause), { mono: 0, at: T0 });
    expect(isRefusedForGood(waiting, { mono: 0, isEnding: true })).toBe(isFinal);
  });

  it("gets another full day of attempts if the service answers no record at all", () => {
    const causes = Array.from({ length: 30 }, (_, hour) => (hour === 20 ? "silence" : "unanswered") as RefusalCause);
    const waiting = refusedHourly(causes);
    expect(waiting?.since).toBe(20 * HOUR_MS);
  });

  it("counts as rejected while it waits for another attempt, and a record that is too long is also counted separately", () => {
    const now = { mono: 0, at: T0 };
    const waiting = new Map(
      (["named", "too_long", "silence", "whole"] as const).map((cause, index) => [
        10 + index,
        waitingAfter(undefined, record(cause, 10 + index), now),
      ]),
    );
    const aside = { count: 3, newest: { seq: 12, at: 1, reason: "old" } };
    expect(allRefused(aside, waiting)).toEqual({ count: 6, newest: { seq: 13, at: T0, reason: "no" } });
    expect(allRefused(aside, new Map())).toEqual(aside);
    expect(tooLongOf(waiting)).toEqual({ count: 1, newest: { seq: 11, reason: "no" } });
    expect(tooLongOf(new Map())).toBe(null);
  });
});

describe("a conflict (the service has a different record under the same number)", () => {
  const named = conflictAfter(null, { seq: 50, held_seq: 80 }, 1_000);

  it("gives the log a new stream name once the service has reported the same record for an hour", () => {
    const again = conflictAfter(named, { seq: 50, held_seq: 90 }, 5_000);
    expect(again).toEqual({ seq: 50, held_seq: 90, since: 1_000 });
    expect(newNameAt(again, null, { mono: 1_000 + HOUR_MS - 1, at: T0 })).toBe(T0 + 1);
    expect(newNameAt(again, null, { mono: 1_000 + HOUR_MS, at: T0 })).toBe(T0);
    expect(conflictAfter(named, { seq: 51, held_seq: 90 }, 5_000).since).toBe(5_000);
  });

  it.each([
    [undefined, T0],
    [T0, T0 + DAY_MS],
    [T0 - DAY_MS + 1, T0 + 1],
    [T0 - DAY_MS, T0],
    // The time was stored by a clock that was years ahead.
    [T0 + 1, T0],
  ])("after the last new stream name at %s (Unix ms) permits the next one at %s", (forked_at, at) => {
    expect(newNameAt(named, label(forked_at), { mono: 2 * HOUR_MS, at: T0 })).toBe(at);
  });

  it("gives the log at most one new stream name a day, however often the service reports a conflict", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: DAY_MS }), { maxLength: 50 }), (waits) => {
        const forks: number[] = [];
        let now = T0;
        for (const wait of waits) {
          now += wait;
          if (newNameAt(named, label(forks.at(-1)), { mono: 2 * HOUR_MS, at: now }) <= now) forks.push(now);
        }
        expect(forks.every((at, index) => index === 0 || at - (forks[index - 1] ?? 0) >= DAY_MS)).toBe(true);
      }),
    );
  });

  it("is shown with its record numbers until the log gets a new stream name, and for a month afterwards", () => {
    const now = { mono: 1_000, at: T0 };
    expect(render(forkTrouble(label(), named, now)?.reason ?? "")).toMatch(
      /different records than this gateway from seq 50 to 80: .*until/,
    );
    expect(forkTrouble(label(), null, now)).toBe(null);
    // The row was stored without the seqs, so the message names at least the start of the new name.
    expect(render(forkTrouble(label(T0), null, now)?.reason ?? "")).toMatch(
      /from seq 50 on: since \d{4}-\d\d-\d\d \d\d:\d\d UTC/,
    );
    expect(forkTrouble(label(T0), null, { mono: 0, at: T0 + 31 * DAY_MS })).toBe(null);
  });

  it.each([
    [264, "from seq 50 to 264: since"],
    [50, "at seq 50: since"],
    [49, "from seq 50 on: since"],
    [0, "from seq 50 on: since"],
  ])("with the service's newest record %i is reported with the words: %s", (held_seq, words) => {
    const forked = { ...label(T0), forked_seqs: heldSeqs({ seq: 50, held_seq, since: 0 }) };
    const now = { mono: 0, at: T0 };
    expect(render(forkTrouble(forked, null, now)?.reason ?? "")).toContain(
      `the service had different records than this gateway ${words}`,
    );
    // A later name for another reason doesn't change the range.
    expect(render(forkTrouble({ ...forked, from_seq: 900 }, null, now)?.reason ?? "")).toContain(words);
  });
});

describe("the stored stream name of a log", () => {
  it("is corrected if it starts before the log, and then starts after the previous name's last record", () => {
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
  ])("is unchanged if it is valid: %o", (sound) => {
    expect(mendedLabel(sound, 60)).toBe(sound);
  });
});
