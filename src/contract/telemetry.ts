import { z } from "zod";
import type { Placed } from "../domain/record.ts";
import type { EpochMs } from "../domain/units.ts";

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
const rejection = z.object({ seq: count, reason: z.string().catch("") });

/**
 * down/ack. `st`, `s0`, `n` and `hash` alone must be right: they say which batch is meant, and prove what is said of it. All else
 * is a hint or is proven by the hash.
 */
export const ackShape = z.object({
  st: z.string(),
  s0: count,
  n: count,
  hash: z.string(),
  reject: z
    .array(z.unknown())
    .catch([])
    .default([])
    .transform((list) =>
      list.flatMap((item) => {
        const parsed = rejection.safeParse(item);
        return parsed.success ? [parsed.data] : [];
      }),
    ),
  conflict: hint(count),
  /** End of the service's unbroken prefix of the stream. */
  acked_seq: hint(count),
  /** Newest record of the stream that the service holds, behind holes too. */
  newest_seq: hint(count),
  server_time: hint(number.pipe(z.number())),
  window: hint(count),
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
