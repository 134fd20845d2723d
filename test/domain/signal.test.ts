import { expect, it } from "vitest";
import { createSignal, type Signal } from "../../src/domain/signal.ts";
import { virtualClock } from "../support/virtual-clock.ts";

/** Who has heard the bell, by name. */
function listening(bells: Readonly<Record<string, Signal>>): string[] {
  const heard: string[] = [];
  const { signal } = new AbortController();
  for (const [name, bell] of Object.entries(bells)) void bell.wait(signal).then(() => heard.push(name));
  return heard;
}

it("a booth's ring wakes its own loops and those of all booths, the shared one everybody", async () => {
  const clock = virtualClock({ wall: 0 });
  const shared = createSignal(clock);
  const [one, other] = [shared.own(), shared.own()];
  const first = listening({ shared, one, other });
  one.ring();
  await clock.run(0);
  expect(first).toEqual(["one", "shared"]);
  other.ring();
  await clock.run(0);
  expect(first).toEqual(["one", "shared", "other"]);
  const second = listening({ shared, one, other });
  shared.ring();
  await clock.run(0);
  expect(second.toSorted()).toEqual(["one", "other", "shared"]);
});

it("whoever is woken sleeps no longer", async () => {
  const clock = virtualClock({ wall: 0 });
  const bell = createSignal(clock).own();
  const waiting = bell.wait(new AbortController().signal, 60_000);
  await clock.run(0);
  expect(clock.sleeping()).toBe(1);
  bell.ring();
  await waiting;
  expect(clock.sleeping()).toBe(0);
});
