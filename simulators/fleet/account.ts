import { contentLine, canonical } from "../service/ingest/canonical.ts";
import type { SentName, VirtualBooth } from "./booth.ts";
import { recordsOf } from "./virtual-log.ts";

/** A stored record, identified by its content line. */
export interface StoredLine {
  readonly seq: number;
  readonly line: string;
}

/** The stored records of a stream, read by SQL that the service doesn't use. */
export interface HeldStream {
  /** Inclusive ranges of seqs in order, not adjacent to each other. */
  readonly ranges: readonly (readonly [from: number, to: number])[];
  /** Number of stored records. A record that is stored twice counts twice. */
  readonly records: number;
}

export interface StoreLook {
  /** Returns the stored records of every stream, by its name. */
  held(): Promise<ReadonlyMap<string, HeldStream>>;
  contents(stream: string): Promise<readonly StoredLine[]>;
  close(): Promise<void>;
}

/** The sums over all records that the fleet recorded. */
export interface Account {
  readonly streams: number;
  /** Number of records that the gateways got acks for. */
  readonly acked: number;
  /** Number of acked records that aren't in the store. */
  readonly lost: number;
  /** Number of records that are in the store more than once. */
  readonly doubled: number;
  /**
   * Number of records whose stored content differs from the recorded one, for the streams whose contents were compared.
   */
  readonly wrong: number;
  readonly read: number;
  /** Number of recorded records without an ack. */
  readonly waiting: number;
  /** Number of records that the service permanently rejected. */
  readonly refused: number;
}

/** @param contents compares each record of every nth booth; 0: of no booth */
export async function accountOf(
  look: StoreLook,
  { booths, gone }: { readonly booths: readonly VirtualBooth[]; readonly gone: readonly VirtualBooth[] },
  contents: number,
): Promise<Account> {
  const held = await look.held();
  const sum = { streams: 0, acked: 0, lost: 0, doubled: 0, wrong: 0, read: 0, waiting: 0, refused: 0 };
  for (const booth of booths) sum.waiting += booth.state.log.reach.newest_seq - booth.state.log.reach.acked_seq;
  for (const [nth, booth] of [...booths, ...gone].entries()) {
    sum.refused += booth.refused;
    for (const name of booth.names) {
      const stored = held.get(name.stream) ?? { ranges: [], records: 0 };
      const acked = Math.max(0, name.acked_to - name.from_seq + 1);
      sum.streams += 1;
      sum.acked += acked;
      sum.lost += acked - within(stored.ranges, name.from_seq, name.acked_to);
      sum.doubled += stored.records - within(stored.ranges, 0, Infinity);
      if (contents === 0 || nth % contents !== 0 || stored.records === 0) continue;
      const { read, wrong } = compared(booth, name, await look.contents(name.stream));
      sum.read += read;
      sum.wrong += wrong;
    }
  }
  return sum;
}

/** Counts the seqs of the ranges from `first` to `last`, both included. */
function within(ranges: HeldStream["ranges"], first: number, last: number): number {
  return ranges.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, last) - Math.max(from, first) + 1), 0);
}

function compared(booth: VirtualBooth, name: SentName, stored: readonly StoredLine[]): { read: number; wrong: number } {
  const log = { ...booth.log, variants: name.variants ?? booth.log.variants };
  let wrong = 0;
  for (const { seq, line } of stored) {
    const [record] = recordsOf(log, seq, seq);
    if (record === undefined || contentLine({ ...record, value: canonical(record.value) }) !== line) wrong += 1;
  }
  return { read: stored.length, wrong };
}
