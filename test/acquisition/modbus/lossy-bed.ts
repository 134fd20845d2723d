import { render } from "../../../src/domain/messages/render.ts";
import { setTimeout as delay } from "node:timers/promises";

import { createPollWatch } from "../../../src/acquisition/link.ts";
import type { ModbusAddress } from "../../../src/config/port.ts";
import type { ModbusPoint, ModbusProfile } from "../../../src/domain/profile.ts";
import { sleepBy } from "../../../src/domain/signal.ts";
import { realAfter } from "../../../src/runtime/clock.ts";
import { modbusLinks } from "../../../src/acquisition/modbus/driver.ts";
import type { Clock } from "../../../src/domain/machine.ts";
import { until } from "../../support/eventually.ts";
import { pattern } from "./fake-modbus.ts";
import { runLink } from "./link-run.ts";
import { point, profileOf } from "../../support/profiles.ts";

/** A device that is read by the real loop and driver each second, in real time, and an account of what came of it. */

export const INTERVAL_MS = 1000;

/** 60 tags that take four requests. */
export const FOUR_BLOCKS = blocks(4, 15, 1000);
/** As many in a map full of holes: the first poll takes more than twenty requests. */
export const SPARSE = blocks(12, 5, 9);

function blocks(count: number, size: number, apart: number): readonly ModbusPoint[] {
  return Array.from({ length: count * size }, (_, i) => point({ address: Math.floor(i / size) * apart + (i % size) }));
}

/** Whether there is nothing at the address. */
export function isHole(points: readonly ModbusPoint[], address: number): boolean {
  return !points.some((one) => one.address === address);
}

export interface Account {
  /** Values that were due since the device answered first, and those that came with their poll, none later than an interval. */
  readonly due: number;
  readonly good: number;
  /** Good values that aren't what stands in the device. */
  readonly wrong: number;
  /** After the first connection. */
  readonly changes: number;
  readonly states: readonly string[];
  readonly requests: { readonly asked: number; readonly missed: number };
}

export const systemClock: Clock = {
  boot: "test",
  wall: () => Math.round(performance.timeOrigin + performance.now()),
  mono: () => Math.round(performance.now()),
  synced: () => true,
  after: realAfter,
  sleep: sleepBy(realAfter),
};

/** A tag beside the points: who answers over a connection that was made anew is asked for it before anything counts. */
const IDENTITY = "identity";

function identifiedProfile(points: readonly ModbusPoint[]): ModbusProfile {
  const made = profileOf(points);
  const [first] = made.tags;
  return {
    ...made,
    quirks: { ...made.quirks, max_registers: 60 },
    groups: { ...made.groups, [IDENTITY]: { poll_interval_ms: 60 * INTERVAL_MS } },
    tags: first === undefined ? [] : [...made.tags, { ...first, name: IDENTITY, group: IDENTITY }],
  };
}

/** A first poll learns the map: over a serial line, on a machine that is busy elsewhere, that may take longer than an interval. */
const FIRST_WITHIN_MS = 5 * INTERVAL_MS;

/** Reads the points for so many intervals from the first poll that was answered. */
export async function readFor(
  intervals: number,
  address: ModbusAddress,
  points: readonly ModbusPoint[],
): Promise<Account> {
  const profile = identifiedProfile(points);
  const expected = new Map(profile.tags.map(({ name, point: { address: at } }) => [name, pattern(3, at)]));
  const watch = createPollWatch(profile);
  const way = modbusLinks(() => ({ mono: performance.now(), wall: Date.now() }))(address, profile);
  // The first poll is due at once, and nobody says so.
  let wrong = 0;
  let late_ms = 0;
  let due_at = performance.now();
  /** Polls that were answered: who connects anew polls again at once, which makes no more of them due. */
  const polls: { readonly due_at: number; came: number }[] = [];
  const link = runLink(
    {
      groups: profile.groups,
      identity_group: IDENTITY,
      makeDriver: way.makeDriver,
      settle_ms: way.settle_ms,
      watch: { ...watch, began: (ms) => void ([late_ms, due_at] = [ms, performance.now() - ms]) },
      intake: {
        answered: (read) => {
          const all = [...read.values()].flat().filter(({ quality }) => quality === "good");
          wrong += all.filter(({ tag, value }) => value !== expected.get(tag)).length;
          const came = all.filter(({ tag }) => !read.get(IDENTITY)?.some((sample) => sample.tag === tag));
          if (read.size === 1 && read.has(IDENTITY)) return null;
          const values = late_ms <= INTERVAL_MS ? came.length : 0;
          const last = polls.at(-1);
          if (last === undefined || due_at - last.due_at >= INTERVAL_MS / 2) polls.push({ due_at, came: values });
          else last.came = Math.max(last.came, values);
          late_ms = 0;
          return null;
        },
        unanswered: () => undefined,
      },
    },
    { clock: systemClock, probe_ms: way.probe_ms, seed: 1 },
  );
  await until(() => polls.length > 0, "the first poll is answered", FIRST_WITHIN_MS).catch(() => undefined);
  await delay(intervals * INTERVAL_MS);
  await link.stop();
  const end = (polls[0]?.due_at ?? NaN) + (intervals - 0.5) * INTERVAL_MS;
  const good = polls.filter((poll) => poll.due_at < end).reduce((sum, { came }) => sum + came, 0);
  const { states } = link;
  const told = states.map((one) => (one.kind === "up" ? one.kind : `${one.kind}: ${render(one.reason)}`));
  const due = intervals * points.length;
  return {
    due,
    good,
    wrong,
    changes: Math.max(0, states.length - 1),
    states: told,
    requests: watch.counts().requests,
  };
}
