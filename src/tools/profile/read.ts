import { message } from "../../domain/message.ts";
import { tmpdir } from "node:os";
import { tappedRead } from "../../acquisition/modbus/tool-line.ts";
import type { Driver, PlcTools } from "../../acquisition/port.ts";
import { decodePoint } from "../../acquisition/rules/decode.ts";
import type { BoothConfig, BoothLink } from "../../config/port.ts";
import { parseAddress } from "../../config/profile-address.ts";
import { plcAddress } from "../../domain/plc-address.ts";
import {
  isBitTable,
  LAST_ADDRESS,
  type ModbusProfile,
  type ModbusQuirks,
  type ModbusTable,
  type ModbusTag,
  pointWidth,
  type Profile,
} from "../../domain/profile.ts";
import type { Sample } from "../../domain/taken.ts";
import type { TraceLine } from "../../domain/trace.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { type Call, CommandError, EXIT, type Io, type Values } from "../command.ts";
import { textOption } from "../options.ts";
import { deviceAddress, deviceLink, numberOption, polledGroups, unitOption, unreachable } from "../plc-tools.ts";
import type { Poll } from "../rules/profile-test.ts";
import { textLines } from "../texts.ts";
import { type Draft, namedFile, openDraft, protocolOf, quirksOf, type TagEntry, variablesOf } from "./file.ts";
import { type Range, servedRanges } from "./served-ranges.ts";

interface DeviceReading {
  readonly tools: PlcTools;
  readonly link: {
    readonly booth: BoothLink & Pick<BoothConfig, "poll">;
    /** The folder of the client certificate for OPC UA. Not needed for Modbus. */
    readonly data_dir?: string;
  };
  readonly io: Pick<Io, "signal" | "progress">;
}

/** Calls `use` with a driver like the agent's. Rejects with a CommandError if the device does not answer. */
export async function withDriver<T>(
  { tools, link, io }: DeviceReading,
  profile: Profile,
  use: (driver: Driver) => Promise<T>,
): Promise<T> {
  const driver = tools.driver(link.booth, profile, { config: { data_dir: link.data_dir ?? tmpdir() } });
  try {
    await driver.open(io.signal);
    return await use(driver);
  } catch (error) {
    throw unreachable(error, plcAddress(link.booth), io.signal);
  } finally {
    io.progress("");
    await driver.close();
  }
}

/** Reads all groups at their intervals for `for_ms`, each group at least twice. */
export async function pollLive(
  reading: DeviceReading,
  profile: Profile,
  for_ms: Milliseconds,
): Promise<readonly Poll[]> {
  const { tools, io } = reading;
  const groups = polledGroups({ profile });
  return withDriver(reading, profile, async (driver) => {
    const polls: Poll[] = [];
    const began = tools.mono();
    const due = new Map(groups.map(([group]) => [group, began]));
    const read = async (chosen: typeof groups): Promise<void> => {
      if (chosen.length === 0) return; // no group is due yet, because a sleep may end a little early
      const at_ms = Math.round(tools.mono() - began);
      const samples = await driver.read(chosen.map(([name]) => name));
      polls.push({ at_ms, samples: [...samples.values()].flat() });
      for (const [group, { poll_interval_ms }] of chosen) due.set(group, tools.mono() + poll_interval_ms);
    };
    await read(groups);
    for (;;) {
      const next = Math.min(...due.values());
      if (next >= began + for_ms) break;
      io.progress(message("workshop.testing"), (tools.mono() - began) / for_ms);
      await tools.sleep(Math.max(0, next - tools.mono()), io.signal);
      await read(groups.filter(([group]) => (due.get(group) ?? 0) <= tools.mono()));
    }
    await tools.sleep(Math.max(0, began + for_ms - tools.mono()), io.signal);
    await read(groups);
    return polls;
  });
}

