import { render } from "../../../src/domain/messages/render.ts";
import { waitingForClock } from "../../../src/domain/booth-state.ts";
import { createScrubber } from "../../../src/scrubber.ts";
import { join } from "node:path";
import { createRequire } from "node:module";
import type { OutputConfig } from "../../../src/config/port.ts";
import type { Logger } from "../../../src/domain/machine.ts";
import { KIND } from "../../../src/domain/record.ts";
import { openOutputs } from "../../../src/outputs/outputs.ts";
import type { DurationsToday, OutputBooth, OutputMachine } from "../../../src/outputs/port.ts";
// Loaded by the first output that speaks it: while that takes its real time, the first story of a process would go another way than its repetition.
import "../../../src/outputs/sparkplug.ts";
import { type Figure, figuresOf } from "../../../src/outputs/rules/figures.ts";
import { durationsToday } from "../../../src/reports/summary.ts";
import type { AgentSetup } from "../../../src/runtime/gateway.ts";
import type { VirtualClock } from "../../../simulators/virtual/clock.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import type { Bug } from "../bug.ts";
import type { DiskFault } from "../disk.ts";
import { type Around, through } from "../ports.ts";
import type { StoryOutput } from "../story.ts";
import { type PlantBroker, plantBroker } from "./broker.ts";

/** The outputs' brokers, and everything seen of the outputs from outside. */

/** A codec by another author, for the host's messages. */
export const CODEC = (createRequire(import.meta.url)("sparkplug-payload") as { get(name: string): Codec }).get(
  "spBv1.0",
);
interface Codec {
  encodePayload(payload: object): Uint8Array;
  decodePayload(bytes: Uint8Array): HostPayload;
}
export interface HostPayload {
  readonly timestamp?: unknown;
  readonly seq?: unknown;
  readonly metrics: readonly HostMetric[];
}
export interface HostMetric {
  readonly name?: string;
  readonly alias?: unknown;
  readonly type: string;
  readonly timestamp: unknown;
  readonly value: unknown;
  readonly isHistorical?: boolean;
}

export const GROUP = "plant";
export const HOST = "scada";

/** An output as it was at an instant of true time. */
export interface OutputLook {
  readonly at: number;
  /** True instant since when nothing has been in its way: broker, line, host, agent, PLC. */
  readonly well_since: number;
}

/** An output with its broker and host. */
export interface Side {
  readonly output: StoryOutput;
  readonly broker: PlantBroker;
  /** The primary host runs. */
  is_host_online: boolean;
  /** Absent from the gateway's configuration for now. */
  is_absent: boolean;
  /** Home Assistant isn't told any more. */
  is_without_discovery: boolean;
  /** True instants at which it was put back. */
  readonly put_back: number[];
  /** The states of the output at regular instants. */
  readonly looks: OutputLook[];
}

/** A reading as an output got it from the store: seq, tag, corrected time then, value. */
export interface Given {
  readonly stream: string;
  readonly seq: number;
  readonly tag: string;
  readonly time: number;
  readonly value: string;
  readonly boot: string;
  readonly mono: number;
}

/** Everything seen of one gateway's outputs. */
export interface Seen {
  readonly box: number;
  readonly given: Map<string, Given>;
  /** True instants at which its memory went. */
  readonly cuts: number[];
  /** Ranges that the log reports as skipped, with the true instant. */
  readonly passed: { readonly at: number; readonly output: string; readonly from: number; readonly to: number }[];
  /** Figures as the agent has them now; null: none runs. */
  now: () => readonly Figure[] | null;
  /**
   * Figures when the agent was stopped at last (`stopped`), and a minute earlier, the longest that a slowly growing
   * figure may wait (`before`).
   */
  stopped: readonly Figure[];
  before: readonly Figure[];
}

export interface Plant {
  readonly sides: readonly Side[];
  readonly seen: Seen[];
}

export function openPlant(outputs: readonly StoryOutput[], clock: VirtualClock): Plant {
  const sides = outputs.map((output): Side => {
    const broker = plantBroker(clock);
    return {
      output,
      broker,
      is_host_online: true,
      is_absent: false,
      is_without_discovery: false,
      put_back: [],
      looks: [],
    };
  });
  for (const side of sides) sayHost(side, clock);
  return { sides, seen: [] };
}

/** Its host says of itself how it is. */
export function sayHost(
  { output, broker, is_host_online }: Side,
  clock: VirtualClock,
  change: (state: string) => string = (state) => state,
): void {
  if (output.kind !== "sparkplug" || !output.has_host) return;
  const said = change(JSON.stringify({ online: is_host_online, timestamp: clock.truth() }));
  broker.publish(`spBv1.0/STATE/${HOST}`, said, true);
}

export function sawBox(plant: Plant): Seen {
  const seen: Seen = {
    box: plant.seen.length,
    given: new Map(),
    cuts: [],
    passed: [],
    now: () => null,
    stopped: [],
    before: [],
  };
  plant.seen.push(seen);
  return seen;
}

/** Slower than this nothing is promised of a line. */
const SLOW_MS = 500;

/** Notes how each output is. `isWell`: nothing is wrong with agent, PLC and disk. */
export function lookAtOutputs({ sides }: Plant, now: number, isWell: boolean): void {
  for (const { output, broker, is_absent, is_host_online, looks } of sides) {
    const isHostThere = !output.has_host || output.kind !== "sparkplug" || is_host_online;
    const isOpen = broker.way() === "open" && broker.latency_ms < SLOW_MS && broker.cut_after === null;
    const isSound = isWell && isOpen && isHostThere && !is_absent && !broker.closes_after_confirmation;
    looks.push({ at: now, well_since: isSound ? Math.min(looks.at(-1)?.well_since ?? now, now) : Infinity });
  }
}

