import { abortedBy, LinkError } from "../../domain/link-error.ts";
import { onAbort } from "../../domain/signal.ts";
import { type Piece, uniteHoles } from "../rules/plan.ts";
import type { ModbusProfile } from "../../domain/profile.ts";
import type { Sample } from "../../domain/taken.ts";
import { byGroup } from "../rules/link.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";
import { type Believed, nothingBelieved, agreed, believe, suspects, zerosToHold } from "../rules/change-filter.ts";
import type { Driver, GroupSamples, LinkNote } from "../port.ts";
import { type Answering, type AskBlock, asker, unknownDevice } from "./asker.ts";
import {
  type GroupsPlan,
  noOutcome,
  type PieceOutcome,
  planGroups,
  readPiece,
  samplesOf,
  expireHoles,
  firmwareIn,
  HOLE_TTL_MS,
  type HoleMemory,
  holesNow,
  learnHoles,
  NO_HOLES,
  underFirmware,
  type HoleKeeper,
  type Instant,
  keptHoles,
  restoredHoles,
} from "./group-read.ts";
import { type ModbusLine, modbusLine } from "./wire.ts";
import { modbusSession, renewing } from "./session.ts";
import type { Orders } from "../rules/decode.ts";
import { modbusAddressText } from "../../domain/plc-address.ts";
import type { ModbusConfig } from "../../config/port.ts";
import type { PlcAsk } from "../../domain/agent-control.ts";
import { LATE_ANSWERS, type LineOddities } from "./rtu.ts";
import { polledWords } from "./polled-words.ts";
import { askOverLine, tappedLine } from "./tool-line.ts";
import { say } from "../../domain/sentences.ts";
import { monotonicMs } from "../../monotonic.ts";

export interface ModbusDriverOptions {
  /** May be shared with other drivers, of which one at a time is at work. */
  readonly line: ModbusLine;
  /** Absent: the profile's. */
  readonly unitId?: number | undefined;
  readonly profile: ModbusProfile;
  readonly timeouts?: {
    /** Until the connection stands; 2500. */
    readonly connect_ms?: Milliseconds;
    /** From one request to the end of its answer, at most: less, as the device's answers teach; absent: the line's. */
    readonly answer_ms?: Milliseconds | undefined;
  };
  /** What earlier connections learned of the device; what this one learns goes there too. */
  readonly memory?: DeviceMemory;
  /** How long a learned hole is believed; 24 h. */
  readonly hole_ttl_ms?: Milliseconds;
  /** The clock that counters' rates and the age of holes are measured by; absent: real time. */
  readonly mono?: () => Milliseconds;
}

/** What is learned of a device over its connections. */
export interface DeviceMemory {
  /** Ranges the device has refused, beside those of the profile. */
  holes: HoleMemory;
  believed: Believed;
  readonly answering: Answering;
  /** Told when the holes are others than before. */
  readonly holesChanged?: () => void;
}

export function emptyMemory(): DeviceMemory {
  return { holes: NO_HOLES, believed: nothingBelieved(), answering: unknownDevice() };
}

/** Two tries of TCP (at 0 and 1 s); a third would come after 3 s, when a new attempt is as good and jittered. */
const DEFAULT_CONNECT_MS = 2500;
/** Points that were refused are asked again every so many reads, so that a PLC's new program can bring them back. */
const REFUSED_RETRY_READS = 20;
/** Enough to find several holes in one read; a device that refuses everything costs no more than this. */
const MAX_SPLITS_PER_READ = 40;
/** Sets of groups whose plans are kept: four groups have fifteen, and few of them fall due together. */
const MAX_PLANS = 16;

/**
 * Reads a Modbus device over one connection, and within a poll over a fresh one where an answer was lost, until `close` or
 * the first LinkError. Real time, unlike the rest of the agent: deadlines belong to the socket.
 */
