import { createScrubber } from "../../src/scrubber.ts";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { OutputConfig } from "../../src/config/port.ts";
import type { Clock } from "../../src/domain/machine.ts";
import { KIND } from "../../src/domain/record.ts";
import { openOutputs } from "../../src/outputs/outputs.ts";
import type { BrokerSession, ConnectBroker, OutputBooth, Outputs } from "../../src/outputs/port.ts";
import { keyOf } from "../simulation/laws/told.ts";
import { plantBroker, type PlantBroker } from "../simulation/outputs/broker.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { START } from "../support/active-site.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { ownRecords } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { type Life, virtualSite, type VirtualSite } from "../support/virtual-site.ts";

export const URL = "mqtt://127.0.0.1:1883";
/** Shortly before the plant starts: with it, an output sends the log from its first record on. */
const BEFORE_START = new Date(START - MINUTE_MS).toISOString();
const SHARED = { name: "plant", url: URL, mqtt_version: "v5", max_records_per_s: 2_000 } as const;

/** An output in plain MQTT that sends the whole log. */
export const PLAIN: OutputConfig = {
  ...SHARED,
  since: BEFORE_START,
  mqtt: {
    topics: {
      tag: "booths/{booth}/tags/{tag}",
      figure: "booths/{booth}/figures/{figure}",
      status: "booths/{gateway}/status",
    },
    payload: "json",
    retain: true,
    history: true,
  },
};

/** An output in Sparkplug that sends the whole log. */
export function sparkplugOutput(more: Partial<NonNullable<OutputConfig["sparkplug"]>> = {}): OutputConfig {
  return { ...SHARED, since: BEFORE_START, sparkplug: { group_id: "plant", ...more } };
}

/** A gateway with one output under virtual time. */
export interface VirtualPlant {
  readonly site: VirtualSite;
  readonly folder: string;
  /** Brokers, one for each URL. */
  readonly brokers: readonly PlantBroker[];
  readonly broker: PlantBroker;
  /** The outputs of the process that was started last. */
  readonly outputs: () => Outputs;
  /** The booths as the outputs get them. */
  readonly booths: () => readonly OutputBooth[];
}

/** `runtime_dir`: the folder of the cursors; default: the site's. `session`: wraps the output's session. */
export function virtualPlant(
  config: OutputConfig,
  {
    urls = [URL],
    runtime_dir,
    session = (one) => one,
  }: {
    readonly urls?: readonly string[];
    readonly runtime_dir?: string;
    readonly session?: (session: BrokerSession) => BrokerSession;
  } = {},
): VirtualPlant {
  const folder = temporaryFolder();
  const opened: Outputs[] = [];
  const brokers: PlantBroker[] = [];
  let given: readonly OutputBooth[] = [];
  const connectorOf =
    (clock: Clock, life: Life): ConnectBroker =>
    async (of, opening) => {
      const broker = brokers[urls.indexOf(of.url)];
      if (broker === undefined) throw new Error(`no broker at ${of.url}`);
      return session(await broker.connector(0, clock, { life, watch: () => undefined })(of, opening));
    };
  const site = virtualSite({
    folder,
    scenario: "busy-day",
    start: START,
    given: (parts, life) => {
      const { clock, log, store, identity, version } = parts;
      const machine = {
        clock,
        log,
        store,
        identity,
        version,
        gateway_id: "gw-1",
        random: seededRandom(1),
        secret: () => "",
        scrubber: createScrubber(),
        metrics: () => Promise.resolve([]),
        connect: connectorOf(clock, life),
        cursor_file: join(runtime_dir ?? folder, "outputs.json"),
      };
      const outputs: NonNullable<typeof parts.outputs> = async (booths) => {
        const all = await openOutputs(machine, [config], booths);
        opened.push(all);
        given = booths;
        return all;
      };
      return { ...parts, outputs };
    },
  });
  onTestFinished(() => site.close());
  const broker = plantBroker(site.clock);
  brokers.push(broker, ...urls.slice(1).map(() => plantBroker(site.clock)));
  return {
    site,
    folder,
    brokers,
    broker,
    booths: () => given,
    outputs() {
      const last = opened.at(-1);
      if (last === undefined) throw new Error("no outputs are open");
      return last;
    },
  };
}

/** Returns the readings of the log before that time, as keys of `laws/told.ts`. */
export function keysRead(folder: string, until: number): readonly string[] {
  return ownRecords(folder).records.flatMap((record) => {
    if (record.kind !== KIND.reading || record.time >= until) return [];
    const { tag, time, value } = record;
    return [keyOf({ tag, time, value: JSON.stringify(value) })];
  });
}
