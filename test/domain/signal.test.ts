import { expect, it, vi } from "vitest";
import { createSignal, createSignals, onAbort, type Signal } from "../../src/domain/signal.ts";
import { virtualClock } from "../../simulators/virtual/clock.ts";

/** Returns the names of the signals that were heard, filled in as they are raised. */
function listening(named: Readonly<Record<string, Signal>>): string[] {
  const heard: string[] = [];
  const { signal } = new AbortController();
  for (const [name, one] of Object.entries(named)) void one.wait(signal).then(() => heard.push(name));
  return heard;
}

it("a booth's news signal wakes the loops of that booth and the shared loops, and the shared signal wakes all loops", async () => {
  const clock = virtualClock({ wall: 0 });
  const signals = createSignals(clock);
  const shared = signals.news;
  const one = signals.own().news;
  const other = signals.own().news;
  const first = listening({ shared, one, other });
  one.raise();
  await clock.run(0);
  expect(first).toEqual(["one", "shared"]);
  other.raise();
  await clock.run(0);
  expect(first).toEqual(["one", "shared", "other"]);
  const second = listening({ shared, one, other });
  shared.raise();
  await clock.run(0);
  expect(second.toSorted()).toEqual(["one", "other", "shared"]);
});

it("a progress signal wakes only loops that wait for progress, while a news signal also wakes the loops that wait for news", async () => {
  const clock = virtualClock({ wall: 0 });
  const shared = createSignals(clock);
  const own = shared.own();
  const other = shared.own();
  const all = { shared_news: shared.news, shared_progress: shared.progress, news: own.news, progress: own.progress };
  const heard = listening({ ...all, other_news: other.news, other_progress: other.progress });
  own.progress.raise();
  await clock.run(0);
  expect(heard.toSorted()).toEqual(["progress", "shared_progress"]);
  const again = listening({ shared_progress: shared.progress, progress: own.progress });
  own.news.raise();
  await clock.run(0);
  expect(heard.slice(2).toSorted()).toEqual(["news", "shared_news"]);
  expect(again.toSorted()).toEqual(["progress", "shared_progress"]);
  shared.progress.raise();
  await clock.run(0);
  expect(heard.slice(4)).toEqual(["other_progress"]);
  shared.news.raise();
  await clock.run(0);
  expect(heard.slice(5)).toEqual(["other_news"]);
});

it("a wait cancels its sleep when its signal wakes it", async () => {
  const clock = virtualClock({ wall: 0 });
  const woken = createSignal(clock);
  const waiting = woken.wait(new AbortController().signal, 60_000);
  await clock.run(0);
  expect(clock.sleeping()).toBe(1);
  woken.raise();
  await waiting;
  expect(clock.sleeping()).toBe(0);
});

it("onAbort calls each registered callback once, and needs only one event listener", () => {
  const ending = new AbortController();
  const added = vi.spyOn(ending.signal, "addEventListener");
  const heard: string[] = [];
  onAbort(ending.signal, () => heard.push("first"));
  const forget = onAbort(ending.signal, () => heard.push("second"));
  onAbort(ending.signal, () => heard.push("third"));
  forget();
  ending.abort();
  ending.abort();
  expect(heard).toEqual(["first", "third"]);
  onAbort(ending.signal, () => heard.push("late"));
  expect(heard.at(-1)).toBe("late");
  expect(added).toHaveBeenCalledTimes(1);
});

it("a thousand waits on a signal leave no timers and no additional listeners", async () => {
  const clock = virtualClock({ wall: 0 });
  const woken = createSignal(clock);
  const ending = new AbortController();
  const added = vi.spyOn(ending.signal, "addEventListener");
  for (let i = 0; i < 1_000; i += 1) {
    const waiting = woken.wait(ending.signal, 60_000);
    woken.raise();
    await waiting;
  }
  expect(clock.sleeping()).toBe(0);
  const reason = new Error("enough");
  const last = woken.wait(ending.signal, 60_000);
  ending.abort(reason);
  await expect(last).rejects.toBe(reason);
  expect(clock.sleeping()).toBe(0);
  expect(added).toHaveBeenCalledTimes(1);
});
