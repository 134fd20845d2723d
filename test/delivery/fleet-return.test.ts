import { expect, it } from "vitest";
import { fullJitter } from "../../src/domain/retrying.ts";
import { retryAfter } from "../../src/delivery/rules/session-retry.ts";
import { seededRandom } from "../support/seeded-random.ts";

const GATEWAYS = 1_000;
const OUTAGE_MS = 600_000;
/** Maximum number of sessions that the service accepts in a second. It refuses all others. */
const PER_SECOND = 50;
const LONGEST_MS = 3 * 3_600_000;

interface Return {
  /** Highest number of connects in one second after the service's return. */
  readonly peak_per_s: number;
  /** Time after the return at which the last gateway had its session. */
  readonly last_s: number;
}

/**
 * Simulates gateways that lose their sessions at the same instant and reconnect like the sync loop until the service
 * accepts them.
 */
function fleet(random: () => number): Return {
  const due = Array.from({ length: GATEWAYS }, () => ({ at: 0, attempt: 0 }));
  const tries = new Map<number, number>();
  let last = 0;
  for (let second = 0; due.length > 0 && second * 1000 < LONGEST_MS; second += 1) {
    const now = due.filter(({ at }) => at < (second + 1) * 1000).sort((a, b) => a.at - b.at);
    let taken = 0;
    for (const gateway of now) {
      while (gateway.at < (second + 1) * 1000) {
        const isBack = gateway.at >= OUTAGE_MS;
        if (isBack) tries.set(second, (tries.get(second) ?? 0) + 1);
        if (isBack && taken < PER_SECOND) {
          taken += 1;
          last = gateway.at;
          due.splice(due.indexOf(gateway), 1);
          break;
        }
        const { attempt: before, at: away_ms } = gateway;
        const ended = { attempt: before, proven: false, lasted_ms: 0, away_ms, fault: "unreachable" } as const;
        const { backoff, attempt } = retryAfter(ended);
        gateway.at += Math.max(1, fullJitter(attempt, backoff, random));
        gateway.attempt = attempt + 1;
      }
    }
  }
  return { peak_per_s: Math.max(...tries.values()), last_s: (last - OUTAGE_MS) / 1000 };
}

it("the reconnects of a thousand gateways after a ten-minute outage are spread by jitter, without a load peak", () => {
  const random = seededRandom(1_000);
  const jittered = fleet(() => random.next());
  const together = fleet(() => 1 - Number.EPSILON);
  process.stdout.write(`1,000 gateways back after 600 s: ${JSON.stringify({ jittered, without_jitter: together })}\n`);
  // Without jitter all gateways connect in the same second, and most are rejected for another minute.
  expect(together.peak_per_s).toBe(GATEWAYS);
  expect(jittered.peak_per_s).toBeLessThan(GATEWAYS / 10);
  expect(jittered.last_s).toBeLessThan(180);
  expect(together.last_s).toBeGreaterThan(5 * jittered.last_s);
});
