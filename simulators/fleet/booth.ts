import { randomUUID } from "node:crypto";
import { type BoothDelivery, type DeliveredBooth, newDelivery } from "../../src/delivery/context.ts";
import type { DeliveredLog } from "../../src/delivery/port.ts";
import type { BoothState, LogReach } from "../../src/domain/booth-state.ts";
import type { Clock } from "../../src/domain/machine.ts";
import { emptyRow, type ProvisioningRow } from "../../src/domain/provisioning.ts";
import type { ServiceRecord } from "../../src/domain/service.ts";
import type { Signals } from "../../src/domain/signal.ts";
import { type NewName, renamed } from "../../src/domain/stream-label.ts";
import type { RefusedRecords } from "../../src/domain/status.ts";
import type { StreamInfo } from "../../src/store/port.ts";
import {
  chunkOf,
  type ClockStep,
  commitsUpTo,
  contextOf,
  recordsOf,
  seqAfter,
  type Variant,
  type VirtualLog,
} from "./virtual-log.ts";

/**
 * Maximum number of records in a read: ten commits. Records are kept in memory until they are acked, and ten thousand
 * booths may have a backlog at once.
 */
const READ_LIMIT = 510;
/**
 * Reads of more records than this take a turn of the event loop each, because all virtual gateways share one processor.
 */
const SHORT_READ = 160;
const NONE_REFUSED: RefusedRecords = { count: 0, newest: null };

/** The name of a log at the service, and the records acked under it. */
export interface SentName {
  readonly stream: string;
  readonly from_seq: number;
  acked_to: number;
  /**
   * The variants recorded under this name, if an old copy of the store was restored later; null: the log's own
   * variants.
   */
  variants: readonly Variant[] | null;
}

/** A booth whose log is generated when it is read. */
export interface VirtualBooth extends DeliveredBooth {
  readonly serial: string;
  readonly stream: string;
  readonly log: VirtualLog & { readonly clock_steps: ClockStep[]; readonly variants: Variant[] };
  readonly names: SentName[];
  refused: number;
  bind(record: ServiceRecord): void;
  /** Adds a durable commit. */
  commit(): void;
  moveTo(acked_seq: number): StreamInfo;
  /** Simulates lost or repeated acks: this many commits are sent again. */
  forgetAcks(commits: number): void;
  /**
   * Restores an old copy of the store, after which other records are recorded. Returns false if the service has no
   * records yet that could differ.
   */
  putBack(commits: number): boolean;
  /** Makes the clock wrong by `off_ms` from the next commit on. */
  stepClock(off_ms: number): void;
  rename(name: Omit<NewName, "stream" | "id">): void;
}

interface NewBooth {
  readonly clock: Clock;
  readonly signals: Signals;
  readonly serial: string;
  readonly stream: string;
  readonly seed: number;
}

