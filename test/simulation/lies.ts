import { parseBatch } from "../../simulators/service/ingest/batch.ts";
import { rangeHash } from "../../simulators/service/ingest/canonical.ts";
import { isChunk, type Told } from "../support/virtual-link.ts";
import type { Dice } from "../scenarios/random.ts";
import { MINUTE_MS, DAY_MS } from "../../src/domain/time.ts";

/** False messages on down/ack. */
export const ACK_LIES = [
  "hash",
  "first",
  "count",
  "numbers",
  "ack_time",
  "unhashed_time",
  "conflict",
  "window",
  "reject",
  "other_stream",
  "error",
  "old_ack",
  "no_ack_at_all",
  "any_field",
] as const;
export type AckLie = (typeof ACK_LIES)[number];

type Fields = Readonly<Record<string, unknown>>;

interface Asked {
  readonly batch: unknown;
  /** Stores the batch and returns the true ack. */
  readonly take: () => Told;
  /** Acks that were sent earlier. */
  readonly before: readonly string[];
}
/** Unexpected values in place of a number, a text or a list. */
export const ODD = [null, "", "x", -1, 0.5, 1e15, 4e15, Number.MAX_SAFE_INTEGER, true, [], {}, [null], "1"] as const;
/** Length of a list that nearly fills the largest message. */
const LONG_LIST = 3_000;
/** A seq far outside of any batch. */
const FAR = 214;

/** Returns a wrong time, too early or too late. */
export function wrongTime(dice: Dice, time: number): unknown {
  return dice.one([
    ...[MINUTE_MS, 20 * MINUTE_MS, 100 * MINUTE_MS, DAY_MS, 365 * DAY_MS].flatMap((ms) => [time + ms, time - ms]),
    ...[4e15, -4e15, 0, -1, 1e300, "soon", null, String(time)],
  ]);
}

/** Returns false messages on down/ack. Unless the message depends on it, the batch may or may not be stored. */
export function lyingAcks(lie: AckLie, { batch, take, before }: Asked, dice: Dice): readonly string[] {
  const said = (isKept: boolean): Told => (isKept ? take() : untaken(batch));
  const isTaken = dice.chance(0.5);
  const one = (fields: Fields): readonly string[] => [JSON.stringify(fields)];
  switch (lie) {
    case "hash":
      return one(misnamed(said(isTaken), dice.one(["", "0".repeat(64), rangeHash([]), 5, null])));
    case "first": {
      const ack = said(isTaken);
      return one({ ...ack, s0: dice.one([ack.s0 + 1, ack.s0 - 1, 0, -5, ack.s0 + ack.n, ...ODD]) });
    }
    case "count": {
      const ack = said(isTaken);
      return one({ ...ack, n: dice.one([ack.n + 1, ack.n - 1, 0, 1e9, ...ODD]) });
    }
    case "numbers":
      return one({ ...take(), acked_seq: dice.one(farSeqs(batch)), newest_seq: dice.one(farSeqs(batch)) });
    case "ack_time": {
      const ack = take();
      return one({ ...ack, server_time: wrongTime(dice, ack.server_time) });
    }
    case "unhashed_time": {
      const ack = said(isTaken);
      return one(misnamed({ ...ack, server_time: ack.server_time + 20 * MINUTE_MS }, "0".repeat(64)));
    }
    case "conflict": {
      const ack = said(isTaken);
      return one({ ...ack, conflict: dice.one([ack.s0, ack.s0 + ack.n - 1, ...farSeqs(batch)]) });
    }
    case "window":
      return one({ ...take(), window: dice.one([0, 0, -1, 1e9, ...ODD]) });
    case "reject":
      return one(rejecting(said(isTaken), { batch, isTaken }, dice));
    case "other_stream":
      // The hash is right, but the batch was not stored.
      return one({ ...untaken(batch), hash: hashOf(batch), st: dice.one(["another-stream", "", 7]) });
    case "error": {
      const ack = said(isTaken);
      const error = dice.one<unknown>(["malformed: k", "too_large", "not_bound", "generation", "x", 5, {}]);
      return one({ ...ack, n: 0, s0: dice.one([ack.s0, 0]), st: dice.one([ack.st, ""]), error });
    }
    case "old_ack": {
      const own = JSON.stringify(take());
      return before.length === 0 ? [own] : dice.one([[dice.one(before)], [dice.one(before), own, own]]);
    }
    case "no_ack_at_all": {
      if (isTaken) take();
      return [dice.one(["", "null", "[]", "{", '"ok"', "<html>welcome</html>", `{"st":${"[".repeat(9_000)}`])];
    }
    case "any_field": {
      const ack = said(isTaken);
      return one({ ...ack, [dice.one(Object.keys(ack))]: dice.one(ODD) });
    }
  }
}

/** Returns the ack under another hash. */
function misnamed(ack: object, hash: unknown): Fields {
  return "chunk" in ack ? { ...ack, chunk: hash } : { ...ack, hash };
}

/**
 * Returns an ack of a batch that was not stored, with the hash of no records. A chunk's hash would prove storage, so it
 * is replaced by that hash too.
 */
function untaken(batch: unknown): Told {
  const { st, s0, k, sent } = batch as {
    readonly st: string;
    readonly s0: number;
    readonly k: readonly string[];
    readonly sent: number;
  };
  const name = isChunk(batch) ? { chunk: rangeHash([]) } : { hash: rangeHash([]) };
  const none = { ...name, reject: [], conflict: null, acked_seq: s0 - 1, newest_seq: s0 - 1 };
  return { st, s0, n: k.length, ...none, server_time: sent, window: 4, takes: [] };
}

function hashOf(batch: unknown): string {
  const parsed = parseBatch(batch);
  return "records" in parsed ? rangeHash(parsed.records) : "";
}

function farSeqs(batch: unknown): readonly unknown[] {
  const { s0, k } = batch as { readonly s0: number; readonly k: readonly string[] };
  return [s0 - 1, s0 + k.length, s0 + k.length + FAR, Math.max(1, s0 - FAR), 0, -1, 1e15, ...ODD];
}

function rejecting(ack: Told, { batch, isTaken }: { batch: unknown; isTaken: boolean }, dice: Dice): Fields {
  const parsed = parseBatch(batch);
  const records = "records" in parsed ? parsed.records : [];
  const refused = (seqs: readonly unknown[]): Fields => ({ reject: seqs.map((seq) => ({ seq, reason: "no" })) });
  const own = records.map(({ seq }) => seq);
  const { s0, k } = batch as { readonly s0: number; readonly k: readonly string[] };
  // Rejections of a chunk can't be proven: the agent would have to accept those of the chunk's own seqs.
  const longer = Math.max(LONG_LIST, k.length + 1);
  return dice.one<() => Fields>([
    // The batch is stored, and the hash is that of the remaining records.
    () => ({ ...ack, ...refused(own), hash: rangeHash([]) }),
    // The right hash for a batch that was not stored would be a valid ack.
    () => ({ ...ack, ...refused(own.slice(0, 1)), ...(isTaken ? { hash: rangeHash(records.slice(1)) } : {}) }),
    () => ({ ...ack, ...refused(own.slice(0, 2)) }),
    () => ({ ...ack, ...refused([s0 - 1, s0 - FAR, s0 + k.length, s0 + k.length + FAR]) }),
    () => ({ ...ack, ...refused(Array.from({ length: longer }, (_, i) => s0 + i - FAR)) }),
    () => ({ ...ack, ...refused(ODD) }),
    () => ({ ...ack, reject: dice.one(ODD) }),
  ])();
}
