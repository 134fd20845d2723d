import { LinkError } from "../../domain/link-error.ts";
import { type Piece, uniteHoles } from "../rules/plan-split.ts";
import type { ModbusProfile } from "../../domain/profile.ts";
import type { Sample } from "../../domain/sample.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { NO_WITNESS, type DoubtedCounter } from "../rules/doubted-counter.ts";
import type { Driver } from "../port.ts";
import { type Answering, unknownDevice } from "./answering.ts";
import { asker, type Asker, isLost } from "./asker.ts";
import { type GroupPlan, planGroup } from "./group-plan.ts";
import {
  expireHoles,
  firmwareIn,
  HOLE_TTL_MS,
  type HoleMemory,
  holesNow,
  learnHoles,
  NO_HOLES,
  underFirmware,
} from "./hole-memory.ts";
import { noOutcome, type PieceOutcome, type PieceReader, readPiece, type UnansweredReason } from "./read-piece.ts";
import type { ModbusLine } from "./line.ts";
import { renewing, type Renewing } from "./renewing.ts";
import { secondLook } from "./second-look.ts";
import { modbusSession, type Session } from "./session.ts";
import { wirePort } from "./wire-port.ts";

export interface ModbusTimeouts {
  /** Until the connection stands; 2500. */
  readonly connect_ms?: Milliseconds;
  /** From one request to the end of its answer, at most: less, as the device's answers teach; absent: the line's. */
  readonly answer_ms?: Milliseconds;
}

export interface ModbusDriverOptions {
  /** May be shared with other drivers, of which one at a time is at work. */
  readonly line: ModbusLine;
  /** Absent: the profile's. */
  readonly unitId?: number;
  readonly profile: ModbusProfile;
  readonly timeouts?: ModbusTimeouts;
  /** What earlier connections learned of the device; what this one learns goes there too. */
  readonly memory?: DeviceMemory;
  /** How long a learned hole is believed; 24 h. */
  readonly hole_ttl_ms?: Milliseconds;
  /** The clock that counters' rates and the age of holes are measured by; absent: real time. */
  readonly mono?: () => Milliseconds;
  /** What a round trip costs, in registers; absent: the line's. TCP's makes blocks as wide as the device allows. */
  readonly roundTripRegisters?: number;
}

/**
 * Reads a Modbus device over one connection, and within a poll over a fresh one where an answer was lost, until `close` or
 * the first LinkError. Real time, unlike the rest of the agent: deadlines belong to the socket.
 */
export type ModbusDriver = Driver;

/** What is learned of a device over its connections. */
export interface DeviceMemory {
  /** Ranges the device has refused, beside those of the profile. */
  holes: HoleMemory;
  witness: DoubtedCounter;
  readonly answering: Answering;
  /** Told when the holes are others than before. */
  readonly holesChanged?: () => void;
}

export function emptyMemory(): DeviceMemory {
  return { holes: NO_HOLES, witness: NO_WITNESS, answering: unknownDevice() };
}

/** Two tries of TCP (at 0 and 1 s); a third would come after 3 s, when a new attempt is as good and jittered. */
const DEFAULT_CONNECT_MS = 2500;
/** Points that were refused are asked again every so many reads, so that a PLC's new program can bring them back. */
const REFUSED_RETRY_READS = 20;
/** Enough to find several holes in one read; a device that refuses everything costs no more than this. */
const MAX_SPLITS_PER_READ = 40;

