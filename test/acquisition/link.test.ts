import { rendered } from "../../src/domain/messages/render.ts";
import { afterEach, describe, expect, test } from "vitest";

import { type BoothOnLink, linkLoop } from "../../src/acquisition/link.ts";
import { LinkError, type LinkErrorKind } from "../../src/domain/link-error.ts";
import type { LinkStatus } from "../../src/domain/status.ts";
import type { Sample } from "../../src/domain/taken.ts";
import type { Driver, GroupSamples } from "../../src/acquisition/port.ts";
import { virtualClock } from "../../simulators/virtual/clock.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { silentLog } from "../support/silent-log.ts";

/** Simulated devices that the test switches, under virtual time. */
interface Device {
  fault: LinkErrorKind | null;
  /** Duration of a request without an answer. */
  readonly vain_ms: number;
  opens: number;
  readonly polls: number[];
  readonly failures: number[];
  status: LinkStatus;
}

const clock = () => virtualClock({ wall: 1_000_000, mono: 0 });
const ending: AbortController[] = [];
afterEach(() => {
  for (const end of ending.splice(0)) end.abort();
});

function device(vain_ms = 500): Device {
  const status: LinkStatus = { kind: "down", since: 0, reason: "", advice: "", attempt: 0, next_try_at: null };
  return { fault: null, vain_ms, opens: 0, polls: [], failures: [], status };
}

function run(devices: readonly Device[], more: Partial<BoothOnLink> = {}, begins_in = 0) {
  const time = clock();
  const partsOf = (it: Device): BoothOnLink => ({
    booth: "a",
    address: "here",
    groups: { fast: { poll_interval_ms: 1000 } },
    makeDriver: () => driverOf(it, time),
    intake: {
      answered: () => {
        it.polls.push(time.mono());
        return null;
      },
      unanswered: () => void it.failures.push(time.mono()),
    },
    status: () => it.status,
    setStatus: (status) => void (it.status = status),
    ...more,
  });
  const end = new AbortController();
  ending.push(end);
  const parts = {
    clock: time,
    random: seededRandom(1),
    log: silentLog,
    probe_ms: () => 500,
    begins_in,
    booths: devices.map(partsOf),
  };
  void linkLoop(parts, end.signal);
  return time;
}

function driverOf(it: Device, time: ReturnType<typeof clock>): Driver {
  let closed = false;
  return {
    open: async () => {
      it.opens++;
      if (it.fault === "refused") throw new LinkError("refused", "refused");
      await Promise.resolve();
    },
    read: async () => {
      if (closed) throw new LinkError("closed", "closed");
      if (it.fault === "timeout") await time.sleep(it.vain_ms);
      if (it.fault !== null && it.fault !== "closed") throw new LinkError(it.fault, it.fault);
      if (it.fault === "closed") {
        it.fault = null;
        closed = true;
        throw new LinkError("closed", "the device closed the connection");
      }
      return new Map();
    },
    close: () => Promise.resolve(),
  };
}

/** Returns the longest distance between two polls. */
function widest(polls: readonly number[]): number {
  return Math.max(...polls.slice(1).map((at, i) => at - (polls[i] ?? 0)));
}

describe("a link shared by several booths", () => {
  test("polls all booths at their intervals", async () => {
    const devices = [device(), device(), device()];
    await run(devices).run(60_000);
    for (const { polls } of devices) expect(widest(polls)).toBe(1000);
  });

  test("polls each booth first after the link's start delay, and then at the booth's interval", async () => {
    const devices = [device(), device()];
    await run(devices, {}, 375).run(3_000);
    for (const { polls } of devices) expect(polls).toEqual([375, 1_375, 2_375]);
  });

  test("polls other units on time while one unit is down, and polls that unit within 5 s of its return", async () => {
    const alive = device();
    const dead = device();
    const time = run([alive, dead]);
    await time.run(10_000);
    dead.fault = "timeout";
    await time.run(600_000);
    expect(widest(alive.polls)).toBe(1000);
    expect(dead.failures.length).toBeGreaterThan(100);
    const back = time.mono();
    dead.fault = null;
    await time.run(5000);
    expect(dead.polls.at(-1)).toBeGreaterThan(back);
  });

  test("is reported as down for all booths if the connection can't be opened, and as up for all booths afterwards", async () => {
    const devices = [device(), device()];
    for (const it of devices) it.fault = "refused";
    const time = run(devices);
    await time.run(60_000);
    for (const { status } of devices) expect(status).toMatchObject({ kind: "down", reason: "refused" });
    for (const it of devices) it.fault = null;
    await time.run(5000);
    for (const { status } of devices) expect(status.kind).toBe("up");
  });
});

describe("a connection that the device closes while it is idle", () => {
  test("is replaced by a new connection without a failure or a late poll", async () => {
    const it = device();
    const time = run([it]);
    await time.run(10_000);
    it.fault = "closed";
    await time.run(10_000);
    expect(it.failures).toEqual([]);
    expect(it.opens).toBe(2);
    expect(widest(it.polls)).toBe(1000);
  });

  test("is closed by the agent before the device closes it, if the profile sets idle_close_ms", async () => {
    const it = device();
    await run([it], { idle_close_ms: 1000 }).run(10_000);
    expect(it.opens).toBe(it.polls.length);
    expect(it.failures).toEqual([]);
  });
});

