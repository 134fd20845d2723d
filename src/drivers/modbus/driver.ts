import { LinkError } from "../../core/link-error.ts";
import type { Block, Holes } from "../../core/plan.ts";
import { uniteHoles } from "../../core/plan-split.ts";
import type { Piece } from "../../core/plan-split.ts";
import type { ModbusProfile } from "../../core/types/profile.ts";
import type { Sample } from "../../core/types/sample.ts";
import type { Milliseconds } from "../../core/types/units.ts";
import type { Driver } from "../../ports.ts";
import { deviceError, learn, samplesOf } from "./group-outcome.ts";
import { planGroup } from "./group-plan.ts";
import type { GroupPlan } from "./group-plan.ts";
import { readPiece } from "./read-piece.ts";
import type { PieceOutcome } from "./read-piece.ts";
import { modbusSession } from "./session.ts";
import type { BlockAnswer, Session } from "./session.ts";
import { tcpWire } from "./wire.ts";
import type { OpenWire } from "./wire.ts";

export interface ModbusTimeouts {
  /** Until the connection stands; 5000. */
  readonly connect_ms?: Milliseconds;
  /** From one request to the end of its answer; 2000. */
  readonly answer_ms?: Milliseconds;
}

export interface ModbusDriverOptions {
  readonly host: string;
  readonly port: number;
  /** Absent: the profile's. */
  readonly unitId?: number;
  readonly profile: ModbusProfile;
  readonly timeouts?: ModbusTimeouts;
  /** Holes that an earlier connection found; what this one finds is added. */
  readonly learnedHoles?: Holes;
  /** What a round trip costs, in registers; TCP's default makes blocks as wide as the device allows. */
  readonly roundTripRegisters?: number;
  /** Instead of TCP to host and port. */
  readonly openWire?: OpenWire;
}

/**
 * Reads a Modbus device over one connection, which lasts until `close` or the first LinkError. Real time, unlike the
 * rest of the agent: deadlines belong to the socket.
 */
export interface ModbusDriver extends Driver {
  /** Ranges the device has refused, beside those of the profile; may be kept and handed to the next driver. */
  learnedHoles(): Holes;
}

const DEFAULT_CONNECT_MS = 5000;
const DEFAULT_ANSWER_MS = 2000;
/** A PLC answers once per scan (1 to 50 ms) however much is asked for; a register costs microseconds. */
const TCP_ROUND_TRIP_REGISTERS = 500;
/** Points that were refused are asked again every so many reads, so that a PLC's new program can bring them back. */
const REFUSED_RETRY_READS = 20;
/** Enough to find several holes in one read; a device that refuses everything costs no more than this. */
const MAX_SPLITS_PER_READ = 40;

export function modbusDriver(options: ModbusDriverOptions): ModbusDriver {
  const { profile, timeouts = {} } = options;
  const { quirks } = profile;
  const session = modbusSession({
    openWire: options.openWire ?? tcpWire(options.host, options.port),
    unitId: options.unitId ?? quirks.unit_id,
    connect_ms: timeouts.connect_ms ?? DEFAULT_CONNECT_MS,
    answer_ms: timeouts.answer_ms ?? DEFAULT_ANSWER_MS,
  });
  const ask = asker(session, quirks.min_gap_ms);
  const reads = new Map<string, number>();
  const plans = new Map<string, GroupPlan>();
  /** Groups of which the device refused every point in the last read: splitting their blocks again would only cost. */
  const barren = new Set<string>();
  let learned: Holes = options.learnedHoles ?? {};
  let reading = false;

  const planOf = (group: string): GroupPlan => {
    const known = plans.get(group);
    if (known !== undefined) return known;
    const holes = uniteHoles(quirks.holes, learned);
    const round_trip_registers = options.roundTripRegisters ?? TCP_ROUND_TRIP_REGISTERS;
    const plan = planGroup(profile, group, { options: { ...quirks, holes, round_trip_registers }, learned });
    plans.set(group, plan);
    return plan;
  };
  const readGroup = async (group: string): Promise<readonly Sample[]> => {
    const plan = planOf(group);
    if (plan.tags.length === 0) throw new LinkError("config", `the profile has no tag in group "${group}"`);
    const count = reads.get(group) ?? 0;
    reads.set(group, count + 1);
    const thorough = count % REFUSED_RETRY_READS === 0;
    const pieces = thorough ? [...plan.pieces, ...plan.refused] : plan.pieces;
    const maxSplits = thorough || !barren.has(group) ? MAX_SPLITS_PER_READ : 0;
    const outcome = await readPieces({ plan, pieces, maxSplits }, ask);
    if (outcome.answered.length === 0) barren.add(group);
    else barren.delete(group);
    const after = learn(learned, outcome);
    if (after !== learned) plans.clear();
    learned = after;
    return samplesOf(plan, outcome, quirks);
  };

  return {
    open: (signal) =>
      endOnAbort(session, signal, async () => {
        await session.open();
        if (quirks.connect_delay_ms > 0) await session.pause(quirks.connect_delay_ms);
      }),
    read: async (group, signal) => {
      // A second caller's mistake must not cost the first one its connection.
      if (reading) throw new LinkError("config", "a read is already under way");
      reading = true;
      try {
        return await endOnAbort(session, signal, () => readGroup(group));
      } finally {
        reading = false;
      }
    },
    close: () => {
      session.end(new LinkError("closed", "closed by the gateway"));
      return Promise.resolve();
    },
    learnedHoles: () => learned,
  };
}

/** An abort ends the connection, since the answer that is still to come could be taken for the next one's. */
async function endOnAbort<T>(session: Session, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
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

/** One request, after the rest that the device wants; the exceptions that concern the whole device are thrown. */
function asker(session: Session, minGap: Milliseconds): (block: Block) => Promise<BlockAnswer> {
  let lastAnswer = -Infinity;
  return async (block) => {
    const rest = minGap > 0 ? Math.ceil(lastAnswer + minGap - performance.now()) : 0;
    if (rest > 0) await session.pause(rest);
    const answer = await session.read(block);
    if (minGap > 0) lastAnswer = performance.now();
    const error = answer.kind === "exception" ? deviceError(answer.code) : null;
    if (error === null) return answer;
    session.end(error);
    throw error;
  };
}

async function readPieces(
  read: { readonly plan: GroupPlan; readonly pieces: readonly Piece[]; readonly maxSplits: number },
  ask: (block: Block) => Promise<BlockAnswer>,
): Promise<PieceOutcome> {
  let splits = 0;
  const reader = { points: read.plan.points, ask, maySplit: () => ++splits <= read.maxSplits };
  const outcomes: PieceOutcome[] = [];
  for (const piece of read.pieces) outcomes.push(await readPiece(reader, piece));
  return {
    answered: outcomes.flatMap(({ answered }) => answered),
    refused: outcomes.flatMap(({ refused }) => refused),
    learned: outcomes.flatMap((outcome) => outcome.learned),
  };
}
