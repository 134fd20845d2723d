import { watch } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../src/domain/machine.ts";
import { until } from "../support/eventually.ts";
import { mqttTap, type MqttTap, type TappedPublish } from "./mqtt-tap.ts";
import type { Program } from "../support/processes.ts";
import type { RealSite } from "../support/real-site.ts";

export const MOMENTS = ["starting", "polling", "committing", "delivering"] as const;
export type Moment = (typeof MOMENTS)[number];

/**
 * An agent starts within this time. A kill in it hits the opening of files, the replay of the tail, or the first
 * commit.
 */
const STARTING_MS = 700;
const MOST_REQUESTS = 300;
/**
 * Maximum of writes to the write-ahead log before the kill. A commit makes several, so some kills hit the inside of a
 * commit.
 */
const MOST_WRITES = 24;
const MOST_BATCHES = 4;

export interface Killer {
  readonly tap: MqttTap;
  /** Kills the agent with signal 9 at a random instant of that kind. Resolves when the agent has ended. */
  readonly kill: (agent: Program, moment: Moment) => Promise<void>;
}

/** Puts a tap in front of the site's broker and kills agents at seeded moments. */
export async function killer(site: RealSite, random: Random): Promise<Killer> {
  const upTo = (most: number): number => 1 + Math.floor(random.next() * most);
  let onBatch: () => boolean = () => true;
  const onPublish = ({ topic }: TappedPublish): boolean => (topic.endsWith("/up/batch") ? onBatch() : true);
  const tap = await mqttTap({ target: () => site.service.mqttUrl, onPublish });
  Object.assign(site.service.service, { mqttUrl: () => tap.url });
  const shoot = (agent: Program): void => agent.signal("SIGKILL");

  const strike: Record<Moment, (agent: Program) => Promise<void>> = {
    // The instant is random, so there is no condition to wait for.
    starting: async (agent) => {
      await delay(random.next() * STARTING_MS);
      shoot(agent);
    },
    polling: async (agent) => {
      const { counts } = site.plc;
      const target = counts.requests + upTo(MOST_REQUESTS);
      await until(() => counts.requests >= target, "the PLC is asked");
      shoot(agent);
    },
    committing: async (agent) => {
      let left = upTo(MOST_WRITES);
      const watching = watch(site.dataDir, (_, name) => {
        if (name === "store.db-wal" && --left === 0) shoot(agent);
      });
      await until(() => left <= 0, "the store commits").finally(() => watching.close());
    },
    delivering: async (agent) => {
      let left = upTo(MOST_BATCHES);
      // Half of the batches never arrive. The ack of the others is too late.
      const arrives = random.next() < 0.5;
      onBatch = () => {
        left -= 1;
        if (left === 0) shoot(agent);
        return left > 0 || arrives;
      };
      await until(() => left <= 0, "batches are sent").finally(() => (onBatch = () => true));
    },
  };
  return {
    tap,
    kill: async (agent, moment) => {
      await strike[moment](agent);
      await agent.ended;
    },
  };
}