/** Decodes the profile's tags from a recorded session. Decodes a tag each time all its registers are known. Throws a CommandError. */
export function pollTrace(file: string, profile: ModbusProfile): readonly Poll[] {
  const words = new Map<string, number>();
  const polls: Poll[] = [];
  for (const [index, line] of traceLines(file).entries()) {
    if (line.kind !== "answer") continue;
    const read = tappedRead(Buffer.from(line.request, "hex"), Buffer.from(line.answer, "hex"));
    if (read?.words === undefined || read.words === null) continue;
    if (read.words.length !== read.count) throw new CommandError(`${file}:${index + 1}: the answer is incomplete`);
    const { table, address: first, count } = read;
    for (const [i, word] of read.words.entries()) words.set(`${table} ${first + i}`, word);
    const touched = profile.tags.filter(({ point }) => {
      const { address } = point;
      return point.table === table && address < first + count && address + pointWidth(point) > first;
    });
    polls.push({ at_ms: line.at_ms, samples: touched.flatMap((tag) => sampleIn(words, tag, profile)) });
  }
  return polls;
}

function sampleIn(known: ReadonlyMap<string, number>, { name, point }: ModbusTag, { quirks }: ModbusProfile): Sample[] {
  const words = Array.from({ length: pointWidth(point) }, (_, i) => known.get(`${point.table} ${point.address + i}`));
  if (!words.every((word) => word !== undefined)) return [];
  const decoded = decodePoint(point, quirks, { words, index: 0 });
  if (decoded.quality === "good") return [{ tag: name, value: decoded.value, quality: "good" }];
  return [{ tag: name, value: null, quality: "bad", reason: decoded.reason }];
}

/** Parses the lines of a recorded session. Checks only the header; lines that aren't reads are skipped later. */
function traceLines(file: string): readonly TraceLine[] {
  const lines = namedFile(file).toString("utf8").split("\n");
  return lines.flatMap((line, index): TraceLine[] => {
    if (line.trim() === "") return [];
    try {
      const parsed = JSON.parse(line) as TraceLine;
      if (index > 0 || (parsed.kind === "header" && (parsed.format as string) === "booth-plc-trace")) return [parsed];
    } catch (cause) {
      throw new CommandError(`${file}:${index + 1}: the line is not JSON`, EXIT.usage, cause);
    }
    throw new CommandError(`${file}:1: not a trace of "booth-gateway record"`, EXIT.usage);
  });
}

/**
 * The maximum number of addresses in a scan, more than any booth's program uses. At 100 registers per request, reading all of them takes
 * some seconds.
 */
const MOST_PLACES = 8_000;
/** Parses the option --range: FIRST-LAST or TABLE:FIRST-LAST, separated by commas. Throws a CommandError. */
export function rangesIn(text: string): readonly Range[] {
  const ranges = text.split(",").map((one) => {
    const [, first = "", last = ""] = /^([^-]+)-([^-]+)$/.exec(one.trim()) ?? [];
    const from = parseAddress(first);
    const end = parseAddress(last);
    // Both ends are numbers as in the manual (40001-40100), or the last end is an address of the named table (holding:0-99).
    const to =
      !first.includes(":") && "table" in end ? end : { table: "table" in from && from.table, address: Number(last) };
    if ("table" in from && to.table === from.table && to.address >= from.address && to.address <= LAST_ADDRESS)
      return { table: from.table, first: from.address, last: to.address };
    throw new CommandError(message("workshop.not_range", { text: one.trim() }), EXIT.usage);
  });
  return bounded(ranges);
}

function bounded(ranges: readonly Range[]): readonly Range[] {
  const places = ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  if (places <= MOST_PLACES) return ranges;
  throw new CommandError(message("workshop.too_many_places", { places, most: MOST_PLACES }), EXIT.usage);
}

/** The values of all addresses by table:address, or of all tags by name. Addresses that don't answer are missing. Bits are 0 and 1. */
export type PlaceValues = ReadonlyMap<string, number>;

/** The maximum number of readings until the driver knows which addresses answer. Each reading splits the refused blocks further. */
const MOST_WARM_UP_READINGS = 8;
const GROUP = "all";

/** The usual number of requests per second. It is low because the PLC has a machine to run. A higher rate must be asked for. */
const USUAL_RATE = 5;
const HIGHEST_RATE = 1_000;

