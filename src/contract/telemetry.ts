import { z } from "zod";
import type { StreamLabel } from "../domain/provisioning.ts";
import type { Placed } from "../domain/record.ts";
import type { ServiceTime } from "../domain/service-time.ts";
import type { EpochMs, Seq, StreamId } from "../domain/units.ts";
import { readable, reason } from "./fields.ts";

/** Version of the telemetry shapes. */
const VERSION = 1;

/** Topics below `bg/v1/{gateway_id}`. */
export const TOPICS = {
  state: "up/state",
  hello: "up/hello",
  batch: "up/batch",
  chunk: "up/chunk",
  ack: "down/ack",
  command: "down/cmd",
} as const;

/**
 * up/batch, columnar; see docs/reference/wire.md. Before gzip. Its records are consecutive, and share a boot and a clock offset (the caller has
 * cut them so). Throws on an empty list or a hole: both are programmer errors.
 */
export function batchOf(head: SentHead, records: readonly Placed[], sent: EpochMs) {
  const first = records[0];
  if (first === undefined) throw new Error("a batch holds at least one record");
  const indexes = new Map<string, number>();
  const indexOf = (tag: string): number => {
    const index = indexes.get(tag) ?? indexes.size;
    indexes.set(tag, index);
    return index;
  };
  records.forEach((record, index) => {
    if (record.seq !== first.seq + index || record.boot !== first.boot) throw new Error("a batch is one unbroken run");
  });
  return {
    v: VERSION,
    gw: head.gateway_id,
    gen: head.generation,
    st: head.stream,
    s0: first.seq,
    t0: first.time,
    mono0: first.mono,
    boot: first.boot,
    g: records.map((record) => indexOf(record.tag)),
    tags: [...indexes.keys()],
    k: records.map((record) => record.kind),
    dt: records.map((record) => record.mono - first.mono),
    val: records.map((record) => record.value),
    q: records.flatMap((record, index) => (record.quality === "good" ? [] : [[index, record.quality] as const])),
    sent,
  };
}

/** Whose a batch or a chunk is. */
export interface SentHead {
  readonly gateway_id: string;
  readonly generation: number;
  readonly stream: string;
}

/** Number texts are fine; null, "" and true are no numbers. */
const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/)
    .transform(Number),
]);
const count = number.pipe(z.int().nonnegative());
/** A field that can't be read, or makes no sense by itself, counts as absent: it voids nothing else. */
const hint = <Shape extends z.ZodType>(shape: Shape) => shape.nullable().catch(null).default(null);

/** What the service may say that it takes beside batches of gzipped JSON. */
export const TAKES = { chunks: "chunk/1", zstd: "zstd" } as const;

const said = {
  st: z.string(),
  s0: count,
  n: count,
  reject: readable(z.object({ seq: count, reason }))
    .catch([])
    .default([]),
  conflict: hint(count),
  /** End of the service's unbroken prefix of the stream. */
  acked_seq: hint(count),
  /** Newest record of the stream that the service holds, behind holes too. */
  newest_seq: hint(count),
  server_time: hint(number.pipe(z.number())),
  window: hint(count),
  /** What the service takes in this session. */
  takes: readable(z.string()).catch([]).default([]),
  /** Not "": the batch couldn't be looked at, and nothing of it was taken. */
  error: reason,
};

/**
 * down/ack. `st`, `s0`, `n` and `hash` alone must be right: they say which batch is meant, and prove what is said of it. All else
 * is a hint or is proven by the hash. `chunk` in place of `hash`: it is a chunk's, which it names by the SHA-256 of its message.
 */
export const ackShape = z.union([
  z.object({ ...said, chunk: z.string().regex(/^[0-9a-f]{64}$/) }),
  z.object({ ...said, hash: z.string() }),
]);
export type AckWire = z.infer<typeof ackShape>;

/** What a session says of a booth when it begins. */
export interface HelloBooth {
  readonly stream: StreamId;
  readonly serial: string;
  readonly generation: number;
  readonly oldest_seq: Seq;
  readonly newest_seq: Seq;
  readonly config_revision: number;
  readonly predecessor: StreamLabel["predecessor"];
}

/** up/hello as JSON. */
export function helloText(session: string, told: readonly HelloBooth[]): string {
  const booths = told.map(({ stream, predecessor, ...booth }) => ({ stream_id: stream, ...booth, predecessor }));
  return JSON.stringify({ v: VERSION, session, booths });
}

export interface BoothHeartbeat {
  readonly stream: StreamId;
  readonly serial: string;
  readonly generation: number;
  readonly firmware_version: string | null;
  readonly plc_program: string | null;
  readonly plc_program_revision: string | null;
  readonly link: "up" | "down";
  readonly mode: string;
  readonly waiting_records: number;
  /** Corrected time of the oldest record that waits and may be sent; null: there is none. */
  readonly oldest_at: EpochMs | null;
  /** Until records must be given up if none of them is acked; null: not known yet. */
  readonly hours_to_full: number | null;
}

/** up/state as JSON. `since`: begin of the session. */
export function heartbeatText(
  {
    agentVersion,
    service_time,
  }: { readonly agentVersion: string; readonly service_time: Pick<ServiceTime, "verdict"> },
  beat: {
    readonly session: string;
    readonly since: EpochMs;
    readonly online: boolean;
    readonly booths: readonly BoothHeartbeat[];
  },
): string {
  const { online, session, since } = beat;
  const { offset_ms, synced } = service_time.verdict();
  return JSON.stringify({
    v: VERSION,
    online,
    session,
    since,
    agent_version: agentVersion,
    clock: { offset_ms, synced },
    links: { service: online ? "up" : "down" },
    booths: beat.booths.map(({ stream, waiting_records, oldest_at, hours_to_full, ...booth }) => ({
      stream_id: stream,
      ...booth,
      backlog: { records: waiting_records, oldest_time: oldest_at, hours_to_full },
    })),
  });
}
