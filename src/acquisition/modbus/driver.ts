import { message } from "../../domain/message.ts";
import type { ModbusConfig } from "../../config/port.ts";
import type { PlcAsk } from "../../domain/agent-control.ts";
import { errorMessage } from "../../domain/error-message.ts";
import { abortedBy, LinkError } from "../../domain/link-error.ts";
import type { Logger } from "../../domain/machine.ts";
import { modbusAddressText } from "../../domain/plc-address.ts";
import {
  isBitTable,
  MODBUS_TABLES,
  type ModbusPoint,
  type ModbusProfile,
  type ModbusTable,
  type ModbusTag,
  pointWidth,
  tagsOfGroups,
} from "../../domain/profile.ts";
import { onAbort } from "../../domain/signal.ts";
import type { Sample } from "../../domain/taken.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { BoothId, EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import { monotonicMs } from "../../monotonic.ts";
import type { Identity } from "../../store/port.ts";
import type { Driver, GroupSamples, LinkNote } from "../port.ts";
import { agreed, believe, type Believed, nothingBelieved, suspects, zerosToHold } from "../rules/change-filter.ts";
import { decodePoint, type Orders } from "../rules/decode.ts";
import { byGroup } from "../rules/link.ts";
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
} from "../rules/plan.ts";
import { LATE_ANSWERS, type LineOddities } from "./rtu.ts";
import {
  type Answering,
  type AskBlock,
  blockAsker,
  modbusSession,
  reconnecting,
  type UnansweredReason,
  unknownDevice,
} from "./session.ts";
import { askOverLine, polledWords, tappedLine } from "./tool-line.ts";
import { type ModbusLine, modbusLine } from "./wire.ts";

/** This file has the Modbus driver, then the plan of a poll, then the rules that learn which address ranges a device refuses. */

export interface ModbusDriverOptions {
  /** The physical connection. Other drivers may share it, but only one driver reads at a time. */
  readonly line: ModbusLine;
  /** Modbus unit id of the device. Absent: the profile's unit id. */
  readonly unitId?: number | undefined;
  readonly profile: ModbusProfile;
  readonly timeouts?: {
    /** Deadline of opening the connection. Default: 2500. */
    readonly connect_ms?: Milliseconds;
    /** Longest time from a request to the end of its answer; the driver learns a shorter time. Absent: the line's default. */
    readonly answer_ms?: Milliseconds | undefined;
  };
  /** Knowledge about the device from earlier drivers; this driver adds to it. */
  readonly memory?: DeviceMemory;
  /** The monotonic clock for rates of counters and ages of holes (refused ranges). Absent: real time. */
  readonly mono?: () => Milliseconds;
}

/**
 * Knowledge about a device, collected from its answers. Each failure of a link ends its driver, and the next driver continues with the same
 * memory. The `holes` also survive a restart of the agent: `holesChanged` stores them.
 */
export interface DeviceMemory {
  /** Holes: address ranges that the device has refused, in addition to the holes in the profile. */
  holes: HoleMemory;
  readonly believed: Believed;
  readonly answering: Answering;
  /** Called when the holes have changed. */
  readonly holesChanged?: () => void;
}

export function emptyMemory(): DeviceMemory {
  return { holes: NO_HOLES, believed: nothingBelieved(), answering: unknownDevice() };
}

/**
 * Deadline of a connection: time for two SYNs of TCP, at 0 and 1 s. The third SYN is sent after 3 s; a new attempt is as good by then, and
 * has jitter.
 */
const DEFAULT_CONNECT_MS = 2500;
/** Number of reads after which refused points are read again, because a new PLC program may have added them. */
const REFUSED_RETRY_READS = 20;
/** Maximum number of split blocks per read. It is enough to find several holes, and bounds the cost of a device that refuses everything. */
const MAX_SPLITS_PER_READ = 40;
/** Maximum number of cached plans. A plan belongs to a set of groups: four groups have fifteen sets, and few of them are due together. */
const MAX_PLANS = 16;

