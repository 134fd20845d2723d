import {
  MODBUS_TABLES,
  type ModbusPoint,
  type ModbusProfile,
  type ModbusTable,
  type ModbusTag,
  pointWidth,
  tagsOfGroups,
} from "../../domain/profile.ts";
import type { Sample } from "../../domain/taken.ts";
import { type BlockData, decodePoint, type Orders } from "../rules/decode.ts";
import {
  gapBetween,
  halves,
  type HoleRange,
  type Holes,
  overlapGroups,
  type Piece,
  pieceOf,
  type PlanOptions,
  planReads,
  rangeOf,
  touchesHole,
  addHole,
  forgetHoles,
  forgetRange,
} from "../rules/plan.ts";
import type { AskBlock, UnansweredReason } from "./asker.ts";
import type { Logger } from "../../domain/machine.ts";
import type { BoothId, EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import type { Identity } from "../../store/port.ts";
import { errorMessage } from "../../domain/error-message.ts";

/** How poll groups are read together, as far as it is known today. */
export type GroupsPlan = ReturnType<typeof planGroups>;

/**
 * Throws a LinkError where a group has no tag.
 * @param learned points in these holes aren't planned with others; the profile's own holes are in `options`.
 */
export function planGroups(
  profile: ModbusProfile,
  groups: readonly string[],
  plan: { options: PlanOptions; learned: Holes },
) {
  const tags = tagsOfGroups(profile, groups);
  const points = tags.map((tag) => tag.point);
  const isRefused = points.map((point) => touchesHole({ ...point, count: pointWidth(point) }, plan.learned));
  const all = [...points.keys()];
  const readable = all.filter((index) => isRefused[index] === false);
  const { blocks, places } = planReads(
    readable.flatMap((index) => points[index] ?? []),
    plan.options,
  );
  const pieces = blocks.map((_, block) => {
    const indices = readable.filter((_index, position) => places[position]?.block === block);
    return pieceOf(points, overlapGroups(points, indices).flat());
  });
  const refused = MODBUS_TABLES.flatMap((table) =>
    overlapGroups(
      points,
      all.filter((index) => isRefused[index] === true && points[index]?.table === table),
    ).map((indices) => pieceOf(points, indices)),
  );
  const tagsIn = ({ indices }: Piece): readonly ModbusTag[] => indices.flatMap((index) => tags[index] ?? []);
  return {
    tags,
    points,
    /** Read in every poll. */
    pieces,
    /** Points that the device has refused, each alone; read now and then. */
    refused: refused.map((piece) => ({ ...piece, groups: new Set(tagsIn(piece).map(({ group }) => group)) })),
    /** Of a piece as it was planned; one that was split has others. */
    tagsOf: new Map(pieces.map((piece) => [piece, tagsIn(piece)])),
    tagsIn,
    counters: countersOf(tags),
    first_scans: tags.flatMap(({ role }, index) => (role === "first_scan" ? [index] : [])),
  };
}

/** By name, counters of several registers: one register can't be torn. */
function countersOf(tags: readonly ModbusTag[]): ReadonlyMap<TagName, ModbusTag> {
  const isWide = ({ counter, point }: ModbusTag): boolean =>
    counter !== undefined && point.type !== "string" && pointWidth(point) > 1;
  return new Map(tags.filter(isWide).map((tag) => [tag.name, tag]));
}

/** What came of reading pieces, split as far as the device made it necessary. It grows with each answer, so that none is lost. */
export interface PieceOutcome {
  readonly answered: { readonly piece: Piece; readonly data: BlockData }[];
  readonly refused: { readonly piece: Piece; readonly code: number }[];
  readonly unanswered: { readonly piece: Piece; readonly reason: UnansweredReason }[];
  readonly learned: { readonly table: ModbusTable; readonly range: HoleRange }[];
}

export function noOutcome(): PieceOutcome {
  return { answered: [], refused: [], unanswered: [], learned: [] };
}

interface PieceReader {
  readonly points: readonly ModbusPoint[];
  readonly ask: AskBlock;
  /** Whether one more piece may be split in this read; bounds what a device that refuses everything costs. */
  maySplit(): boolean;
}

/** Illegal function, address, value: the block's shape is at fault, so parts of it may be readable. */
const SPLITTABLE: ReadonlySet<number> = new Set([1, 2, 3]);

/** Reads a piece; where the device refuses it, its halves, down to single points. True: it was answered as it is. */
export async function readPiece(reader: PieceReader, piece: Piece, outcome: PieceOutcome): Promise<boolean> {
  const answer = await reader.ask(piece.block);
  if (typeof answer === "string") {
    outcome.unanswered.push({ piece, reason: answer });
    return false;
  }
  if (answer.kind !== "exception") {
    outcome.answered.push({ piece, data: answer });
    return true;
  }
  const { table } = piece.block;
  const parts = SPLITTABLE.has(answer.code) ? halves(reader.points, piece) : null;
  if (parts === null || !reader.maySplit()) {
    outcome.refused.push({ piece, code: answer.code });
    if (parts === null && SPLITTABLE.has(answer.code)) outcome.learned.push({ table, range: rangeOf(piece.block) });
    return false;
  }
  const left = await readPiece(reader, parts[0], outcome);
  const right = await readPiece(reader, parts[1], outcome);
  // Only where both halves answer as they are is what lies between them proven to be the reason.
  if (left && right) outcome.learned.push({ table, range: gapBetween(parts[0].block, parts[1].block) });
  return false;
}

/** One sample per tag in the profile's order. What wasn't asked for this time lies in a hole. */
export function samplesOf(plan: GroupsPlan, outcome: PieceOutcome, orders: Orders): readonly Sample[] {
  const samples = new Array<Sample | undefined>(plan.tags.length);
  for (const { piece, data } of outcome.answered) {
    for (const index of piece.indices) {
      const tag = plan.tags[index];
      if (tag !== undefined) samples[index] = decodedSample(tag, orders, { data, address: piece.block.address });
    }
  }
  for (const { piece, code } of outcome.refused) {
    for (const index of piece.indices) samples[index] = unread(plan, index, `exception_${code}`);
  }
  for (const { piece, reason } of outcome.unanswered) {
    for (const index of piece.indices) samples[index] = unread(plan, index, reason);
  }
  return Array.from(samples, (sample, index) => sample ?? unread(plan, index, "hole"));
}

/** Written out: a spread here was a fifth of a poll's CPU. */
function decodedSample(
  { name, point }: ModbusTag,
  orders: Orders,
  block: { data: BlockData; address: number },
): Sample {
  const decoded = decodePoint(point, orders, { data: block.data, index: point.address - block.address });
  return decoded.quality === "good"
    ? { tag: name, value: decoded.value, quality: "good" }
    : { tag: name, value: null, quality: "bad", reason: decoded.reason };
}

function unread(plan: GroupsPlan, index: number, reason: string): Sample {
  return { tag: plan.tags[index]?.name ?? "", value: null, quality: "bad", reason };
}

/** What was learned of one firmware version of a device. */
interface VersionHoles {
  readonly holes: Holes;
  /** By hole: when it was learned, on the monotonic clock. */
  readonly learned_at: ReadonlyMap<string, Milliseconds>;
}

/** Address ranges that a device has refused, for each of its firmware versions. Pure. */
export interface HoleMemory {
  /** The version that the device shows; "": none was read yet. */
  readonly firmware: string;
  readonly versions: ReadonlyMap<string, VersionHoles>;
}

/** So long a hole is believed: then its block is tried whole again, once. */
export const HOLE_TTL_MS: Milliseconds = 24 * 3_600_000;
/** A device that is updated to and fro needs two; more would be a firmware string that isn't one. */
const MAX_VERSIONS = 4;

const NOTHING: VersionHoles = { holes: {}, learned_at: new Map() };

export const NO_HOLES: HoleMemory = { firmware: "", versions: new Map() };

/** The ranges that no block may touch today. */
export function holesNow({ firmware, versions }: HoleMemory): Holes {
  return (versions.get(firmware) ?? NOTHING).holes;
}

/** With what the answers of one poll say; the same object where that is nothing new. */
export function learnHoles(memory: HoleMemory, outcome: PieceOutcome, mono: Milliseconds): HoleMemory {
  return withHoles(memory, learn(holesNow(memory), outcome), mono);
}

/** A device that refuses everything (its program is being loaded) teaches nothing about addresses. */
function learn(before: Holes, { answered, learned }: PieceOutcome): Holes {
  if (answered.length === 0 || (learned.length === 0 && Object.keys(before).length === 0)) return before;
  const kept = answered.reduce((holes, { piece }) => forgetHoles(holes, piece.block), before);
  return learned.reduce((holes, { table, range }) => addHole(holes, table, range), kept);
}

/** Without the holes that are older than `ttl_ms`; the same object where there are none. */
export function expireHoles(memory: HoleMemory, mono: Milliseconds, ttl_ms: Milliseconds): HoleMemory {
  const { holes, learned_at } = memory.versions.get(memory.firmware) ?? NOTHING;
  const old = rangesOf(holes).filter(({ key }) => mono - (learned_at.get(key) ?? mono) >= ttl_ms);
  const left = old.reduce((kept, { table, range }) => forgetRange(kept, table, range), holes);
  return withHoles(memory, left, mono);
}

/**
 * The device shows this firmware version: what was learned of another one no longer holds, and stands ready should that
 * one come back; null: none was read. What was learned before the first version was read is of that version.
 */
export function underFirmware(memory: HoleMemory, firmware: string | null): HoleMemory {
  if (firmware === null || firmware === memory.firmware) return memory;
  const known = memory.versions.get(firmware) ?? memory.versions.get("") ?? NOTHING;
  const versions = new Map([...memory.versions].filter(([version]) => version !== ""));
  return withVersion({ firmware, versions }, firmware, known);
}

/** The firmware version that a poll showed; null: none. */
export function firmwareIn(tags: readonly ModbusTag[], samples: readonly Sample[]): string | null {
  const tag = tags.find(({ role }) => role === "firmware_version");
  const sample = samples.find((one) => one.tag === tag?.name && one.quality === "good");
  const version = sample?.value === undefined || sample.value === null ? "" : String(sample.value).trim();
  return version === "" ? null : version;
}

function withHoles(memory: HoleMemory, holes: Holes, mono: Milliseconds): HoleMemory {
  const before = memory.versions.get(memory.firmware) ?? NOTHING;
  if (holes === before.holes) return memory;
  const learned_at = new Map(rangesOf(holes).map(({ key }) => [key, before.learned_at.get(key) ?? mono]));
  return withVersion(memory, memory.firmware, { holes, learned_at });
}

/** The version used last stands last; the first one goes when there are too many. */
function withVersion({ versions }: HoleMemory, firmware: string, holes: VersionHoles): HoleMemory {
  const others = [...versions].filter(([version]) => version !== firmware).slice(1 - MAX_VERSIONS);
  return { firmware, versions: new Map([...others, [firmware, holes]]) };
}

function rangesOf(holes: Holes) {
  return (Object.entries(holes) as [ModbusTable, readonly HoleRange[]][]).flatMap(([table, ranges]) =>
    ranges.map((range) => ({ table, range, key: keyOf(table, range) })),
  );
}

function keyOf(table: ModbusTable, [first, last]: HoleRange): string {
  return `${table} ${first} ${last}`;
}

interface KeptRange {
  readonly firmware: string;
  readonly table: ModbusTable;
  readonly first: number;
  readonly last: number;
  readonly learned_at: EpochMs;
}

export interface Instant {
  readonly mono: Milliseconds;
  readonly wall: EpochMs;
}

/** A device has few; a file with more is no list of holes. */
const MOST_RANGES = 10_000;

/**
 * Learned holes as they are kept over a restart: JSON, in wall-clock time, since monotonic time ends with the boot. `device`
 * says what they were learned of: address, unit and profile; of another one they mean nothing.
 */
export function keptHoles({ firmware, versions }: HoleMemory, device: string, now: Instant) {
  const ranges = [...versions].flatMap(([version, { holes, learned_at }]) =>
    rangesOf(holes).map(({ table, range: [first, last], key }): KeptRange => ({
      firmware: version,
      table,
      first,
      last,
      learned_at: Math.round(now.wall - (now.mono - (learned_at.get(key) ?? 0))),
    })),
  );
  return { version: 1, device, firmware, ranges };
}

/**
 * What was kept, as far as it holds for this device; what can't be read is left out: the device will teach it again.
 * A hole that seems to lie in the future (the clock was wrong then, or is now) counts from now on.
 */
export function restoredHoles(kept: unknown, device: string, now: Instant): HoleMemory {
  if (!isKept(kept) || kept.device !== device) return NO_HOLES;
  const ranges = kept.ranges.filter(isRange).slice(0, MOST_RANGES);
  const versions = [...Map.groupBy(ranges, ({ firmware }) => firmware)].slice(-MAX_VERSIONS);
  return {
    firmware: kept.firmware,
    versions: new Map(versions.map(([version, own]) => [version, restored(own, now)])),
  };
}

/** On the monotonic clock, what was learned before the boot stands below 0. */
function restored(ranges: readonly KeptRange[], now: Instant): VersionHoles {
  const holes = ranges.reduce<Holes>((all, { table, first, last }) => addHole(all, table, [first, last]), {});
  const learned_at = new Map(
    ranges.map((one) => [keyOf(one.table, [one.first, one.last]), now.mono - Math.max(0, now.wall - one.learned_at)]),
  );
  return { holes, learned_at };
}

function isKept(value: unknown): value is { device: string; firmware: string; ranges: readonly unknown[] } {
  const { version, device, firmware, ranges } = fieldsOf(value);
  return version === 1 && typeof device === "string" && typeof firmware === "string" && Array.isArray(ranges);
}

function isRange(value: unknown): value is KeptRange {
  const { firmware, table, first, last, learned_at } = fieldsOf(value);
  const isNumbers = Number.isInteger(first) && Number.isInteger(last) && Number.isFinite(learned_at);
  return isNumbers && typeof firmware === "string" && MODBUS_TABLES.some((one) => one === table);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** Where what was learned of a device outlives the agent. */
export interface HoleKeeper {
  /** What `keep` was given last; anything else is left aside. */
  readonly kept: unknown;
  keep(holes: ReturnType<typeof keptHoles>): void;
}

/** Reads what is kept of each booth's device; what drivers learn from now on goes back there, in order. */
export async function holeKeepers(
  { identity, log }: { readonly identity: Pick<Identity, "learned" | "setLearned">; readonly log: Logger },
  booths: readonly { readonly config: { readonly id: BoothId } }[],
): Promise<(booth: BoothId) => HoleKeeper> {
  const kept = new Map<BoothId, unknown>();
  for (const { config } of booths) kept.set(config.id, await identity.learned(config.id));
  return (booth) => ({
    kept: kept.get(booth),
    keep: (holes) => {
      // Losing it costs a refused request after the next start, so polling goes on.
      identity.setLearned(booth, holes).catch((error: unknown) => {
        const reason = errorMessage(error);
        log.debug({ event: "holes_not_kept", booth, reason }, `${booth}: what was learned of the PLC isn't stored`);
      });
    },
  });
}
