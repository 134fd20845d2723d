import { expect, it } from "vitest";
import { fullJitter } from "../../../src/domain/retrying.ts";
import { retryAfter } from "../../../src/delivery/rules/session-retry.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

const ended = { attempt: 5, proven: true, lasted_ms: MINUTE_MS, away_ms: MINUTE_MS, fault: "closed" } as const;

it.each([
  [{}, 0],
  [{ lasted_ms: 0 }, 0],
  [{ proven: false }, 5],
  [{ fault: "taken_over" }, 0],
  [{ fault: "taken_over", lasted_ms: MINUTE_MS - 1 }, 5],
] as const)("after a session with %o, the reconnect backoff continues at attempt %i", (change, attempt) => {
  expect(retryAfter({ ...ended, ...change }).attempt).toBe(attempt);
});

it.each([
  ["closed", 1_000, 60_000],
  ["unreachable", 1_000, 60_000],
  ["unanswered", 1_000, 60_000],
  ["certificate_expired", 1_000, 60_000],
  ["credential", 1_000, 900_000],
  ["not_allowed", 1_000, 900_000],
  ["taken_over", 60_000, 900_000],
] as const)("the reconnect delays after the fault %s grow from %i to %i ms", (fault, base_ms, cap_ms) => {
  expect(retryAfter({ ...ended, fault }).backoff).toEqual({ base_ms, cap_ms });
  // Early in an outage the pauses are short. Two gateways with one identity aren't an outage.
  const early = fault === "taken_over" ? cap_ms : 12_000;
  expect(retryAfter({ ...ended, fault, away_ms: MINUTE_MS - 1 }).backoff).toEqual({ base_ms, cap_ms: early });
});

/** Returns the time from the broker's return to the first attempt of one gateway. */
function backAfter(outage_ms: number, random: () => number): number {
  let at = 0;
  let attempt = 0;
  do {
    const next = retryAfter({ attempt, proven: false, lasted_ms: 0, away_ms: at, fault: "unreachable" });
    at += Math.max(1, fullJitter(next.attempt, next.backoff, random));
    attempt = next.attempt + 1;
  } while (at < outage_ms);
  return at - outage_ms;
}

it.each([
  [1_000, 12_000],
  [20_000, 12_000],
  [MINUTE_MS - 1, 12_000],
  [10 * MINUTE_MS, MINUTE_MS],
])(
  "after an outage of %i ms, all gateways reconnect within %i ms of the broker's return, but not simultaneously",
  (away, within) => {
    const random = seededRandom(away);
    const backs = Array.from({ length: 10_000 }, () => backAfter(away, () => random.next()));
    expect(Math.max(...backs)).toBeLessThanOrEqual(within);
    const perSecond = Map.groupBy(backs, (back) => Math.floor(back / 1_000));
    if (away > 5_000) expect(Math.max(...[...perSecond.values()].map((some) => some.length))).toBeLessThan(4_000);
  },
);
