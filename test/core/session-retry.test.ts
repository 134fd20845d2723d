import { expect, it } from "vitest";
import { retryAfter } from "../../src/core/session-retry.ts";

const MINUTE = 60_000;
const ended = { attempt: 5, proven: true, lasted_ms: MINUTE, fault: "closed" } as const;

it.each([
  [{}, 0],
  [{ lasted_ms: MINUTE - 1 }, 5],
  [{ proven: false }, 5],
])("the back-off starts over after a session with an ack that lasted a minute: %o", (change, attempt) => {
  expect(retryAfter({ ...ended, ...change }).attempt).toBe(attempt);
});

it.each([
  ["closed", 1_000, 60_000],
  ["unreachable", 1_000, 60_000],
  ["certificate_expired", 1_000, 60_000],
  ["credential", 1_000, 900_000],
  ["not_allowed", 1_000, 900_000],
  ["taken_over", 60_000, 900_000],
] as const)("after %s the waits go from %i to %i ms", (fault, base_ms, cap_ms) => {
  expect(retryAfter({ ...ended, fault }).backoff).toEqual({ base_ms, cap_ms });
});
