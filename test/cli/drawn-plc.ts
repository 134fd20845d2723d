import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import type { SimClock } from "../../simulators/clock.ts";
import { bayQuantityOf, type Quantity } from "../../simulators/plc/quantities.ts";
import { modeCoder } from "../../simulators/plc/registers.ts";
import { type Beat, STANDARD_CYCLE } from "../../simulators/plc/model/scenario.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc, type PlcOptions, type RunningPlc } from "../../simulators/plc/start.ts";
import type { ProfileMode } from "../../src/domain/booth.ts";
import {
  type ModbusPoint,
  type ModbusProfile,
  type ModbusTag,
  pointWidth,
  type Profile,
} from "../../src/domain/profile.ts";
import { driverTools } from "../../src/acquisition/tool-drivers.ts";
import type { PlcTools } from "../../src/acquisition/port.ts";
import { profileCommand } from "../../src/tools/profile/profile.ts";
import type { Io } from "../../src/tools/command.ts";
import { clickBooth } from "../support/profiles.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { say, type Said } from "./say.ts";

/** The modes that the drawn booth runs through. */
export const DRAWN_MODES = ["idle", "spray", "flash", "purge", "bake"] as const satisfies readonly ProfileMode[];

type Random = () => number;

/** Draws an integer from 0 up to, without, `below`. */
function upTo(random: Random, below: number): number {
  return Math.floor(random() * below);
}

/** Draws a register map that no shipped profile fits: 25 tags of the usual booth with random addresses, types, scales and orders. */
export function drawnProfile(seed: number): ModbusProfile {
  const drawing = seededRandom(seed);
  const random = (): number => drawing.next();
  const usual = clickBooth();
  const left = ["intake_minutes", "intake_reset", "pre_reset", "fault_code"];
  const tags = usual.tags.filter(({ name }) => !left.includes(name));
  const codes = [...Array(60).keys()].map((code) => ({ code, at: random() })).toSorted((a, b) => a.at - b.at);
  const modes: ProfileMode[] = [...DRAWN_MODES, "off", "prep", "cool_down", "setback"];
  const next = {
    holding: upTo(random, 200),
    input: upTo(random, 100),
    coil: upTo(random, 60),
    discrete: upTo(random, 60),
  };
  const drawn = tags.map((tag): ModbusTag => {
    const made = drawnPoint(tag, random);
    const address = next[made.table];
    const point = { ...made, address };
    next[made.table] += pointWidth(point) + upTo(random, 4);
    const counter = tag.counter === undefined ? {} : { counter: { step: point.scale, retained: true } };
    return { ...tag, ...counter, point };
  });
  return {
    ...usual,
    name: "drawn",
    modes: Object.fromEntries(modes.map((mode, i) => [String(codes[i]?.code ?? i), mode])),
    quirks: { ...usual.quirks, word_order: "high_first", string_order: "high_first", holes: {}, max_registers: 60 },
    tags: drawn,
  };
}

function drawnPoint(tag: ModbusTag, random: Random): Omit<ModbusPoint, "address"> {
  const { type } = tag.point;
  const table = random() < 0.7 ? "holding" : "input";
  const plain = { table, scale: 1, offset: 0, sentinels: [] } as const;
  const order = random() < 0.5 ? "low_first" : "high_first";
  if (tag.role === "mode") return { ...plain, type: "uint16" };
  if (type === "bool") return { ...plain, table: random() < 0.5 ? "coil" : "discrete", type };
  if (type === "string") return { ...plain, type, length: tag.point.length ?? 4, string_order: order };
  if (type === "float32" && random() < 0.6) return { ...plain, type, word_order: order };
  if (type === "float32") return { ...plain, type: "int16", scale: 0.1 };
  return { ...plain, type: "uint32", scale: tag.point.scale, word_order: order };
}

const FIRST_NUMBERS = { coil: 1, discrete: 100_001, input: 300_001, holding: 400_001 };

/** Returns the rows of a register list as an office writes it, with the heads first. */
export function listRows({
  tags,
  modes,
}: Pick<ModbusProfile, "tags" | "modes">): readonly (readonly (string | number)[])[] {
  const values = Object.entries(modes).map(([code, mode]) => `${code}=${mode}`);
  const rows = tags.map(({ name, point, role, unit }) => [
    name.replaceAll("_", " ").toUpperCase(),
    FIRST_NUMBERS[point.table] + point.address,
    { coil: "FC01", discrete: "FC02", holding: "FC03", input: "FC04" }[point.table],
    { float32: "REAL", uint32: "UDINT", int16: "INT", uint16: "WORD", bool: "BOOL" }[point.type as string] ??
      `STRING[${2 * (point.length ?? 0)}]`,
    point.word_order === "low_first" ? "CDAB" : "ABCD",
    point.string_order ?? "",
    point.scale,
    unit,
    role === "mode" ? values.join(" | ") : "",
  ]);
  return [["Tag", "Address", "FC", "Type", "Word order", "String order", "Scale", "Unit", "Codes"], ...rows];
}

