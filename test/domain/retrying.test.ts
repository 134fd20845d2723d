import fc from "fast-check";
import { expect, it } from "vitest";
import { fullJitter, jittered, retrying } from "../../src/domain/retrying.ts";

/** A clock that records its sleeps, and an attempt that returns these outcomes in turn. */
function trying(outcomes: readonly string[]) {
  const slept: number[] = [];
  const left = [...outcomes];
  const clock = {
    sleep: (ms: number, signal?: AbortSignal) => {
      slept.push(ms);
      return signal?.aborted === true ? Promise.reject(signal.reason as Error) : Promise.resolve();
    },
  };
  return { clock, slept, attempt: () => Promise.resolve(left.shift() ?? "out of outcomes") };
}

const wait = jittered({ base_ms: 1_000, cap_ms: 3_000 }, { next: () => 0.5 });

it("retrying repeats an attempt after growing delays until the attempt succeeds", async () => {
  const { clock, slept, attempt } = trying(["down", "down", "down", "well", "never"]);
  await expect(retrying({ clock, wait }, attempt, (outcome) => (outcome === "well" ? null : {}))).resolves.toBe("well");
  expect(slept).toEqual([500, 1_000, 1_500]);
});

it("retrying waits at least as long as the failed attempt requires, and reports each delay before it begins", async () => {
  const { clock, slept, attempt } = trying(["down", "well"]);
  const told: number[] = [];
  const waits = (ms: number): void => void told.push(ms);
  await retrying({ clock, wait, waits }, attempt, (outcome) => (outcome === "well" ? null : { at_least_ms: 9_000 }));
  expect({ slept, told }).toEqual({ slept: [9_000], told: [9_000] });
});

it("retrying returns the last failure if the caller accepts the failure", async () => {
  const { clock, attempt } = trying(["down", "still down", "well"]);
  const twice = retrying({ clock, wait }, attempt, (_, failures) => (failures === 1 ? null : {}));
  await expect(twice).resolves.toBe("still down");
});

it("retrying rejects with the abort signal's reason, or with the error that an attempt throws", async () => {
  const { clock, attempt } = trying(["down", "well"]);
  const reason = new Error("stopped");
  const ended = retrying({ clock, wait, signal: AbortSignal.abort(reason) }, attempt, () => ({}));
  await expect(ended).rejects.toBe(reason);
  const broken = retrying(
    { clock, wait },
    () => Promise.reject(new Error("no disk")),
    () => null,
  );
  await expect(broken).rejects.toThrow("no disk");
});

const BACKOFF = { base_ms: 1000, cap_ms: 300_000 };

it("fullJitter returns a delay in [0, min(cap, base x 2^attempt)) for any attempt", () => {
  const rnd = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(fc.nat(100_000), rnd, (attempt, drawn) => {
      const wait = fullJitter(attempt, BACKOFF, () => drawn);
      return Number.isInteger(wait) && wait >= 0 && wait < Math.min(300_000, 1000 * 2 ** attempt);
    }),
  );
});

it("fullJitter returns growing delays up to the cap", () => {
  expect([0, 1, 2, 20, 5000].map((attempt) => fullJitter(attempt, BACKOFF, () => 0.5))).toEqual([
    500, 1000, 2000, 150_000, 150_000,
  ]);
});
