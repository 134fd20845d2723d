import { setTimeout as delay } from "node:timers/promises";

import { type RunningPlc, startPlc } from "../../../simulators/plc/start.ts";
import { findScenario } from "../../../simulators/plc/scenarios/all.ts";
import { virtualDriver } from "../../../simulators/virtual/driver.ts";
import { tcpProxy, type TcpProxy } from "../../../simulators/network/tcp-proxy.ts";
import type { SimClock } from "../../../simulators/clock.ts";
import { type ModbusProfile, tagsOfGroup } from "../../../src/domain/profile.ts";
import type { ModbusAddress } from "../../../src/config/port.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import type { LinkStatus } from "../../../src/domain/status.ts";
import { emptyMemory, modbusDriver } from "../../../src/acquisition/modbus/driver.ts";
import { modbusLine, type ModbusLine } from "../../../src/acquisition/modbus/wire.ts";
import { sleepBy } from "../../../src/domain/signal.ts";
import { realAfter } from "../../../src/runtime/clock.ts";
import type { Clock } from "../../../src/domain/machine.ts";
import { runLink, type RunningLink } from "./link-run.ts";
import { clickBooth } from "../../support/profiles.ts";

/** A booth on a line with faults, read by the real loop and driver. Its story advances a step with each poll. */

/** 09:00 in the booth's zone, after the start of the busy day. */
const START = Date.UTC(2026, 2, 3, 16);
const STEP_MS = 10_000;
/**
 * The loop's time is faster than real time by this factor, so that tests needn't wait for backoffs. Sockets use real
 * time.
 */
const SPEED = 50;
const GROUPS = { fast: { poll_interval_ms: 500 }, slow: { poll_interval_ms: 1500 } };
/** Answer timeout in real time. */
export const ANSWER_MS = 100;

export interface Poll {
  /** Simulated instant of the poll, at which the PLC had every value. */
  readonly at: number;
  readonly group: string;
  readonly samples: readonly Sample[];
}

export interface FaultBed {
  readonly plc: RunningPlc;
  readonly proxy: TcpProxy;
  readonly groups: readonly string[];
  readonly polls: readonly Poll[];
  /** Every change of the link's state, oldest first. */
  readonly states: readonly LinkStatus[];
  readonly failures: () => number;
  readonly isUp: () => boolean;
  /** Returns good values that differ from the PLC's. */
  wrong(): Promise<readonly { readonly tag: string; readonly got: unknown; readonly truth: unknown }[]>;
  /**
   * Counts, over all polls, the tags of the group without a sample (`lost`) and the additional samples of a tag
   * (`doubled`).
   */
  gaps(): { readonly lost: number; readonly doubled: number };
  stop(): Promise<void>;
}

export interface FaultBedOptions {
  readonly framing?: "tcp" | "rtu";
  readonly seed?: number;
  readonly scenario?: string;
  readonly profile?: ModbusProfile;
  /** Epoch ms at which the polls start within the story. */
  readonly start?: number;
}

export async function faultBed(options: FaultBedOptions = {}): Promise<FaultBed> {
  const { framing = "tcp", seed = 1 } = options;
  const profile = options.profile ?? clickBooth();
  const scenario = findScenario(options.scenario ?? "busy-day");
  if (scenario === undefined) throw new Error("no such scenario");
  const clock = steppedClock(options.start ?? START);
  const plc = await startPlc({ profile, scenario, seed, clock, port: 0, rtuPort: 0 });
  const target = { port: framing === "rtu" ? (plc.rtu?.port ?? 0) : plc.port };
  const proxy = await tcpProxy({ target, seed });
  const address: ModbusAddress = { host: "127.0.0.1", port: proxy.port, framing };
  const loop = watchedLoop({ line: modbusLine(address), profile, seed, clock });
  return {
    plc,
    proxy,
    ...loop.seen,
    wrong: () => wrongOf(loop.seen.polls, { plc, profile }),
    gaps: () => gapsOf(loop.seen.polls, profile),
    stop: async () => {
      await loop.stop();
      await proxy.close();
      await plc.stop();
    },
  };
}

type Seen = Pick<FaultBed, "groups" | "polls" | "states" | "failures" | "isUp">;

interface SteppedClock extends SimClock {
  step(): void;
}

/** Makes a clock that stops during a poll. */
function steppedClock(start: number): SteppedClock {
  let now = start;
  return {
    boot: "test",
    wall: () => now,
    mono: () => now - start,
    step: () => void (now += STEP_MS),
    sleep: (ms, signal) => delay(ms, undefined, signal ? { signal } : {}),
  };
}

const quickAfter: Clock["after"] = (ms, act) => realAfter(ms / SPEED, act);

const quickClock: Clock = {
  boot: "test",
  wall: () => performance.timeOrigin + performance.now() * SPEED,
  mono: () => performance.now() * SPEED,
  synced: () => true,
  after: quickAfter,
  sleep: sleepBy(quickAfter),
};

interface Watched {
  readonly line: ModbusLine;
  readonly profile: ModbusProfile;
  readonly seed: number;
  readonly clock: SteppedClock;
}

function watchedLoop({ line, profile, seed, clock }: Watched): { seen: Seen; stop: RunningLink["stop"] } {
  const polls: Poll[] = [];
  let failures = 0;
  const used = new Set(profile.tags.map(({ group }) => group));
  const groups = Object.fromEntries(Object.entries(GROUPS).filter(([name]) => used.has(name)));
  const memory = emptyMemory();
  const timeouts = { connect_ms: 2000, answer_ms: ANSWER_MS };
  const link = runLink(
    {
      groups,
      makeDriver: () => modbusDriver({ line, profile, memory, timeouts, mono: () => clock.mono() }),
      intake: {
        answered: (read) => {
          for (const [group, samples] of read) polls.push({ at: clock.wall(), group, samples });
          clock.step();
          return null;
        },
        unanswered: () => {
          failures++;
          clock.step();
        },
      },
    },
    { clock: quickClock, probe_ms: () => ANSWER_MS * SPEED, seed },
  );
  const isUp = (): boolean => link.status().kind !== "down";
  return {
    seen: { groups: Object.keys(groups), polls, states: link.states, failures: () => failures, isUp },
    stop: () => link.stop(),
  };
}

function gapsOf(polls: readonly Poll[], profile: ModbusProfile): { readonly lost: number; readonly doubled: number } {
  let lost = 0;
  let doubled = 0;
  for (const { group, samples } of polls) {
    const seen = new Set(samples.map(({ tag }) => tag));
    doubled += samples.length - seen.size;
    lost += tagsOfGroup(profile, group).filter(({ name }) => !seen.has(name)).length;
  }
  return { lost, doubled };
}

async function wrongOf(
  polls: readonly Poll[],
  { plc, profile }: { readonly plc: RunningPlc; readonly profile: ModbusProfile },
): Promise<readonly { readonly tag: string; readonly got: unknown; readonly truth: unknown }[]> {
  const never = new AbortController().signal;
  const wrong: { tag: string; got: unknown; truth: unknown }[] = [];
  for (const { at, group, samples } of polls) {
    const truth = virtualDriver({
      booth: plc.booth,
      profile,
      clock: { wall: () => at, sleep: () => Promise.resolve() },
    });
    await truth.open(never);
    const values = new Map((await truth.read([group])).get(group)?.map(({ tag, value }) => [tag, value]));
    for (const { tag, value, quality } of samples) {
      if (quality === "good" && value !== values.get(tag)) wrong.push({ tag, got: value, truth: values.get(tag) });
    }
  }
  return wrong;
}