/** Simulated time that a test may stop or speed up. */
export interface PacedClock extends SimClock {
  pace(speed: number): void;
}

export function pacedClock(start: number): PacedClock {
  let speed = 0;
  let base = start;
  let since = performance.now();
  const wall = (): number => base + (performance.now() - since) * speed;
  return {
    boot: "test",
    wall,
    mono: () => wall() - start,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, ms / Math.max(speed, 1));
        signal?.addEventListener("abort", () => {
          clearTimeout(timer);
          reject(signal.reason as Error);
        });
      }),
    pace: (next) => {
      [base, since] = [wall(), performance.now()];
      speed = next;
    },
  };
}

const START = Date.UTC(2026, 2, 3, 16);
/** Half an hour in which the test sets the booth's mode, then a cycle. */
const LATE_CYCLE: readonly Beat[] = [
  { at: 0, shift_s: 0, steps: [{ mode: "idle" }] },
  { at: 30, shift_s: 0, steps: [...STANDARD_CYCLE, { mode: "idle" }] },
];

export interface Workshop {
  readonly plc: RunningPlc;
  readonly profile: ModbusProfile;
  readonly clock: PacedClock;
  readonly configFile: string;
  /** The profile in the making. */
  readonly file: string;
  /** Returns a tag's value as the machine's display shows it, rounded. */
  readonly shows: (tag: string) => string;
  readonly set: (mode: ProfileMode) => void;
  /** `booth-gateway profile` at this PLC. */
  readonly run: (words: string, io?: Partial<Io>) => Promise<Said>;
}

/** Starts an unknown PLC and the profile workshop for it, without an agent or a configuration. */
export async function workshopAt(profile: ModbusProfile, more: Partial<PlcOptions> = {}): Promise<Workshop> {
  const standard = findScenario("standard-cycle");
  if (standard === undefined) throw new Error("the scenario");
  const scenario = { ...standard, beats: LATE_CYCLE };
  const clock = pacedClock(START);
  const plc = await startPlc({ profile, scenario, seed: 1, clock, port: 0, start: START, ...more });
  onTestFinished(() => plc.stop());
  const configFile = join(temporaryFolder(), "gateway.yaml");
  const tools: PlcTools = {
    ...driverTools({ wall: () => clock.wall(), log: silentLog }),
    // Real pauses between requests would take hours of simulated time.
    paced: () => tools,
    mono: () => clock.mono(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  const runs = { profile: profileCommand(tools) };
  const quantity = (tag: ModbusTag): Quantity =>
    bayQuantityOf(plc.booth, tag, { state: plc.booth.stateAt(clock.wall()), code: modeCoder(profile) }) ?? 0;
  return {
    plc,
    profile,
    clock,
    configFile,
    file: join(dirname(configFile), "profiles", "unknown.yaml"),
    shows: (name) => {
      const tag = profile.tags.find((one) => one.name === name);
      return tag === undefined ? "" : displayed(tag, quantity(tag));
    },
    set: (mode) => plc.booth.inject({ kind: "mode", mode, phase: null, fault_code: 0 }, clock.wall()),
    run: (words, io = {}) => {
      const argv = ["profile", ...words.split(" "), "--config", configFile];
      const needsPlc = !["new", "import", "export"].includes(argv[1] ?? "") && !words.includes("--trace");
      const host = needsPlc ? ["--host", "127.0.0.1", "--port", String(plc.port)] : [];
      return say([...argv, ...host], { runs, io });
    },
  };
}

/** Rounds a value: counters to whole steps, measured values to one decimal. */
function displayed(tag: ModbusTag, value: Quantity): string {
  if (typeof value === "boolean" || tag.point.type === "bool") return value === true ? "on" : "off";
  if (typeof value === "string") return value;
  const step = tag.counter?.step ?? (tag.role === "uptime" ? 1 : 0.1);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const steps =
    tag.counter === undefined && tag.role !== "uptime" ? Math.round(value / step) : Math.floor(value / step + 1e-6);
  return tag.role === "mode" ? String(value) : (steps * step).toFixed(digits);
}

/** Reads all tags of a profile from the PLC. */
export async function readBy(profile: Profile, site: Workshop): Promise<Record<string, unknown>> {
  const tools = driverTools({ wall: () => site.clock.wall(), log: silentLog });
  const way = { modbus: { host: "127.0.0.1", port: site.plc.port }, poll: {} };
  const driver = tools.driver(way, profile, { config: { data_dir: "" } });
  await driver.open(new AbortController().signal);
  const values: Record<string, unknown> = {};
  const samples = await driver.read(Object.keys(profile.groups));
  for (const { tag, value } of [...samples.values()].flat()) values[tag] = value;
  await driver.close();
  return values;
}