export function modbusDriver(options: ModbusDriverOptions): ModbusDriver {
  const { profile, line, timeouts = {}, memory = emptyMemory(), mono = () => performance.now() } = options;
  const { quirks } = profile;
  const unitId = options.unitId ?? quirks.unit_id;
  const answer_ms = timeouts.answer_ms ?? line.answer_ms;
  const connect_ms = timeouts.connect_ms ?? DEFAULT_CONNECT_MS;
  const connection = renewing(
    () => modbusSession({ makePort: wirePort(line.openWire, line.makeFraming()), unitId, connect_ms, answer_ms }),
    quirks.connect_delay_ms,
  );
  const { min_gap_ms } = quirks;
  const device = asker({ line, connection, unitId, answer_ms, min_gap_ms, device: memory.answering });
  const reads = new Map<string, number>();
  const plans = new Map<string, GroupPlan>();
  /** Groups of which the device refused every point in the last read: splitting their blocks again would only cost. */
  const barren = new Set<string>();
  const alone = oneAtATime();

  const planOf = (group: string): GroupPlan => {
    const known = plans.get(group);
    if (known !== undefined) return known;
    const learned = holesNow(memory.holes);
    const round_trip_registers = options.roundTripRegisters ?? line.round_trip_registers;
    const cost = { ...quirks, holes: uniteHoles(quirks.holes, learned), round_trip_registers };
    const plan = planGroup(profile, group, { options: cost, learned });
    plans.set(group, plan);
    return plan;
  };
  const remember = (holes: HoleMemory): void => {
    if (holes === memory.holes) return;
    memory.holes = holes;
    memory.holesChanged?.();
    plans.clear(); // what one group has shown may concern the blocks of all
  };
  const readGroup = async (group: string): Promise<readonly Sample[]> => {
    remember(expireHoles(memory.holes, mono(), options.hole_ttl_ms ?? HOLE_TTL_MS));
    const plan = planOf(group);
    if (plan.tags.length === 0) throw new LinkError("config", `the profile has no tag in group "${group}"`);
    const count = reads.get(group) ?? 0;
    reads.set(group, count + 1);
    const thorough = count % REFUSED_RETRY_READS === 0;
    const pieces = thorough ? [...plan.pieces, ...plan.refused] : plan.pieces;
    const maxSplits = thorough || !barren.has(group) ? MAX_SPLITS_PER_READ : 0;
    const outcome = noOutcome();
    const ask = patiently(device, connection);
    try {
      await readPieces({ plan, pieces, maxSplits }, ask, outcome);
    } finally {
      // Also where the device went away in between: what it has refused it needn't be asked again.
      remember(learnHoles(memory.holes, outcome, mono()));
    }
    if (outcome.answered.length === 0) barren.add(group);
    else barren.delete(group);
    const looked = await secondLook({ plan, outcome, orders: quirks, witness: memory.witness }, { ask, mono });
    memory.witness = looked.witness;
    remember(underFirmware(memory.holes, firmwareIn(plan.tags, looked.samples)));
    return looked.samples;
  };

  return {
    open: (signal) => endOnAbort(connection, signal, () => connection.open()),
    read: (group, signal) => alone(() => endOnAbort(connection, signal, () => readGroup(group))),
    renewals: () => connection.renewals(),
    requests: () => ({ asked: memory.answering.asked, missed: memory.answering.missed }),
    close: () => {
      connection.end(new LinkError("closed", "closed by the gateway"));
      return Promise.resolve();
    },
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

/**
 * Asks for one poll. A device that goes away in its midst leaves what it has answered; what wasn't asked for by then has
 * the same reason.
 */
function patiently(device: Asker, connection: Renewing): PieceReader["ask"] {
  let answered = false;
  let gone: UnansweredReason | null = null;
  device.begin();
  return async (block) => {
    if (gone !== null) return gone;
    try {
      const answer = await device.ask(block);
      if (answer.kind === "unanswered") return reasonOf(answer.error);
      answered = true;
      return answer;
    } catch (error) {
      if (!answered || connection.ended() !== null || !isLost(error)) throw error;
      return (gone = reasonOf(error));
    }
  };
}

function reasonOf({ kind }: LinkError): UnansweredReason {
  return kind === "malformed" ? "wrong_answer" : "no_answer";
}

async function readPieces(
  read: { readonly plan: GroupPlan; readonly pieces: readonly Piece[]; readonly maxSplits: number },
  ask: PieceReader["ask"],
  outcome: PieceOutcome,
): Promise<void> {
  let splits = 0;
  const reader = { points: read.plan.points, ask, maySplit: () => ++splits <= read.maxSplits };
  // Without any answer it asks on, until there is one or the device is found to be away.
  do {
    outcome.unanswered.length = 0;
    for (const piece of read.pieces) await readPiece(reader, piece, outcome);
  } while (outcome.answered.length + outcome.refused.length === 0);
}

/** An abort ends the connection, since the answer that is still to come could be taken for the next one's. */
export async function endOnAbort<T>(
  session: Pick<Session, "end">,
  signal: AbortSignal,
  act: () => Promise<T>,
): Promise<T> {
  const abort = (): void => {
    const late = signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
    session.end(new LinkError(late ? "timeout" : "closed", "given up by the gateway", signal.reason));
  };
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await act();
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