export function modbusDriver(options: ModbusDriverOptions): Driver {
  const { profile, line, timeouts = {}, memory = emptyMemory(), mono = monotonicMs } = options;
  const { quirks } = profile;
  const unitId = options.unitId ?? quirks.unit_id;
  const answer_ms = timeouts.answer_ms ?? line.answer_ms;
  const connect_ms = timeouts.connect_ms ?? DEFAULT_CONNECT_MS;
  const connection = renewing(() => modbusSession(line, { connect_ms, answer_ms }), quirks.connect_delay_ms);
  const { min_gap_ms } = quirks;
  const begin = asker({ line, connection, unitId, answer_ms, min_gap_ms, device: memory.answering });
  /** By the groups that are read together. */
  const plans = new Map<string, GroupsPlan>();
  /** Groups of which the device refused every point in the last read: splitting their blocks again would only cost. */
  const barren = new Set<string>();
  const isThorough = thoroughReads();
  const alone = oneAtATime();
  let forget = (): void => undefined;

  const planOf = (groups: readonly string[]): GroupsPlan => {
    const key = groups.join(" ");
    const known = plans.get(key);
    if (known !== undefined) return known;
    const learned = holesNow(memory.holes);
    const holes = uniteHoles(quirks.holes, learned);
    const options = { ...quirks, holes, round_trip_registers: line.round_trip_registers };
    const plan = planGroups(profile, groups, { options, learned });
    if (plans.size >= MAX_PLANS) plans.clear();
    plans.set(key, plan);
    return plan;
  };
  const remember = (holes: HoleMemory): void => {
    if (holes === memory.holes) return;
    memory.holes = holes;
    memory.holesChanged?.();
    plans.clear(); // what one group has shown may concern the blocks of all
  };
  const readGroups = async (groups: readonly string[]): Promise<GroupSamples> => {
    remember(expireHoles(memory.holes, mono(), options.hole_ttl_ms ?? HOLE_TTL_MS));
    const plan = planOf(groups);
    const thorough = groups.filter(isThorough);
    const pieces = piecesOf(plan, thorough);
    const maxSplits = thorough.length > 0 || groups.some((group) => !barren.has(group)) ? MAX_SPLITS_PER_READ : 0;
    const outcome = noOutcome();
    const ask = begin();
    try {
      await readPieces({ plan, pieces, maxSplits }, ask, outcome);
    } finally {
      // Also where the device went away in between: what it has refused it needn't be asked again.
      remember(learnHoles(memory.holes, outcome, mono()));
    }
    for (const group of groups) {
      if (hasAnswered(plan, outcome, group)) barren.delete(group);
      else barren.add(group);
    }
    const looked = await secondLook({ plan, outcome, orders: quirks, believed: memory.believed }, ask, mono);
    memory.believed = looked.believed;
    remember(underFirmware(memory.holes, firmwareIn(plan.tags, looked.samples)));
    return byGroup(groups, plan.tags, looked.samples);
  };

  return {
    open: (signal) => {
      forget = onAbort(signal, () => connection.leave(abortedBy(signal)));
      return connection.open();
    },
    read: (groups) => alone(() => readGroups(groups)),
    renewals: () => connection.renewals(),
    notes: () => notesOf(memory.answering, line.oddities),
    requests: () => ({ asked: memory.answering.asked, missed: memory.answering.missed }),
    close: () => {
      forget();
      connection.end(new LinkError("closed", say("plc.closed.gateway")));
      return Promise.resolve();
    },
  };
}

function notesOf({ closing: { per_connection } }: Answering, { echoes, stray_bytes }: LineOddities): LinkNote[] {
  const notes: LinkNote[] = [];
  if (per_connection === 1) notes.push({ kind: "closes", text: say("plc.note.closes_one") });
  else if (per_connection !== null)
    notes.push({ kind: "closes", text: say("plc.note.closes", { count: per_connection }) });
  if (echoes > 0) notes.push({ kind: "echo", text: say("plc.note.echo", { count: echoes }) });
  if (stray_bytes > 0) notes.push({ kind: "stray_bytes", text: say("plc.note.stray", { count: stray_bytes }) });
  return notes;
}

/** Counts a group's reads; whether what was refused of it is asked for again in this one. */
function thoroughReads(): (group: string) => boolean {
  const reads = new Map<string, number>();
  return (group) => {
    const count = reads.get(group) ?? 0;
    reads.set(group, count + 1);
    return count % REFUSED_RETRY_READS === 0;
  };
}

/** A second caller's mistake must not cost the first one its connection. */
function oneAtATime(): <T>(act: () => Promise<T>) => Promise<T> {
  let busy = false;
  return async (act) => {
    if (busy) throw new LinkError("config", "a read is already under way");
    busy = true;
    try {
      return await act();
    } finally {
      busy = false;
    }
  };
}

/** What is asked for in this read. Where nothing is left to read but what was refused, one of that shows whether the device is there. */
function piecesOf({ pieces, refused }: GroupsPlan, thorough: readonly string[]): readonly Piece[] {
  if (thorough.length === 0 && pieces.length > 0) return pieces;
  const again = refused.filter(({ groups }) => thorough.some((group) => groups.has(group)));
  return pieces.length + again.length > 0 ? [...pieces, ...again] : refused.slice(0, 1);
}

function hasAnswered({ tags }: GroupsPlan, { answered }: PieceOutcome, group: string): boolean {
  return answered.some(({ piece }) => piece.indices.some((index) => tags[index]?.group === group));
}

async function readPieces(
  read: { readonly plan: GroupsPlan; readonly pieces: readonly Piece[]; readonly maxSplits: number },
  ask: AskBlock,
  outcome: PieceOutcome,
): Promise<void> {
  let splits = 0;
  const reader = { points: read.plan.points, ask, maySplit: () => ++splits <= read.maxSplits };
  // Without any answer it asks on, until there is one or the device is found to be away.
  do {
    outcome.unanswered.length = 0;
    for (const piece of read.pieces) await readPiece(reader, piece, outcome);
  } while (read.pieces.length > 0 && outcome.answered.length + outcome.refused.length === 0);
}