/**
 * Makes a driver that reads a Modbus device over one connection, until `close` or the first LinkError. If an answer is lost during a poll,
 * the driver reconnects. It uses real time, unlike the rest of the agent, because sockets have real deadlines.
 */
export function modbusDriver(options: ModbusDriverOptions): Driver {
  const { profile, line, timeouts = {}, memory = emptyMemory(), mono = monotonicMs } = options;
  const { quirks } = profile;
  const unitId = options.unitId ?? quirks.unit_id;
  const answer_ms = timeouts.answer_ms ?? line.answer_ms;
  const connect_ms = timeouts.connect_ms ?? DEFAULT_CONNECT_MS;
  const connection = reconnecting(() => modbusSession(line, { connect_ms, answer_ms }), quirks.connect_delay_ms);
  const { min_gap_ms } = quirks;
  const beginPoll = blockAsker({ line, connection, unitId, answer_ms, min_gap_ms, device: memory.answering });
  const plans = planCache(profile, line, memory);
  const reads = new Map<string, number>();
  /** Groups whose last read was refused completely. Splitting their blocks again would be useless. */
  const barren = new Set<string>();
  let isReading = false;
  let forget = (): void => undefined;

  const setHoles = (holes: HoleMemory): void => {
    if (holes === memory.holes) return;
    memory.holes = holes;
    memory.holesChanged?.();
    plans.clear(); // a hole found by one group may be in the blocks of another
  };
  /** Returns whether this read of the group includes its refused points. */
  const isThorough = (group: string): boolean => {
    const count = reads.get(group) ?? 0;
    reads.set(group, count + 1);
    return count % REFUSED_RETRY_READS === 0;
  };
  const readGroups = async (groups: readonly string[]): Promise<GroupSamples> => {
    setHoles(expireHoles(memory.holes, mono()));
    const plan = plans.planFor(groups);
    const thorough = groups.filter(isThorough);
    const pieces = piecesToRead(plan, thorough);
    const maxSplits = thorough.length > 0 || groups.some((group) => !barren.has(group)) ? MAX_SPLITS_PER_READ : 0;
    const outcome = noOutcome();
    const ask = beginPoll();
    try {
      await readPieces({ plan, pieces, maxSplits }, ask, outcome);
    } finally {
      // Stores the holes even if the device went away, so that refused ranges aren't requested again.
      setHoles(learnHoles(memory.holes, outcome, mono()));
    }
    for (const group of groups) {
      const hasAnswer = ({ piece }: { piece: Piece }): boolean =>
        piece.indices.some((index) => plan.tags[index]?.group === group);
      if (outcome.answered.some(hasAnswer)) barren.delete(group);
      else barren.add(group);
    }
    const samples = await secondLook({ plan, outcome, orders: quirks, believed: memory.believed }, ask, mono);
    setHoles(underFirmware(memory.holes, firmwareIn(plan.tags, samples)));
    return byGroup(groups, plan.tags, samples);
  };

  return {
    open: (signal) => {
      forget = onAbort(signal, () => connection.leave(abortedBy(signal)));
      return connection.open();
    },
    read: async (groups) => {
      // Rejects a second read at once, because it must not break the connection of the first read.
      if (isReading) throw new LinkError("config", message("plc.setup.under_way"));
      isReading = true;
      return readGroups(groups).finally(() => (isReading = false));
    },
    renewals: () => connection.renewals(),
    notes: () => notesOf(memory.answering, line.oddities),
    requests: () => ({ asked: memory.answering.asked, missed: memory.answering.missed }),
    close: () => {
      forget();
      connection.end(new LinkError("closed", message("plc.closed.gateway")));
      return Promise.resolve();
    },
  };
}