/** As configured at this moment. */
export function configOf({ output, is_without_discovery }: Side): OutputConfig {
  const { name, since, payload, history } = output;
  const shared = {
    ...({ name, url: "mqtt://127.0.0.1:1883", mqtt_version: "v5", max_records_per_s: 2_000 } as const),
    ...(since === null ? {} : { since }),
  };
  if (output.kind === "sparkplug")
    return {
      ...shared,
      sparkplug: { group_id: GROUP, ...(output.has_host ? { primary_host_id: HOST } : {}) },
    };
  const topics = {
    tag: "booths/{booth}/tags/{tag}",
    figure: "booths/{booth}/figures/{figure}",
    status: "booths/{gateway}/status",
  };
  const isAnnounced = output.kind === "home_assistant" && !is_without_discovery;
  return {
    ...shared,
    mqtt: {
      topics,
      payload,
      retain: true,
      history,
      ...(isAnnounced ? { home_assistant: { prefix: "homeassistant" } } : {}),
    },
  };
}

/** Durations of today so old at most: each asking copies the whole state. */
const DURATIONS_MS = 10 * 60_000;

/**
 * The surroundings of a process's outputs. `seed`: outputs draw their own random numbers, so that nothing else
 * depends on them.
 */
export interface Ports {
  readonly around: Around;
  readonly folder: string;
  readonly seed: number;
  readonly bug: Bug | null;
  readonly disk: () => DiskFault | null;
  /** True time. */
  readonly now: () => number;
}

/** Agents of that gateway have the plant's outputs. */
export function outputsOf(
  parts: AgentSetup,
  { plant, seen }: { readonly plant: Plant; readonly seen: Seen },
  ports: Ports,
): Pick<AgentSetup, "outputs"> {
  const { around, folder, seed, bug, disk, now } = ports;
  const sides = plant.sides.filter(({ is_absent }) => !is_absent);
  if (sides.length === 0) return {};
  const brokers = new Map(sides.map((side) => [side.output.name, side.broker]));
  const unseen: Around = { ...around, watch: () => undefined };
  return {
    async outputs(booths) {
      const { gateway_id } = await parts.identity.gateway();
      const machine: OutputMachine = {
        clock: parts.clock,
        random: seededRandom(seed),
        log: listening(seen, parts.log, now),
        gateway_id,
        version: parts.version,
        cursor_file: join(folder, "outputs.json"),
        secret: () => "",
        scrubber: createScrubber(),
        metrics: () => Promise.resolve([]), // no output of a story pushes figures
        store: { readCommitted: (...asked) => through(unseen, "read", () => noted(seen, parts, asked)) },
        identity: {
          kept: (name) => through(unseen, "read", () => parts.identity.kept(name)),
          keep: (name, what) =>
            through(unseen, "read", () => {
              const fault = disk();
              if (fault !== null) throw new Error(`the simulated disk: ${fault}`);
              return parts.identity.keep(name, what);
            }),
        },
        connect: (config, opening) => {
          const broker = brokers.get(config.name);
          if (broker === undefined) throw new Error(`no broker for ${config.name}`);
          return broker.connector(seen.box, parts.clock, around)(config, opening);
        },
      };
      // Asked for where no moment of a story is counted: a kill at the fourth read is at the fourth without outputs too.
      const durationsOf = async ({ state: { log } }: OutputBooth): Promise<DurationsToday> =>
        durationsToday(await through(unseen, "read", () => parts.store.state(log.reach.stream)), log.now());
      const told = booths.map((booth) => nowAndThen(booth, durationsOf));
      watchBooth(seen, told, around);
      const planted = bug?.outputs?.({ machine, booths: told }) ?? { machine, booths: told };
      return openOutputs(planted.machine, sides.map(configOf), planted.booths);
    },
  };
}

const PASSED = /^output (\S+): records (\d+) to (\d+) of booth-1 were passed over$/;

function listening({ passed }: Seen, log: Logger, now: () => number): Logger {
  return {
    ...log,
    warn(fields, text) {
      const [, output, from, to] = PASSED.exec(render(text)) ?? [];
      if (output !== undefined) passed.push({ at: now(), output, from: Number(from), to: Number(to) });
      log.warn(fields, text);
    },
  };
}

async function noted(
  { given }: Seen,
  { store }: AgentSetup,
  asked: Parameters<OutputMachine["store"]["readCommitted"]>,
) {
  const records = await store.readCommitted(...asked);
  const [stream] = asked;
  for (const record of records) {
    if (record.kind !== KIND.reading) continue;
    const { seq, tag, time, boot, mono } = record;
    const one = { stream, seq, tag, time, boot, mono, value: JSON.stringify(record.value) };
    given.set(`${stream} ${seq} ${time} ${tag}`, one);
  }
  return records;
}

function nowAndThen(
  booth: OutputBooth,
  durationsOf: (booth: OutputBooth) => Promise<DurationsToday>,
): OutputBooth & { readonly durations: () => DurationsToday } {
  let last: { readonly at: number; readonly durations: DurationsToday } | null = null;
  return {
    ...booth,
    durations: () => last?.durations ?? {},
    async durationsToday() {
      const at = booth.state.log.now();
      if (last === null || Math.abs(at - last.at) >= DURATIONS_MS) last = { at, durations: await durationsOf(booth) };
      return last.durations;
    },
  };
}

function watchBooth(seen: Seen, booths: readonly ReturnType<typeof nowAndThen>[], { life }: Around): void {
  const [booth] = booths;
  seen.now = () =>
    booth === undefined || life.dead
      ? null
      : figuresOf({
          summary: booth.state.log.summary,
          plc: booth.state.link.plc,
          durations: booth.durations(),
          waiting_for_clock: waitingForClock(booth.state.log.reach),
        });
}