interface PolledGroups {
  readonly plan: GroupsPlan;
  readonly outcome: PieceOutcome;
  readonly orders: Orders;
  readonly believed: Believed;
}

/**
 * What a poll gave, after what looked odd in it was looked at again: blocks that are suddenly all zero are held, the blocks of
 * counters that fell or ran are read a second time.
 * @param mono the clock that rates are measured by
 */
async function secondLook(poll: PolledGroups, ask: AskBlock, mono: () => Milliseconds) {
  const { plan, outcome, orders } = poll;
  const first_mono = mono();
  const read = samplesOf(plan, outcome, orders);
  const { believed, samples } = withoutSuddenZeros(poll, read);
  const { counters } = plan;
  const odd = suspects(believed, { mono: first_mono, samples }, counters);
  if (odd.size === 0) {
    believe(believed, { mono: first_mono, samples }, counters);
    return { samples, believed };
  }
  const again = await readAgain(poll, odd, ask);
  const second = { mono: mono(), first_mono, samples: again };
  const settled = agreed(samples, second, counters);
  believe(believed, { mono: second.mono, samples: settled }, counters);
  return { samples: settled, believed };
}

function withoutSuddenZeros({ plan, outcome, believed }: PolledGroups, samples: readonly Sample[]) {
  const blocks = outcome.answered.flatMap(({ piece, data }) =>
    data.kind === "words"
      ? [{ address: piece.block.address, words: data.words, tags: plan.tagsOf.get(piece) ?? plan.tagsIn(piece) }]
      : [],
  );
  const looked = zerosToHold(believed, blocks, isRestarted(plan, samples));
  if (looked.held.size === 0) return { samples, believed: looked.believed };
  const kept = samples.map((sample): Sample =>
    looked.held.has(sample.tag) ? { tag: sample.tag, value: null, quality: "bad", reason: "all_zero" } : sample,
  );
  return { samples: kept, believed: looked.believed };
}

/** The PLC itself says that it has just started. */
function isRestarted({ first_scans }: GroupsPlan, samples: readonly Sample[]): boolean {
  return first_scans.some((index) => samples[index]?.value === true);
}

/** The blocks with these tags once more; of what they bring, these tags alone. */
async function readAgain({ plan, outcome, orders }: PolledGroups, odd: ReadonlySet<TagName>, ask: AskBlock) {
  const answered: PieceOutcome["answered"][number][] = [];
  for (const { piece } of outcome.answered) {
    if (!piece.indices.some((index) => odd.has(plan.tags[index]?.name ?? ""))) continue;
    const data = await ask(piece.block);
    if (typeof data !== "string" && data.kind !== "exception") answered.push({ piece, data });
  }
  return samplesOf(plan, { ...noOutcome(), answered }, orders).filter(({ tag }) => odd.has(tag));
}

/** What a device that is away may cost those behind the same Modbus TCP gateway. */
const SHARED_ANSWER_MS = 800;

/**
 * Gives the booths of one agent their ways; every physical link is made once.
 * @param now the agent's clock, by which counters' rates and the age of holes are measured
 */
export function modbusLinks(now: () => Instant) {
  const lines = new Map<string, { readonly line: ModbusLine; users: number }>();
  return (config: ModbusConfig, profile: ModbusProfile, keeper?: HoleKeeper) => {
    const link = modbusAddressText(config);
    const shared = lines.get(link) ?? { line: modbusLine(config), users: 0 };
    shared.users++;
    lines.set(link, shared);
    const { line } = shared;
    // Asked for when every booth is known.
    const answer_ms = (): Milliseconds =>
      config.answer_timeout_ms ?? (shared.users > 1 ? Math.min(SHARED_ANSWER_MS, line.answer_ms) : line.answer_ms);
    const unit = config.unit_id ?? profile.quirks.unit_id;
    const device = [link, unit, profile.name, profile.version].join(" ");
    const polled = config.share === undefined ? null : polledWords(() => now().mono);
    const memory = keeper === undefined ? emptyMemory() : memoryKept(keeper, device, now);
    return {
      link,
      probe_ms: answer_ms,
      settle_ms: () => (line.numbered ? 0 : LATE_ANSWERS * answer_ms()),
      shared: { unit, ask: (ask: PlcAsk, within_ms: Milliseconds) => askOverLine(line, ask, within_ms) },
      ...(polled === null ? {} : { polled }),
      /** What the last driver learned of the device, the next one knows. */
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

function memoryKept(keeper: HoleKeeper, device: string, now: () => Instant): DeviceMemory {
  const memory: DeviceMemory = {
    ...emptyMemory(),
    holes: restoredHoles(keeper.kept, device, now()),
    holesChanged: () => keeper.keep(keptHoles(memory.holes, device, now())),
  };
  return memory;
}