/** Caches the plans by set of groups. The cache is cleared when the holes change. */
function planCache(profile: ModbusProfile, { round_trip_registers }: ModbusLine, memory: DeviceMemory) {
  const plans = new Map<string, GroupsPlan>();
  return {
    clear: () => plans.clear(),
    planFor: (groups: readonly string[]): GroupsPlan => {
      const key = groups.join(" ");
      const known = plans.get(key);
      if (known !== undefined) return known;
      const { quirks } = profile;
      const learned = holesNow(memory.holes);
      const holes = Object.fromEntries(
        MODBUS_TABLES.map((table) => [table, [...(quirks.holes[table] ?? []), ...(learned[table] ?? [])]]),
      );
      const plan = planGroups(profile, groups, { options: { ...quirks, holes, round_trip_registers }, learned });
      if (plans.size >= MAX_PLANS) plans.clear();
      plans.set(key, plan);
      return plan;
    },
  };
}

function notesOf({ closing: { per_connection: count } }: Answering, { echoes, stray_bytes }: LineOddities): LinkNote[] {
  const notes: LinkNote[] = [];
  if (count !== null) notes.push({ kind: "closes", text: message("plc.note.closes", { count }) });
  if (echoes > 0) notes.push({ kind: "echo", text: message("plc.note.echo", { count: echoes }) });
  if (stray_bytes > 0) notes.push({ kind: "stray_bytes", text: message("plc.note.stray", { count: stray_bytes }) });
  return notes;
}

/** Returns the pieces to request. If the device refuses every point, returns one piece, which shows whether the device is reachable. */
function piecesToRead({ pieces, refused }: GroupsPlan, thorough: readonly string[]): readonly Piece[] {
  if (thorough.length === 0 && pieces.length > 0) return pieces;
  const again = refused.filter(({ groups }) => thorough.some((group) => groups.has(group)));
  return pieces.length + again.length > 0 ? [...pieces, ...again] : refused.slice(0, 1);
}

async function readPieces(
  {
    plan,
    pieces,
    maxSplits,
  }: { readonly plan: GroupsPlan; readonly pieces: readonly Piece[]; readonly maxSplits: number },
  ask: AskBlock,
  outcome: PieceOutcome,
): Promise<void> {
  let splits = 0;
  const reader = { points: plan.points, ask, maySplit: () => ++splits <= maxSplits };
  // Repeats the requests until the device answers one of them, or until `ask` rejects because the device is away.
  do {
    outcome.unanswered.length = 0;
    for (const piece of pieces) await readPiece(reader, piece, outcome);
  } while (pieces.length > 0 && outcome.answered.length + outcome.refused.length === 0);
}

interface PolledGroups {
  readonly plan: GroupsPlan;
  readonly outcome: PieceOutcome;
  readonly orders: Orders;
  readonly believed: Believed;
}

/**
 * Returns the samples of a poll after a check of suspicious values. Blocks that are suddenly all zero are held back. Blocks with a counter
 * that fell or jumped are read a second time.
 * @param mono the clock for rates
 */
async function secondLook(poll: PolledGroups, ask: AskBlock, mono: () => Milliseconds): Promise<readonly Sample[]> {
  const { plan, outcome, orders, believed } = poll;
  const { counters } = plan;
  const first_mono = mono();
  const samples = withoutSuddenZeros(poll, samplesOf(plan, outcome, orders));
  const odd = suspects(believed, { mono: first_mono, samples }, counters);
  if (odd.size === 0) {
    believe(believed, { mono: first_mono, samples }, counters);
    return samples;
  }
  const again: PieceOutcome = noOutcome();
  for (const { piece } of outcome.answered) {
    if (!piece.indices.some((index) => odd.has(plan.tags[index]?.name ?? ""))) continue;
    const answer = await ask(piece.block);
    if (typeof answer !== "string" && answer.kind !== "exception") again.answered.push({ piece, words: answer.words });
  }
  const repeated = samplesOf(plan, again, orders).filter(({ tag }) => odd.has(tag));
  const second_mono = mono();
  const settled = agreed(samples, { mono: second_mono, first_mono, samples: repeated }, counters);
  believe(believed, { mono: second_mono, samples: settled }, counters);
  return settled;
}

