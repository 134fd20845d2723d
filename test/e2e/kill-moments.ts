import { watch } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../src/domain/machine.ts";
import { until } from "../support/eventually.ts";
import { mqttTap, type MqttTap, type TappedPublish } from "./mqtt-tap.ts";
import type { Program } from "../support/processes.ts";
import type { RealSite } from "../support/real-site.ts";

export const MOMENTS = ["starting", "polling", "committing", "delivering"] as const;
export type Moment = (typeof MOMENTS)[number];

/** An agent is up within this; a kill in it strikes while files are opened, the tail replayed, the first commit made. */
const STARTING_MS = 700;
const MOST_REQUESTS = 300;
/** Writes to the write-ahead log: a commit makes several, so some fall inside one. */
const MOST_WRITES = 24;
const MOST_BATCHES = 4;

export interface Killer {
  readonly tap: MqttTap;
  /** Kills the agent with signal 9 at a random instant of that sort; resolves when it has gone. */
  readonly kill: (agent: Program, moment: Moment) => Promise<void>;
}

/** Puts a tap before the site's broker and kills agents at seeded moments. */
export async function killer(site: RealSite, random: Random): Promise<Killer> {
  const upTo = (most: number): number => 1 + Math.floor(random.next() * most);
  let onBatch: () => boolean = () => true;
  const onPublish = ({ topic }: TappedPublish): boolean => (topic.endsWith("/up/batch") ? onBatch() : true);
  const tap = await mqttTap({ target: () => site.service.mqttUrl, onPublish });
  Object.assign(site.service.service, { mqttUrl: () => tap.url });
  const shoot = (agent: Program): void => agent.signal("SIGKILL");

  const strike: Record<Moment, (agent: Program) => Promise<void>> = {
    // The instant itself is what is random here: nothing is waited for.
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
      // Half of them never arrive; of the others the ack comes too late.
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
