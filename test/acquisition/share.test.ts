import { expect, it, onTestFinished } from "vitest";
import { linkLoop } from "../../src/acquisition/link-loop.ts";
import { createSharedLink, type AskOverLink } from "../../src/acquisition/share.ts";
import { LinkError } from "../../src/domain/link-error.ts";
import type { LinkStatus } from "../../src/domain/status.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { virtualClock } from "../support/virtual-clock.ts";

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const ASK = { unit: 1, pdu: Uint8Array.of(3, 0, 0, 0, 1) };

/** A link under virtual time whose polls take `poll_ms`, and tools that ask over it. */
function lentLink({
  interval_ms = 1_000,
  poll_ms = 0,
  lend,
}: {
  interval_ms?: number;
  poll_ms?: number;
  lend?: AskOverLink;
}) {
  const clock = virtualClock({ wall: 1_000_000, mono: 0 });
  const polls: number[] = [];
  const visited: number[] = [];
  let busy = 0;
  const alone = async <T>(act: () => Promise<T>): Promise<T> => {
    expect(++busy).toBe(1);
    return act().finally(() => (busy -= 1));
  };
  const visits = createSharedLink(clock, (ask, within_ms) =>
    alone(async () => {
      visited.push(clock.mono());
      return lend === undefined ? Uint8Array.of(3, 2, 0, 7) : lend(ask, within_ms);
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
          return [];
        }),
      close: () => Promise.resolve(),
    }),
    intake: { answered: () => null, unanswered: () => undefined, record: () => undefined },
    status: () => status,
    setStatus: (next: LinkStatus) => void (status = next),
  };
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const tools = { clock, random: seededRandom(1), log: silent, probe_ms: () => 500, begins_in: 0 };
  void linkLoop({ ...tools, booths: [booth], visits }, end.signal);
  return { clock, polls, visited, visits, end };
}

/** Steps between polls. */
const steps = (polls: readonly number[]) => new Set(polls.slice(1).map((at, i) => at - (polls[i] ?? 0)));

it("a tool's read is carried out at once between two polls, which keep their rhythm", async () => {
  const { clock, polls, visited, visits } = lentLink({ poll_ms: 20 });
  await clock.run(5_300);
  const answer = visits.ask(ASK);
  await clock.run(10_000);
  expect([...(await answer)]).toEqual([3, 2, 0, 7]);
  expect(visited).toEqual([5_300]);
  expect(steps(polls)).toEqual(new Set([1_000]));
});

it("one that comes just before a poll, or during it, waits for that", async () => {
  const { clock, polls, visited, visits } = lentLink({ poll_ms: 20 });
  await clock.run(5_950);
  const first = visits.ask(ASK);
  await clock.run(1_060);
  const second = visits.ask(ASK);
  await clock.run(3_000);
  await Promise.all([first, second]);
  expect(visited).toEqual([6_020, 7_020]);
  expect(steps(polls)).toEqual(new Set([1_000]));
});

it("a device that is silent to a tool makes a poll late by half a second at most, and none is lost", async () => {
  const within: number[] = [];
  const lend: AskOverLink = async (_, within_ms) => {
    within.push(within_ms);
    await clock.sleep(within_ms);
    throw new LinkError("timeout", `no answer within ${within_ms} ms`);
  };
  const { clock, polls, visits } = lentLink({ lend });
  await clock.run(5_100);
  const early = expect(visits.ask(ASK)).rejects.toThrow("no answer within 900 ms");
  await clock.run(2_750);
  await early;
  const late = expect(visits.ask(ASK)).rejects.toThrow("no answer within 500 ms");
  await clock.run(3_000);
  await late;
  expect(within).toEqual([900, 500]);
  expect(polls.slice(5)).toEqual([5_000, 6_000, 7_000, 8_350, 9_000, 10_000]);
});

it("where polls leave no room a read goes before one of them, after two seconds", async () => {
  const { clock, polls, visited, visits } = lentLink({ interval_ms: 100, poll_ms: 50 });
  await clock.run(5_010);
  const answer = visits.ask(ASK);
  await clock.run(5_000);
  await answer;
  expect(visited).toEqual([7_050]);
  expect(steps(polls)).toEqual(new Set([100]));
});

it("more than eight at once are refused, and those who wait when the agent stops are told", async () => {
  const { clock, visits, end } = lentLink({ poll_ms: 900 });
  await clock.run(5_010);
  const asked = Array.from({ length: 9 }, () =>
    visits.ask(ASK).then(
      () => "answered",
      (error: unknown) => (error as LinkError).kind,
    ),
  );
  end.abort();
  await clock.run(1_000);
  expect(await Promise.all(asked)).toEqual([...Array.from({ length: 8 }, () => "closed"), "busy"]);
  await expect(visits.ask(ASK)).rejects.toThrow("the agent is stopping");
});