function withoutSuddenZeros({ plan, outcome, believed }: PolledGroups, samples: readonly Sample[]): readonly Sample[] {
  const blocks = outcome.answered
    .filter(({ piece }) => !isBitTable(piece.block.table))
    .map(({ piece, words }) => ({
      address: piece.block.address,
      words,
      tags: plan.tagsOf.get(piece) ?? plan.tagsIn(piece),
    }));
  // True in the first poll after a start of the PLC, if the PLC has a tag that is true in its first scan.
  const isRestarted = plan.first_scans.some((index) => samples[index]?.value === true);
  const held = zerosToHold(believed, blocks, isRestarted);
  if (held.size === 0) return samples;
  return samples.map((sample) =>
    held.has(sample.tag) ? { tag: sample.tag, value: null, quality: "bad", reason: "all_zero" } : sample,
  );
}

/** Maximum wait for a device that doesn't answer, if other devices use the same Modbus TCP gateway. */
const SHARED_ANSWER_MS = 800;

/**
 * Returns a function that makes the parts of a booth's link. Booths with the same address share one physical line.
 * @param now the agent's clock, for rates of counters and ages of holes
 */
export function modbusLinks(now: () => Instant) {
  const lines = new Map<string, { readonly line: ModbusLine; users: number }>();
  return (config: ModbusConfig, profile: ModbusProfile, keeper?: HoleKeeper) => {
    const link = modbusAddressText(config);
    const shared = lines.get(link) ?? { line: modbusLine(config), users: 0 };
    shared.users++;
    lines.set(link, shared);
    const { line } = shared;
    // This is a function because the number of users is known only after the configuration of every booth.
    const answer_ms = (): Milliseconds =>
      config.answer_timeout_ms ?? (shared.users > 1 ? Math.min(SHARED_ANSWER_MS, line.answer_ms) : line.answer_ms);
    const unit = config.unit_id ?? profile.quirks.unit_id;
    const device = [link, unit, profile.name, profile.version].join(" ");
    const polled = config.share === undefined ? null : polledWords(() => now().mono);
    // Shares this memory among all drivers of the booth, which run one after the other.
    const memory: DeviceMemory = {
      ...emptyMemory(),
      holes: restoredHoles(keeper?.kept, device, now()),
      holesChanged: () => keeper?.keep(keptHoles(memory.holes, device, now())),
    };
    return {
      link,
      probe_ms: answer_ms,
      settle_ms: () => (line.numbered ? 0 : LATE_ANSWERS * answer_ms()),
      shared: { unit, ask: (ask: PlcAsk, within_ms: Milliseconds) => askOverLine(line, ask, within_ms) },
      ...(polled === null ? {} : { polled }),
      makeDriver: () =>
        modbusDriver({
          line: polled === null ? line : tappedLine(line, polled.tap),
          profile,
          memory,
          mono: () => now().mono,
          timeouts: { answer_ms: answer_ms() },
          unitId: config.unit_id,
        }),
    };
  };
}

/** The requests that read several poll groups together, planned around the known holes. */
type GroupsPlan = ReturnType<typeof planGroups>;

/**
 * Plans the requests that read the groups. Throws a LinkError if a group has no tag.
 * @param learned holes that the device has shown; points in them are read alone. `options.holes` has these holes and the profile's holes.
 */
