import { z } from "zod";
import type { StreamLabel } from "../domain/provisioning.ts";
import type { Placed } from "../domain/record.ts";
import type { ServiceTime } from "../domain/service-time.ts";
import type { EpochMs, Seq, StreamId } from "../domain/units.ts";
import { readable, reason } from "./fields.ts";

/** The version of the telemetry messages. */
const VERSION = 1;

/** The MQTT topics below `bg/v1/{gateway_id}`. */
export const TOPICS = {
  state: "up/state",
  hello: "up/hello",
  batch: "up/batch",
  chunk: "up/chunk",
  ack: "down/ack",
  command: "down/cmd",
} as const;

/**
 * Builds an up/batch message in columns, before gzip; see docs/reference/wire.md. The records must be consecutive, of the same boot and
 * with the same clock offset. Throws for an empty list or a gap, which are programming errors.
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

/** The sender of a batch or a chunk. */
export interface SentHead {
  readonly gateway_id: string;
  readonly generation: number;
  readonly stream: string;
}

/** A number, or a text that is a number. null, "" and true are not numbers. */
const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/)
    .transform(Number),
]);
const count = number.pipe(z.int().nonnegative());
/** Returns the shape of an optional field. An unreadable field counts as absent, and the other fields stay valid. */
const hint = <Shape extends z.ZodType>(shape: Shape) => shape.nullable().catch(null).default(null);

/** Formats that the service may accept in addition to batches of gzipped JSON. */
export const TAKES = { chunks: "chunk/1", zstd: "zstd" } as const;

const ackFields = {
  st: z.string(),
  s0: count,
  n: count,
  reject: readable(z.object({ seq: count, reason }))
    .catch([])
    .default([]),
  conflict: hint(count),
  /** The sequence number up to which the service has every record. */
  acked_seq: hint(count),
  /** The newest record that the service has, even if earlier records are missing. */
  newest_seq: hint(count),
  server_time: hint(number.pipe(z.number())),
  window: hint(count),
  /** The formats that the service accepts in this session. */
  takes: readable(z.string()).catch([]).default([]),
  /** The reason why the batch could not be read and was not stored; "" if it was stored. */
  error: reason,
};

/**
 * The shape of a down/ack message. Only `st`, `s0`, `n` and `hash` are required: they identify the batch, and prove that the service stored
 * it. All other fields are hints, or the hash proves them. The ack of a chunk has `chunk` instead of `hash`: the SHA-256 of the chunk's
 * message.
 */
export const ackShape = z.union([
  z.object({ ...ackFields, chunk: z.string().regex(/^[0-9a-f]{64}$/) }),
  z.object({ ...ackFields, hash: z.string() }),
]);
export type AckWire = z.infer<typeof ackShape>;

/** A booth in the hello message, the first of a session. */
export interface HelloBooth {
  readonly stream: StreamId;
  readonly serial: string;
  readonly generation: number;
  readonly oldest_seq: Seq;
  readonly newest_seq: Seq;
  /** The cursor: the service has acked every record up to here. It requests those that it has lost. */
  readonly acked_seq: Seq;
  readonly config_revision: number;
  readonly predecessor: StreamLabel["predecessor"];
}

/** Returns an up/hello message as JSON. */
export function helloText(session: string, list: readonly HelloBooth[]): string {
  const booths = list.map(({ stream, predecessor, ...booth }) => ({ stream_id: stream, ...booth, predecessor }));
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
  /** The cursor, as in the hello message: a service that is restored during a session learns of its loss. */
  readonly acked_seq: Seq;
  readonly waiting_records: number;
  /** The corrected time of the oldest record that waits and may be sent; null if no record waits. */
  readonly oldest_at: EpochMs | null;
  /** Hours until records must be deleted if none is acknowledged; null if this is not known yet. */
  readonly hours_to_full: number | null;
}

/** Returns an up/state message as JSON. `since`: the start of the session. */
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
