import { z } from "zod";
import type { Placed } from "../core/types/record.ts";
import type { EpochMs } from "../core/types/units.ts";

/** Version of the telemetry shapes. */
const VERSION = 1;

/** Topics below `bg/v1/{gateway_id}`. */
export const TOPICS = {
  state: "up/state",
  hello: "up/hello",
  batch: "up/batch",
  ack: "down/ack",
  command: "down/cmd",
} as const;

export interface BatchHead {
  readonly gateway_id: string;
  readonly generation: number;
  readonly stream: string;
}

/** up/batch, columnar; see docs/wire.md. Before gzip. */
export interface BatchWire {
  readonly v: number;
  readonly gw: string;
  readonly gen: number;
  readonly st: string;
  readonly s0: number;
  readonly t0: number;
  readonly mono0: number;
  readonly boot: string;
  readonly tags: readonly string[];
  readonly k: readonly string[];
  readonly g: readonly number[];
  readonly dt: readonly number[];
  readonly val: readonly unknown[];
  readonly q: readonly (readonly [number, string])[];
  readonly sent: number;
}

/**
 * Columns of consecutive records that share a boot and a clock offset (the caller has cut them so).
 * Throws on an empty list or a hole: both are programmer errors.
 */
export function batchOf(head: BatchHead, records: readonly Placed[], sent: EpochMs): BatchWire {
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

const count = z.coerce.number().int().nonnegative();

/** down/ack, read tolerantly. */
export const ackShape = z.object({
  st: z.string(),
  s0: count,
  n: count,
  hash: z.string(),
  reject: z.array(z.object({ seq: count, reason: z.string().catch("") })).default([]),
  conflict: count.nullable().default(null),
  acked_seq: count.default(0),
  /** Newest record of the stream that the service holds, behind holes too; null: it doesn't say. */
  newest_seq: count.nullable().catch(null).default(null),
  server_time: z.coerce.number().nullable().catch(null),
  window: count.catch(1),
  /** Not "": the batch couldn't be looked at, and nothing of it was taken. */
  error: z.string().catch(""),
});
export type AckWire = z.infer<typeof ackShape>;

export interface HelloWire {
  readonly v: number;
  readonly session: string;
  readonly booths: readonly {
    readonly stream_id: string;
    readonly serial: string;
    readonly generation: number;
    readonly oldest_seq: number;
    readonly newest_seq: number;
    readonly predecessor: { readonly stream_id: string; readonly last_seq: number } | null;
    readonly config_revision: number;
  }[];
}

export function helloOf(session: string, booths: HelloWire["booths"]): HelloWire {
  return { v: VERSION, session, booths };
}

export interface StateWire {
  readonly v: number;
  readonly online: boolean;
  readonly session: string;
  readonly since: number;
  readonly agent_version: string;
  readonly clock: { readonly offset_ms: number | null; readonly synced: boolean };
  readonly links: { readonly service: string };
  readonly booths: readonly {
    readonly stream_id: string;
    readonly serial: string;
    readonly generation: number;
    readonly firmware_version: string | null;
    readonly plc_program: string | null;
    readonly plc_program_revision: string | null;
    readonly link: string;
    readonly mode: string;
    readonly backlog: {
      readonly records: number;
      readonly oldest_time: number | null;
      readonly hours_to_full: number | null;
    };
  }[];
}

export function stateOf(state: Omit<StateWire, "v">): StateWire {
  return { v: VERSION, ...state };
}