export function planGroups(
  profile: ModbusProfile,
  groups: readonly string[],
  { options, learned }: { options: PlanOptions; learned: Holes },
) {
  const tags = tagsOfGroups(profile, groups);
  const points = tags.map((tag) => tag.point);
  const isRefused = points.map((point) => touchesHole({ ...point, count: pointWidth(point) }, learned));
  const all = [...points.keys()];
  const readable = all.filter((index) => isRefused[index] === false);
  const { blocks, places } = planReads(
    readable.flatMap((index) => points[index] ?? []),
    options,
  );
  const pieces = blocks.map((_, block) => {
    const indices = readable.filter((_index, position) => places[position]?.block === block);
    return pieceOf(points, overlapGroups(points, indices).flat());
  });
  const tagsIn = ({ indices }: Piece): readonly ModbusTag[] => indices.flatMap((index) => tags[index] ?? []);
  const refused = MODBUS_TABLES.flatMap((table) => {
    const indices = all.filter((index) => isRefused[index] === true && points[index]?.table === table);
    return overlapGroups(points, indices).map((group) => pieceOf(points, group));
  });
  // Returns whether a counter can be torn (half old, half new): only if it doesn't fit in a single register.
  const canTear = ({ counter, point }: ModbusTag): boolean =>
    counter !== undefined && point.type !== "string" && pointWidth(point) > 1;
  return {
    tags,
    points,
    /** Pieces that are read in every poll. */
    pieces,
    /**
     * Pieces with points that the device has refused; a piece has one point, or several points that share a register. They are read
     * occasionally.
     */
    refused: refused.map((piece) => ({ ...piece, groups: new Set(tagsIn(piece).map(({ group }) => group)) })),
    /** Tags by planned piece. The map doesn't contain the halves of split pieces. */
    tagsOf: new Map(pieces.map((piece) => [piece, tagsIn(piece)])),
    tagsIn,
    counters: new Map<TagName, ModbusTag>(tags.filter(canTear).map((tag) => [tag.name, tag])),
    first_scans: tags.flatMap(({ role }, index) => (role === "first_scan" ? [index] : [])),
  };
}

/**
 * Results of reading pieces, including the parts of split pieces. Results are added after each answer, so that a later error loses none of
 * them.
 */
interface PieceOutcome {
  readonly answered: { readonly piece: Piece; readonly words: readonly number[] }[];
  readonly refused: { readonly piece: Piece; readonly code: number }[];
  readonly unanswered: { readonly piece: Piece; readonly reason: UnansweredReason }[];
  readonly learned: { readonly table: ModbusTable; readonly range: HoleRange }[];
}

function noOutcome(): PieceOutcome {
  return { answered: [], refused: [], unanswered: [], learned: [] };
}

interface PieceReader {
  readonly points: readonly ModbusPoint[];
  readonly ask: AskBlock;
  /** Returns whether one more piece may be split in this read. */
  maySplit(): boolean;
}

/**
 * Exceptions "illegal function", "illegal address" and "illegal value": the block is invalid as a whole, but parts of it may be readable.
 */
const SPLITTABLE: ReadonlySet<number> = new Set([1, 2, 3]);

/**
 * Reads a piece. If the device refuses the piece, reads its halves, down to single points. Returns whether the whole piece was answered.
 */
