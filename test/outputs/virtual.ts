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
import { START } from "../support/active-site.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { ownRecords } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { type Life, virtualSite, type VirtualSite } from "../support/virtual-site.ts";

/** A gateway under virtual time with one output. */
export interface VirtualPlant {
  readonly site: VirtualSite;
  readonly folder: string;
  /** By URL, in the order in which the configuration has them. */
  readonly brokers: readonly PlantBroker[];
  /** Of the process that was started last. */
  readonly outputs: () => Outputs;
  /** What its outputs are given. */
  readonly booths: () => readonly OutputBooth[];
}

/** `runtime_dir`: where its cursors stand; default: its folder. `session`: what the output gets as its session. */
export function virtualPlant(
  config: OutputConfig,
  urls: readonly string[],
  {
    runtime_dir,
    session = (one) => one,
  }: { readonly runtime_dir?: string; readonly session?: (session: BrokerSession) => BrokerSession } = {},
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
  brokers.push(...urls.map(() => plantBroker(site.clock)));
  return {
    site,
    folder,
    brokers,
    booths: () => given,
    outputs() {
      const last = opened.at(-1);
      if (last === undefined) throw new Error("no outputs are open");
      return last;
    },
  };
}

/** Readings of the log up to that time, as an output tells them. */
export function keysRead(folder: string, until: number): readonly string[] {
  return ownRecords(folder).records.flatMap((record) => {
    if (record.kind !== KIND.reading || record.time >= until) return [];
    const { tag, time, value } = record;
    return [keyOf({ tag, time, value: JSON.stringify(value) })];
  });
}
