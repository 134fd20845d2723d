import { expect, it } from "vitest";
import { jittered, retrying } from "../../src/domain/retrying.ts";

/** A clock that remembers how long was slept, and an attempt that gives these outcomes in turn. */
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

it("an attempt is made again, after longer and longer waits, until it is no failure", async () => {
  const { clock, slept, attempt } = trying(["down", "down", "down", "well", "never"]);
  await expect(retrying({ clock, wait }, attempt, (outcome) => (outcome === "well" ? null : {}))).resolves.toBe("well");
  expect(slept).toEqual([500, 1_000, 1_500]);
});

it("a failure may ask for a longer wait, and whoever wants to know is told of it before", async () => {
  const { clock, slept, attempt } = trying(["down", "well"]);
  const told: number[] = [];
  const waits = (ms: number): void => void told.push(ms);
  await retrying({ clock, wait, waits }, attempt, (outcome) => (outcome === "well" ? null : { at_least_ms: 9_000 }));
  expect({ slept, told }).toEqual({ slept: [9_000], told: [9_000] });
});

it("a failure that is lived with is the outcome", async () => {
  const { clock, attempt } = trying(["down", "still down", "well"]);
  const twice = retrying({ clock, wait }, attempt, (_, failures) => (failures === 1 ? null : {}));
  await expect(twice).resolves.toBe("still down");
});

it("it ends with the reason of an abort in its wait, and as an attempt does that rejects", async () => {
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