async function readPiece(reader: PieceReader, piece: Piece, outcome: PieceOutcome): Promise<boolean> {
  const answer = await reader.ask(piece.block);
  if (typeof answer === "string") {
    outcome.unanswered.push({ piece, reason: answer });
    return false;
  }
  if (answer.kind !== "exception") {
    outcome.answered.push({ piece, words: answer.words });
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
  // Learns the gap as the cause only if both halves are answered completely.
  if (left && right) outcome.learned.push({ table, range: gapBetween(parts[0].block, parts[1].block) });
  return false;
}

/** Returns one sample for each tag, in the profile's order. A tag that was not requested gets the reason "hole". */
function samplesOf({ tags }: GroupsPlan, outcome: PieceOutcome, orders: Orders): readonly Sample[] {
  const samples = new Array<Sample | undefined>(tags.length);
  const unread = (index: number, reason: string): Sample => ({
    tag: tags[index]?.name ?? "",
    value: null,
    quality: "bad",
    reason,
  });
  for (const { piece, words } of outcome.answered) {
    for (const index of piece.indices) {
      const tag = tags[index];
      if (tag === undefined) continue;
      const { name, point } = tag;
      const decoded = decodePoint(point, orders, { words, index: point.address - piece.block.address });
      // Uses object literals instead of a spread, which took a fifth of a poll's CPU time.
      samples[index] =
        decoded.quality === "good"
          ? { tag: name, value: decoded.value, quality: "good" }
          : { tag: name, value: null, quality: "bad", reason: decoded.reason };
    }
  }
  for (const { piece, code } of outcome.refused) {
    for (const index of piece.indices) samples[index] = unread(index, `exception_${code}`);
  }
  for (const { piece, reason } of outcome.unanswered) {
    for (const index of piece.indices) samples[index] = unread(index, reason);
  }
  return Array.from(samples, (sample, index) => sample ?? unread(index, "hole"));
}

/** A range that a device has refused. */
interface LearnedHole {
  /** The firmware version of the device when it refused the range. */
  readonly firmware: string;
  readonly table: ModbusTable;
  readonly first: number;
  readonly last: number;
  /** Monotonic time of the refusal; negative if the range was learned before this boot. */
  readonly learned_at: Milliseconds;
}

/**
 * Address ranges that a device has refused, for each of its firmware versions; immutable. No block touches the ranges of the current
 * version. A range is dropped after `HOLE_TTL_MS`, and when a block that touches the range is answered. After a firmware update the ranges
 * of the old version are kept, in case the update is reverted. The functions below return the same object if nothing changes.
 */
export interface HoleMemory {
  /** The firmware version that the device shows; "": no version was read yet. */
  readonly firmware: string;
  /** Ranges of all versions. Those of the version used last are at the end. */
  readonly ranges: readonly LearnedHole[];
}

/** Time after which a hole is forgotten. The block is then requested as a whole again. */
export const HOLE_TTL_MS: Milliseconds = DAY_MS;
/**
 * Maximum number of remembered firmware versions. Going back and forth between versions needs two; more mean that the firmware tag holds
 * something else.
 */
const MAX_VERSIONS = 4;

export const NO_HOLES: HoleMemory = { firmware: "", ranges: [] };

/** Returns the ranges that no block may touch now. */
export function holesNow({ firmware, ranges }: HoleMemory): Holes {
  const holes: Partial<Record<ModbusTable, HoleRange[]>> = {};
  for (const range of ranges) {
    if (range.firmware === firmware) (holes[range.table] ??= []).push([range.first, range.last]);
  }
  return holes;
}

/**
 * Adds the results of one poll. If the device refuses everything, as while its program is being loaded, nothing is learned about addresses.
 */
function learnHoles(memory: HoleMemory, { answered, learned }: PieceOutcome, mono: Milliseconds): HoleMemory {
  if (answered.length === 0 || learned.length + memory.ranges.length === 0) return memory;
  const { firmware } = memory;
  const isDisproved = ({ table, first, last }: LearnedHole): boolean =>
    answered.some(({ piece: { block } }) => touchesHole(block, { [table]: [[first, last]] }));
  const ranges = memory.ranges.filter((range) => range.firmware !== firmware || !isDisproved(range));
  const kept = ranges.length;
  for (const { table, range } of learned) {
    const [first, last] = range;
    const isSame = (known: LearnedHole): boolean =>
      known.firmware === firmware && known.table === table && known.first === first && known.last === last;
    if (!ranges.some(isSame)) ranges.push({ firmware, table, first, last, learned_at: mono });
  }
  return kept === memory.ranges.length && ranges.length === kept ? memory : { firmware, ranges };
}

function expireHoles(memory: HoleMemory, mono: Milliseconds): HoleMemory {
  const { firmware } = memory;
  const ranges = memory.ranges.filter((range) => range.firmware !== firmware || mono - range.learned_at < HOLE_TTL_MS);
  return ranges.length === memory.ranges.length ? memory : { firmware, ranges };
}

/**
 * Switches to the ranges of this firmware version; null: the poll showed no version. Ranges that were learned before a version was read are
 * assigned to the first version.
 */
function underFirmware(memory: HoleMemory, firmware: string | null): HoleMemory {
  if (firmware === null || firmware === memory.firmware) return memory;
  const isOwn = (range: LearnedHole): boolean => range.firmware === firmware || range.firmware === "";
  const others = memory.ranges.filter((range) => !isOwn(range));
  const versions = [...new Set(others.map((range) => range.firmware))].slice(1 - MAX_VERSIONS);
  return {
    firmware,
    ranges: [
      ...others.filter((range) => versions.includes(range.firmware)),
      ...memory.ranges.filter(isOwn).map((range) => ({ ...range, firmware })),
    ],
  };
}

function firmwareIn(tags: readonly ModbusTag[], samples: readonly Sample[]): string | null {
  const tag = tags.find(({ role }) => role === "firmware_version");
  const sample = samples.find((one) => one.tag === tag?.name && one.quality === "good");
  return String(sample?.value ?? "").trim() || null;
}

export interface Instant {
  readonly mono: Milliseconds;
  readonly wall: EpochMs;
}

/** Maximum number of stored ranges that are read. A device has few holes, so a larger file is corrupt. */
const MAX_RANGES = 10_000;

/**
 * Returns the learned holes as JSON for storage over a restart. Times are wall-clock times, because monotonic time ends with the boot.
 * @param device address, unit id and profile. Stored holes are ignored for any other device.
 */
export function keptHoles({ firmware, ranges }: HoleMemory, device: string, now: Instant) {
  const wallOf = (mono: Milliseconds): EpochMs => Math.round(now.wall - (now.mono - mono));
  return {
    version: 1,
    device,
    firmware,
    ranges: ranges.map((range) => ({ ...range, learned_at: wallOf(range.learned_at) })),
  };
}

/**
 * Reads the stored holes of this device. Skips entries that can't be parsed, because the device's next refusals reveal these holes again. If a hole's time is in the future
 * (the clock was wrong), its age starts now.
 */
export function restoredHoles(kept: unknown, device: string, now: Instant): HoleMemory {
  const stored = fieldsOf(kept);
  const { firmware, ranges } = stored;
  if (stored["version"] !== 1 || stored["device"] !== device) return NO_HOLES;
  if (typeof firmware !== "string" || !Array.isArray(ranges)) return NO_HOLES;
  const readable = (ranges as readonly unknown[]).filter(isRange).slice(0, MAX_RANGES);
  return {
    firmware,
    ranges: readable.map((range) => ({ ...range, learned_at: now.mono - Math.max(0, now.wall - range.learned_at) })),
  };
}

function isRange(value: unknown): value is LearnedHole {
  const { firmware, table, first, last, learned_at } = fieldsOf(value);
  const isNumbers = Number.isInteger(first) && Number.isInteger(last) && Number.isFinite(learned_at);
  return isNumbers && typeof firmware === "string" && MODBUS_TABLES.some((one) => one === table);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** Storage for a device's holes over a restart of the agent. */
export interface HoleKeeper {
  /** The value of the last `keep`; a value of another format is ignored. */
  readonly kept: unknown;
  keep(holes: ReturnType<typeof keptHoles>): void;
}

/** Reads the stored holes of each booth's device. Changes are stored in the order in which they occur. */
export async function holeKeepers(
  { identity, log }: { readonly identity: Pick<Identity, "learned" | "setLearned">; readonly log: Logger },
  booths: readonly { readonly config: { readonly id: BoothId } }[],
): Promise<(booth: BoothId) => HoleKeeper> {
  const kept = new Map<BoothId, unknown>();
  for (const { config } of booths) kept.set(config.id, await identity.learned(config.id));
  return (booth) => ({
    kept: kept.get(booth),
    keep: (holes) => {
      // Continues after a failure, which costs only one refused request after the next start.
      identity.setLearned(booth, holes).catch((error: unknown) => {
        const reason = errorMessage(error);
        log.debug({ event: "holes_not_kept", booth, reason }, `${booth}: what was learned of the PLC isn't stored`);
      });
    },
  });
}
