import { LinkError } from "../../core/link-error.ts";
import type { Block } from "../../core/plan.ts";
import { uniteHoles } from "../../core/plan-split.ts";
import type { Piece } from "../../core/plan-split.ts";
import type { ModbusProfile } from "../../core/types/profile.ts";
import type { Sample } from "../../core/types/sample.ts";
import type { Milliseconds } from "../../core/types/units.ts";
import { NO_WITNESS } from "../../core/witness.ts";
import type { Witness } from "../../core/witness.ts";
import type { Driver } from "../../ports.ts";
import { asker } from "./asker.ts";
import { endOnAbort } from "./end-on-abort.ts";
import { planGroup } from "./group-plan.ts";
import type { GroupPlan } from "./group-plan.ts";
import { expireHoles, firmwareIn, HOLE_TTL_MS, holesNow, learnHoles, NO_HOLES, underFirmware } from "./hole-memory.ts";
import type { HoleMemory } from "./hole-memory.ts";
import { readPiece } from "./read-piece.ts";
import type { PieceOutcome } from "./read-piece.ts";
import type { ModbusLine } from "./line.ts";
import { secondLook } from "./second-look.ts";
import { modbusSession } from "./session.ts";
import type { BlockAnswer } from "./session.ts";
import { wirePort } from "./wire-port.ts";

export interface ModbusTimeouts {
  /** Until the connection stands; 2500. */
  readonly connect_ms?: Milliseconds;
  /** From one request to the end of its answer; absent: the line's. */
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
 * Reads a Modbus device over one connection, which lasts until `close` or the first LinkError. Real time, unlike the
 * rest of the agent: deadlines belong to the socket.
 */
export type ModbusDriver = Driver;

/** What is learned of a device over its connections. */
export interface DeviceMemory {
  /** Ranges the device has refused, beside those of the profile. */
  holes: HoleMemory;
  witness: Witness;
  /** Told when the holes are others than before. */
  readonly holesChanged?: () => void;
}

export function emptyMemory(): DeviceMemory {
  return { holes: NO_HOLES, witness: NO_WITNESS };
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
  const session = modbusSession({
    makePort: wirePort(line.openWire, line.makeFraming()),
    unitId,
    connect_ms: timeouts.connect_ms ?? DEFAULT_CONNECT_MS,
    answer_ms,
  });
  const ask = asker(session, { line, unitId, answer_ms, min_gap_ms: quirks.min_gap_ms });
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
    const outcome = await readPieces({ plan, pieces, maxSplits }, ask);
    if (outcome.answered.length === 0) barren.add(group);
    else barren.delete(group);
    remember(learnHoles(memory.holes, outcome, mono()));
    const looked = await secondLook({ plan, outcome, orders: quirks, witness: memory.witness }, { ask, mono });
    memory.witness = looked.witness;
    remember(underFirmware(memory.holes, firmwareIn(plan.tags, looked.samples)));
    return looked.samples;
  };

  return {
    open: (signal) =>
      endOnAbort(session, signal, async () => {
        await session.open();
        if (quirks.connect_delay_ms > 0) await session.pause(quirks.connect_delay_ms);
      }),
    read: (group, signal) => alone(() => endOnAbort(session, signal, () => readGroup(group))),
    close: () => {
      session.end(new LinkError("closed", "closed by the gateway"));
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