export function virtualBooth({ clock, signals, serial, stream, seed }: NewBooth): VirtualBooth {
  const log = { seed, start: clock.wall(), clock_steps: [] as ClockStep[], variants: [] as Variant[] };
  const names: SentName[] = [{ stream, from_seq: 1, acked_to: 0, variants: null }];
  let reach: LogReach = { stream, oldest_seq: 1, newest_seq: 0, sendable_seq: 0, acked_seq: 0 };
  let row: ProvisioningRow = emptyRow(log.start);
  const delivery: BoothDelivery = newDelivery(NONE_REFUSED);
  const cursorMoved = (acked_seq: number): void => void (reach = { ...reach, acked_seq });
  const state = stateOf({ clock, signals, serial, delivery }, { reach: () => reach, row: () => row, cursorMoved });
  const endAt = (newest_seq: number): void => void (reach = { ...reach, newest_seq, sendable_seq: newest_seq });
  return {
    state,
    delivery,
    serial,
    stream,
    log,
    names,
    refused: 0,
    bind: (record) => void (row = { ...row, state: "active", serial, generation: record.generation, record }),
    commit() {
      endAt(seqAfter(commitsUpTo(reach.newest_seq) + 1));
      signals.progress.raise();
    },
    moveTo(acked_seq) {
      if (acked_seq > reach.acked_seq) cursorMoved(acked_seq);
      const name = names.at(-1);
      if (name !== undefined) name.acked_to = Math.max(name.acked_to, acked_seq);
      return { ...reach, booth: serial, last_take: 0 };
    },
    forgetAcks(commits) {
      const { from_seq = 1 } = names.at(-1) ?? {};
      cursorMoved(Math.min(reach.acked_seq, Math.max(from_seq - 1, seqAfter(commitsUpTo(reach.acked_seq) - commits))));
    },
    putBack(commits) {
      const name = names.at(-1);
      if (name === undefined) return false;
      const first = commitsUpTo(name.from_seq - 1) + 1;
      const last = commitsUpTo(reach.acked_seq);
      const kept = seqAfter(Math.max(first, last - commits));
      if (kept >= reach.acked_seq) return false;
      name.variants = [...log.variants];
      log.variants.push({ from_seq: kept + 1, variant: log.variants.length + 1 });
      endAt(kept);
      cursorMoved(kept);
      Object.assign(delivery, newDelivery(delivery.refused));
      return true;
    },
    stepClock: (off_ms) => void log.clock_steps.push({ commit: commitsUpTo(reach.newest_seq), off_ms }),
    rename(name) {
      const id = randomUUID();
      row = { ...row, stream: renamed(row.stream, { ...name, stream, id }) };
      names.push({ stream: id, from_seq: name.from_seq, acked_to: 0, variants: null });
    },
  };
}

/** Returns the booth's state with the fields that delivery reads. The others are empty. */
function stateOf(
  { clock, signals, serial, delivery }: Omit<NewBooth, "stream" | "seed"> & { readonly delivery: BoothDelivery },
  now: {
    readonly reach: () => LogReach;
    readonly row: () => ProvisioningRow;
    readonly cursorMoved: (acked_seq: number) => void;
  },
): BoothState {
  return {
    ...signals,
    booth: serial,
    address: "made up",
    link: { plc: { kind: "up", since: clock.wall() }, answered: 1, shows_serial: serial },
    log: {
      get reach() {
        return now.reach();
      },
      summary: null,
      storage: null,
      now: () => clock.wall(),
      parameters: () => null,
      reached: () => null,
      syncedOffset: () => null,
      incidents: () => [],
      entries: () => [],
      seqOfEntry: () => undefined,
      cursorMoved: now.cursorMoved,
    },
    delivery,
    binding: {
      get row() {
        return now.row();
      },
      drift: "",
      lookAgain: () => undefined,
    },
  };
}

/** Returns the logs of all booths in the form that delivery reads. Their records are never stored. */
export function virtualStore(booths: ReadonlyMap<string, VirtualBooth>): DeliveredLog {
  const of = (stream: string): VirtualBooth => {
    const booth = booths.get(stream);
    if (booth === undefined) throw new Error(`there is no stream ${stream}`);
    return booth;
  };
  const turn = turns();
  return {
    async read(stream, from, limit) {
      const { log, state } = of(stream);
      const to = Math.min(state.log.reach.sendable_seq, from + Math.min(limit, READ_LIMIT) - 1);
      if (to - from >= SHORT_READ) await turn();
      return recordsOf(log, from, to);
    },
    contextRecords: (stream, from, end) =>
      Promise.resolve({ records: contextOf(of(stream).log, from, end), looked_to: end }),
    async chunks(stream, from, end) {
      const { log, state } = of(stream);
      await turn();
      return [chunkOf(log, from, Math.min(end, state.log.reach.sendable_seq))];
    },
    ack: (stream, upTo) => Promise.resolve(of(stream).moveTo(upTo)),
    setAside(stream, refusals) {
      const booth = of(stream);
      booth.refused += refusals.length;
      return Promise.resolve({ count: booth.refused, newest: null });
    },
  };
}

/**
 * Returns a function whose calls each resolve in a separate turn of the event loop, so that other gateways can send and
 * receive in between.
 */
function turns(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const next = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(next);
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(next);
    });
}