describe("a link that checks the PLC's identity", () => {
  /**
   * Makes a link with an identity group. The test sets which PLC answers and how often the connection is renewed, and
   * sees the samples of the intake.
   */
  function identified(more: Partial<BoothOnLink> = {}) {
    const it = device();
    const plc = { shows: "ours", renewals: 0, renewsIn: "", given: [] as string[] };
    let known = "";
    const time = run([it], {
      groups: { fast: { poll_interval_ms: 1000 }, id: { poll_interval_ms: 60_000 } },
      identity_group: "id",
      makeDriver: () => ({
        open: () => Promise.resolve(),
        read: (groups) => {
          if (groups.join("+") === plc.renewsIn) plc.renewals += 1;
          const sample = (tag: string): Sample => ({ tag, value: plc.shows, quality: "good" });
          return Promise.resolve(new Map(groups.map((group) => [group, [sample(group)]])));
        },
        renewals: () => plc.renewals,
        close: () => Promise.resolve(),
      }),
      intake: {
        answered: (read) => {
          known = String(read.get("id")?.[0]?.value ?? known);
          const counts = known === "ours";
          plc.given.push(`${[...read.keys()].join("+")}: ${counts ? "counts" : "foreign"}`);
          return counts ? null : { reason: "another booth's", advice: "" };
        },
        unanswered: () => undefined,
      },
      ...more,
    });
    return { plc, time };
  }

  test("reads the identity before it accepts samples if the connection was replaced during a poll", async () => {
    const { plc, time } = identified();
    await time.run(1_500);
    expect(plc.given).toEqual(["id+fast: counts", "fast: counts"]);
    plc.given.length = 0;
    Object.assign(plc, { shows: "another", renewsIn: "fast" });
    await time.run(1_000);
    expect(plc.given).toEqual(["fast+id: foreign"]);
  });

  test("reads the identity once per new connection, and rejects a poll that reached another booth's PLC first", async () => {
    const { plc, time } = identified();
    await time.run(1_500);
    plc.given.length = 0;
    plc.renewals += 1;
    await time.run(3_000);
    expect(plc.given).toEqual(["fast+id: counts", "fast: counts", "fast: counts"]);
    // From here on each poll renews the connection, so the identity is due with each poll.
    Object.assign(plc, { shows: "another", renewsIn: "fast" });
    await time.run(1_000);
    plc.given.length = 0;
    Object.assign(plc, { shows: "ours", renewsIn: "fast+id" });
    await time.run(1_000);
    expect(plc.given).toEqual(["fast: foreign"]);
    plc.renewsIn = "";
    await time.run(1_000);
    expect(plc.given).toEqual(["fast: foreign", "fast+id: counts"]);
  });

  test("reads all due groups in one poll, and a slow group at its own interval", async () => {
    const it = device();
    const reads: string[] = [];
    const groups = {
      fast: { poll_interval_ms: 1000 },
      slow: { poll_interval_ms: 3000 },
      id: { poll_interval_ms: 4500 },
    };
    const intake = {
      answered: (read: GroupSamples) => {
        reads.push([...read.keys()].join("+"));
        return null;
      },
      unanswered: () => undefined,
    };
    const read = (wanted: readonly string[]): Promise<GroupSamples> =>
      Promise.resolve(new Map(wanted.map((group) => [group, []])));
    const makeDriver = (): Driver => ({ open: () => Promise.resolve(), read, close: () => Promise.resolve() });
    await run([it], { groups, intake, makeDriver }).run(6_500);
    expect(reads).toEqual(["fast+slow+id", "fast", "fast", "fast+slow", "fast", "id", "fast", "fast+slow"]);
  });
});

test("a link is degraded while a tag with a role (such as mode) reads NaN, and is up after a good value", async () => {
  const it = device();
  const shown: { sample: Sample } = { sample: { tag: "mode", value: 1, quality: "good" } };
  const lines: string[] = [];
  const time = run([it], {
    watched_tags: new Set(["mode"]),
    makeDriver: () => ({
      open: () => Promise.resolve(),
      read: () => Promise.resolve(new Map([["fast", [shown.sample]]])),
      close: () => Promise.resolve(),
    }),
    setStatus: (status) => {
      lines.push(status.kind);
      it.status = status;
    },
  });
  await time.run(5_000);
  shown.sample = { tag: "mode", value: null, quality: "bad", reason: "nan" };
  await time.run(60_000);
  expect(rendered(it.status)).toMatchObject({ kind: "degraded", reason: expect.stringContaining("mode") as string });
  shown.sample = { tag: "mode", value: 1, quality: "good" };
  await time.run(2_000);
  expect(lines).toEqual(["up", "degraded", "up"]);
});

test("a link that can't be opened is retried after random delays of at most 2.5 s", async () => {
  const it = device();
  it.fault = "refused";
  await run([it]).run(120_000);
  const waits = it.failures.slice(1).map((at, i) => at - (it.failures[i] ?? 0));
  expect(Math.max(...waits)).toBeLessThanOrEqual(2501);
  expect(new Set(waits).size).toBeGreaterThan(waits.length / 2);
});