/** Returns the requests per second that learning and browsing may make. Throws a CommandError. */
export function requestRate(values: Values): number {
  return numberOption(values, "rate", { min: 0.1, max: HIGHEST_RATE }) ?? USUAL_RATE;
}

/**
 * Calls `use` with a function that reads every register and bit of the ranges, or all variables of an OPC UA draft (an unfinished profile).
 */
export async function withPlaceReader<T>(
  tools: PlcTools,
  { values, io }: Call,
  use: (readPlaces: () => Promise<PlaceValues>) => Promise<T>,
): Promise<T> {
  const draft = openDraft(values);
  const protocol = protocolOf(draft);
  const rate = requestRate(values);
  const reading = { tools: tools.paced(rate), link: deviceLink(values, protocol), io };
  // Needs no scan for OPC UA, because the draft already has the server's variables.
  const profile =
    protocol === "opcua"
      ? variablesOf(draft)
      : scanProfile(quirksOf(draft), await rangesFor({ tools: reading.tools, values, io }, draft));
  const count = profile.tags.length;
  if (profile.protocol === "modbus") io.err(textLines([message("workshop.reads", { ranges: profile.document, rate })]));
  return withDriver(reading, profile, async (driver) => {
    const groups = polledGroups({ profile }).map(([group]) => group);
    const readPlaces = async (): Promise<PlaceValues> => placeValues([...(await driver.read(groups)).values()].flat());
    let answering = 0;
    for (let i = 0; i < MOST_WARM_UP_READINGS && protocol === "modbus" && answering < count; i++) {
      io.progress(message("workshop.finding_out", { count }), i / MOST_WARM_UP_READINGS);
      const { size } = await readPlaces();
      if (size > 0 && size === answering) break;
      answering = size;
    }
    if (answering === 0 && protocol === "modbus") throw new CommandError(message("workshop.no_ranges"), EXIT.failed);
    return use(readPlaces);
  });
}

/** Returns the key of a draft's tag in `PlaceValues`. */
export function placeOf(entry: TagEntry): string {
  const at = parseAddress(String(entry["address"]));
  return "table" in at ? `${at.table}:${at.address}` : entry.name;
}

function placeTag(table: ModbusTable, address: number): ModbusTag {
  const name = `${table}:${address}`;
  const type = isBitTable(table) ? "bool" : "uint16";
  const meaning = { bay: 0, unit: "", factor: 1, group: GROUP, deadband: 0, heartbeat_ms: 900_000 };
  return { name, label: name, ...meaning, point: { table, address, type, scale: 1, offset: 0, sentinels: [] } };
}

/** Returns the ranges that --range names, else the ranges that the device serves. */
async function rangesFor(
  { tools, values, io }: Pick<Call, "values" | "io"> & { readonly tools: PlcTools },
  draft: Draft,
) {
  const range = textOption(values, "range");
  if (range !== undefined) return rangesIn(range);
  const quirks = quirksOf(draft);
  return servedRanges({ tools, device: deviceAddress(values), unit: unitOption(values) ?? quirks.unit_id, io }, quirks);
}

/** Makes a profile with a tag for each address of the ranges. `document` names the ranges. */
function scanProfile(quirks: ModbusQuirks, ranges: readonly Range[]): ModbusProfile {
  return {
    name: "scan",
    version: "",
    protocol: "modbus",
    kind: "device",
    vendor: "",
    document: ranges.map(({ table, first, last }) => `${table}:${first}-${last}`).join(", "),
    quirks,
    groups: { [GROUP]: { poll_interval_ms: 1000 } },
    modes: {},
    mode_sets: { in_use: [], run: [], runtime: [] },
    filters: {},
    tags: ranges.flatMap(({ table, first, last }) =>
      Array.from({ length: last - first + 1 }, (_, i) => placeTag(table, first + i)),
    ),
  };
}

function placeValues(samples: readonly Sample[]): PlaceValues {
  return new Map(
    samples.flatMap(({ tag, value, quality }) => {
      const isNumber = typeof value === "number" || typeof value === "boolean";
      return quality === "bad" || !isNumber ? [] : [[tag, Number(value)] as const];
    }),
  );
}
