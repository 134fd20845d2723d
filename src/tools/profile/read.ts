import { say } from "../../domain/sentences.ts";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { tappedRead } from "../../acquisition/modbus/tool-line.ts";
import { decodePoint } from "../../acquisition/rules/decode.ts";
import type { Driver, PlcTools } from "../../acquisition/port.ts";
import type { BoothConfig, BoothLink } from "../../config/port.ts";
import { parseAddress } from "../../config/profile-address.ts";
import { plcAddress } from "../../domain/plc-address.ts";
import {
  isBitTable,
  LAST_ADDRESS,
  MODBUS_TABLES,
  type ModbusProfile,
  type ModbusQuirks,
  type ModbusTable,
  type ModbusTag,
  pointWidth,
  type Profile,
  type ProfileTag,
  tagsOfGroup,
} from "../../domain/profile.ts";
import type { Sample } from "../../domain/taken.ts";
import type { TraceLine } from "../../domain/trace.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { CommandError, EXIT, type Io } from "../command.ts";
import { type Draft, type TagEntry, variablesOf } from "./file.ts";
import { unreachable } from "../plc-tools.ts";
import type { Poll } from "../rules/profile-test.ts";
import { barText } from "../texts.ts";

/** The way to a device that a profile is made for. */
interface DeviceLink {
  readonly booth: BoothLink & Pick<BoothConfig, "poll">;
  /** Where an OPC UA client's own certificate is; Modbus has none. */
  readonly data_dir?: string;
}

interface Reading {
  readonly tools: PlcTools;
  readonly link: DeviceLink;
  readonly io: Pick<Io, "signal" | "progress">;
}

/** A driver as the agent would make it. It only reads. Rejects with a CommandError where the device doesn't answer. */
export async function withDriver<T>(
  { tools, link, io }: Reading,
  profile: Profile,
  act: (driver: Driver) => Promise<T>,
): Promise<T> {
  const driver = tools.driver(link.booth, profile, { config: { data_dir: link.data_dir ?? tmpdir() } });
  try {
    await driver.open(io.signal);
    return await act(driver);
  } catch (error) {
    throw io.signal.aborted ? io.signal.reason : unreachable(error, plcAddress(link.booth));
  } finally {
    io.progress("");
    await driver.close();
  }
}

/** Reads all groups at their intervals for so long, each twice at least. */
export async function pollLive(reading: Reading, profile: Profile, for_ms: Milliseconds): Promise<readonly Poll[]> {
  const { tools, io } = reading;
  const groups = Object.entries(profile.groups).filter(([group]) => tagsOfGroup<ProfileTag>(profile, group).length > 0);
  return withDriver(reading, profile, async (driver) => {
    const polls: Poll[] = [];
    const began = tools.mono();
    const due = new Map(groups.map(([group]) => [group, began]));
    const readAll = async (which: (group: string) => boolean): Promise<void> => {
      const chosen = groups.filter(([name]) => which(name));
      if (chosen.length === 0) return; // a sleep may end a little early
      const at_ms = Math.round(tools.mono() - began);
      const samples = await driver.read(chosen.map(([name]) => name));
      polls.push({ at_ms, samples: [...samples.values()].flat() });
      for (const [group, { poll_interval_ms }] of chosen) due.set(group, tools.mono() + poll_interval_ms);
    };
    await readAll(() => true);
    for (;;) {
      const next = Math.min(...due.values());
      if (next >= began + for_ms) break;
      io.progress(barText((tools.mono() - began) / for_ms));
      await tools.sleep(Math.max(0, next - tools.mono()), io.signal);
      await readAll((group) => (due.get(group) ?? 0) <= tools.mono());
    }
    await tools.sleep(Math.max(0, began + for_ms - tools.mono()), io.signal);
    await readAll(() => true);
    return polls;
  });
}

/** What a recorded session makes of the profile's tags: each is decoded whenever all of its registers are known. Throws a CommandError. */
export function pollTrace(file: string, profile: ModbusProfile): readonly Poll[] {
  const words = new Map<string, number>();
  const polls: Poll[] = [];
  for (const [index, line] of traceLines(file).entries()) {
    if (line.kind !== "answer") continue;
    const read = tappedRead(Buffer.from(line.request, "hex"), Buffer.from(line.answer, "hex"));
    if (read?.words === undefined || read.words === null) continue;
    if (read.words.length !== read.count) throw new CommandError(`${file}:${index + 1}: the answer is cut short`);
    for (const [i, word] of read.words.entries()) words.set(`${read.table} ${read.address + i}`, word);
    const touched = profile.tags.filter(({ point }) => point.table === read.table && overlaps(point, read));
    polls.push({ at_ms: line.at_ms, samples: touched.flatMap((tag) => sampleIn(words, tag, profile)) });
  }
  return polls;
}

function overlaps(point: ModbusTag["point"], read: { readonly address: number; readonly count: number }): boolean {
  return point.address < read.address + read.count && point.address + pointWidth(point) > read.address;
}

function sampleIn(known: ReadonlyMap<string, number>, { name, point }: ModbusTag, { quirks }: ModbusProfile): Sample[] {
  const words = Array.from({ length: pointWidth(point) }, (_, i) => known.get(`${point.table} ${point.address + i}`));
  if (!words.every((word) => word !== undefined)) return [];
  const decoded = decodePoint(point, quirks, { words, index: 0 });
  if (decoded.quality === "good") return [{ tag: name, value: decoded.value, quality: "good" }];
  return [{ tag: name, value: null, quality: "bad", reason: decoded.reason }];
}

