import { expect, it, onTestFinished } from "vitest";
import { linkLoop, createSharedLink } from "../../src/acquisition/link.ts";
import type { AskOverLink } from "../../src/acquisition/port.ts";
import { LinkError } from "../../src/domain/link-error.ts";
import type { LinkStatus } from "../../src/domain/status.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { silentLog } from "../support/silent-log.ts";
import { virtualClock } from "../../simulators/virtual/clock.ts";

const ASK = { unit: 1, pdu: Uint8Array.of(3, 0, 0, 0, 1) };

/** Makes a link under virtual time whose polls take `poll_ms`, and tools that use it. */
function sharedLink({
  interval_ms = 1_000,
  poll_ms = 0,
  askOver,
}: {
  interval_ms?: number;
  poll_ms?: number;
  askOver?: AskOverLink;
}) {
  const clock = virtualClock({ wall: 1_000_000, mono: 0 });
  const polls: number[] = [];
  const asked_at: number[] = [];
  let busy = 0;
  const alone = async <T>(act: () => Promise<T>): Promise<T> => {
    expect(++busy).toBe(1);
    return act().finally(() => (busy -= 1));
  };
  const shared = createSharedLink(clock, (ask, within_ms) =>
    alone(async () => {
      asked_at.push(clock.mono());
      return askOver === undefined ? Uint8Array.of(3, 2, 0, 7) : askOver(ask, within_ms);
    }),
  );
  let status: LinkStatus = { kind: "down", since: 0, reason: "", advice: "", attempt: 0, next_try_at: null };
  const booth = {
    booth: "a",
    address: "here",
    groups: { fast: { poll_interval_ms: interval_ms } },
    makeDriver: () => ({
      open: () => Promise.resolve(),
      read: () =>
        alone(async () => {
          polls.push(clock.mono());
          if (poll_ms > 0) await clock.sleep(poll_ms);
          return new Map();
        }),
      close: () => Promise.resolve(),
    }),
    intake: { answered: () => null, unanswered: () => undefined, record: () => undefined },
    status: () => status,
    setStatus: (next: LinkStatus) => void (status = next),
  };
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const tools = { clock, random: seededRandom(1), log: silentLog, probe_ms: () => 500, begins_in: 0 };
  void linkLoop({ ...tools, booths: [booth], shared }, end.signal);
  return { clock, polls, asked_at, shared, end };
}

/** Returns the distances between polls. */
const steps = (polls: readonly number[]) => new Set(polls.slice(1).map((at, i) => at - (polls[i] ?? 0)));

it("a diagnostic tool's read between two polls is executed immediately, and the polls stay on time", async () => {
  const { clock, polls, asked_at, shared } = sharedLink({ poll_ms: 20 });
  await clock.run(5_300);
  const answer = shared.ask(ASK);
  await clock.run(10_000);
  expect([...(await answer)]).toEqual([3, 2, 0, 7]);
  expect(asked_at).toEqual([5_300]);
  expect(steps(polls)).toEqual(new Set([1_000]));
});

it("a diagnostic tool's read just before or during a poll waits until the poll is done", async () => {
  const { clock, polls, asked_at, shared } = sharedLink({ poll_ms: 20 });
  await clock.run(5_950);
  const first = shared.ask(ASK);
  await clock.run(1_060);
  const second = shared.ask(ASK);
  await clock.run(3_000);
  await Promise.all([first, second]);
  expect(asked_at).toEqual([6_020, 7_020]);
  expect(steps(polls)).toEqual(new Set([1_000]));
});

it("a device that doesn't answer a diagnostic tool delays a poll by at most half a second, and no poll is lost", async () => {
  const within: number[] = [];
  const askOver: AskOverLink = async (_, within_ms) => {
    within.push(within_ms);
    await clock.sleep(within_ms);
    throw new LinkError("timeout", `no answer within ${within_ms} ms`);
  };
  const { clock, polls, shared } = sharedLink({ askOver });
  await clock.run(5_100);
  const early = expect(shared.ask(ASK)).rejects.toThrow("no answer within 900 ms");
  await clock.run(2_750);
  await early;
  const late = expect(shared.ask(ASK)).rejects.toThrow("no answer within 500 ms");
  await clock.run(3_000);
  await late;
  expect(within).toEqual([900, 500]);
  expect(polls.slice(5)).toEqual([5_000, 6_000, 7_000, 8_350, 9_000, 10_000]);
});

it("a diagnostic tool's read is executed after two seconds even if the polls leave no gap", async () => {
  const { clock, polls, asked_at, shared } = sharedLink({ interval_ms: 100, poll_ms: 50 });
  await clock.run(5_010);
  const answer = shared.ask(ASK);
  await clock.run(5_000);
  await answer;
  expect(asked_at).toEqual([7_050]);
  expect(steps(polls)).toEqual(new Set([100]));
});

it("a ninth waiting read of a tool is rejected as busy, and all waiting reads are rejected when the agent stops", async () => {
  const { clock, shared, end } = sharedLink({ poll_ms: 900 });
  await clock.run(5_010);
  const asked = Array.from({ length: 9 }, () =>
    shared.ask(ASK).then(
      () => "answered",
      (error: unknown) => (error as LinkError).kind,
    ),
  );
  end.abort();
  await clock.run(1_000);
  expect(await Promise.all(asked)).toEqual([...Array.from({ length: 8 }, () => "closed"), "busy"]);
  await expect(shared.ask(ASK)).rejects.toThrow("the agent is stopping");
});