/** What stands in each line isn't checked beyond its kind: bytes that are no read are passed over. */
function traceLines(file: string): readonly TraceLine[] {
  const lines = textIn(file).split("\n");
  return lines.flatMap((line, index): TraceLine[] => {
    if (line.trim() === "") return [];
    try {
      const parsed = JSON.parse(line) as TraceLine;
      if (index > 0 || (parsed.kind === "header" && (parsed.format as string) === "booth-plc-trace")) return [parsed];
    } catch (cause) {
      throw new CommandError(`${file}:${index + 1}: the line isn't JSON`, EXIT.usage, cause);
    }
    throw new CommandError(`${file}:1: no trace of "booth-gateway record"`, EXIT.usage);
  });
}

function textIn(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new CommandError(`${file} can't be read: ${(cause as Error).message}`, EXIT.usage, cause);
  }
}

/** Addresses of a table, first and last. */
export interface Range {
  readonly table: ModbusTable;
  readonly first: number;
  readonly last: number;
}

/** More than any booth's program uses; at 100 registers a request still some seconds a look. */
const MOST_PLACES = 8_000;
/** Of each table where nobody says more. */
const USUAL_LAST = 499;

/** What --range says: TABLE:FIRST-LAST with commas between. Throws a CommandError. */
export function rangesIn(text: string): readonly Range[] {
  const ranges = text.split(",").map((one) => {
    const [, first = "", last = ""] = /^\s*([a-z]+:\w+)-(\w+)\s*$/i.exec(one) ?? [];
    const from = parseAddress(first);
    const to = Number(last);
    if ("table" in from && to >= from.address && to <= LAST_ADDRESS)
      return { table: from.table, first: from.address, last: to };
    throw new CommandError(say("workshop.not_range", { text: one.trim() }), EXIT.usage);
  });
  return bounded(ranges);
}

/** What the device serves, as far as its profile tells: all between its holes, else the first addresses of each table. */
export function rangesOf({ holes, tables = MODBUS_TABLES }: ModbusQuirks): readonly Range[] {
  const ranges = tables.flatMap((table): Range[] => {
    const known = (holes[table] ?? []).filter(([first, last]) => last >= first).toSorted((a, b) => a[0] - b[0]);
    if (known.length === 0) return [{ table, first: 0, last: USUAL_LAST }];
    const starts = [0, ...known.map(([, last]) => last + 1)];
    const ends = [...known.map(([first]) => first - 1), LAST_ADDRESS];
    return starts
      .map((first, i) => ({ table, first, last: ends[i] ?? first }))
      .filter(({ first, last }) => first <= last);
  });
  return bounded(ranges);
}

function bounded(ranges: readonly Range[]): readonly Range[] {
  const places = ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  if (places <= MOST_PLACES) return ranges;
  throw new CommandError(say("workshop.too_many_places", { places, most: MOST_PLACES }), EXIT.usage);
}

/** What all places read, by table:address; those that don't answer are missing. */
export type Look = ReadonlyMap<string, number>;

/** Looks in which the driver finds out which places answer: each splits what is refused further. */
const WARM_UP_LOOKS = 3;
const GROUP = "all";

/** Lets `act` look at every register and bit of the ranges, as often as it likes. */
export function scanning<T>(
  reading: Reading,
  { quirks, ranges }: { readonly quirks: ModbusQuirks; readonly ranges: readonly Range[] },
  act: (look: () => Promise<Look>) => Promise<T>,
): Promise<T> {
  const tags = ranges.flatMap(({ table, first, last }) =>
    Array.from({ length: last - first + 1 }, (_, i) => placeTag(table, first + i)),
  );
  return withDriver(reading, scanProfile(quirks, tags), async (driver) => {
    const look = async (): Promise<Look> => looked((await driver.read([GROUP])).get(GROUP) ?? []);
    for (let i = 0; i < WARM_UP_LOOKS; i++) {
      reading.io.progress(say("workshop.finding_out", { count: tags.length }));
      await look();
    }
    return act(look);
  });
}

/** Lets `act` look at the variables of an OPC UA draft: what they hold is known there without a scan. */
export function lookingAtTags<T>(
  reading: Reading,
  draft: Pick<Draft, "text" | "path">,
  act: (look: () => Promise<Look>) => Promise<T>,
): Promise<T> {
  const profile = variablesOf(draft);
  return withDriver(reading, profile, (driver) =>
    act(async () => {
      const groups = Object.keys(profile.groups).filter((group) => tagsOfGroup<ProfileTag>(profile, group).length > 0);
      return looked([...(await driver.read(groups)).values()].flat());
    }),
  );
}

/** Where a draft's tag stands, as a look has it. */
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

function scanProfile(quirks: ModbusQuirks, tags: readonly ModbusTag[]): ModbusProfile {
  return {
    name: "scan",
    version: "",
    protocol: "modbus",
    kind: "device",
    vendor: "",
    document: "",
    quirks,
    groups: { [GROUP]: { poll_interval_ms: 1000 } },
    modes: {},
    mode_sets: { in_use: [], run: [], runtime: [] },
    filters: {},
    tags,
  };
}

/** Numbers, and bits as 0 and 1. */
export function looked(samples: readonly Sample[]): Look {
  return new Map(
    samples.flatMap(({ tag, value, quality }) => {
      const isNumber = typeof value === "number" || typeof value === "boolean";
      return quality === "bad" || !isNumber ? [] : [[tag, Number(value)] as const];
    }),
  );
}
