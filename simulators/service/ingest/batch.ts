import { z } from "zod";
import { canonical } from "./canonical.ts";
import { faultOfRecord } from "./validate.ts";

/** Records a batch may hold at most; a gateway sends some 2,400. */
const MAX_RECORDS = 20_000;

/** Not every store can have one in a text. */
export const NO_NUL = /^[^\0]*$/;

const batchShape = z.object({
  v: z.literal(1),
  gw: z.string().max(128),
  gen: z.int().nonnegative(),
  st: z.string().min(1).max(128),
  s0: z.int().positive(),
  t0: z.number(),
  mono0: z.number(),
  boot: z.string().max(128).regex(NO_NUL),
  tags: z.array(z.string().max(128)).max(4096),
  k: z.array(z.string().length(1)).min(1).max(MAX_RECORDS),
  g: z.array(z.int().nonnegative()),
  dt: z.array(z.number()),
  val: z.array(z.unknown()),
  q: z.array(z.tuple([z.int().nonnegative(), z.string().max(16)])).default([]),
  sent: z.number().optional(),
});

/** One record as offered: `value` is canonical JSON; `fault` says why it can't be taken. */
export interface Offered {
  readonly seq: number;
  readonly kind: string;
  readonly tag: string;
  readonly boot: string;
  readonly mono: number;
  readonly time: number;
  readonly value: string;
  readonly quality: string;
  readonly fault: string | undefined;
}

export interface Batch {
  readonly gateway: string;
  readonly generation: number;
  readonly stream: string;
  readonly first: number;
  readonly records: readonly Offered[];
}

/** Reads an up/batch object; a batch whose columns make no sense as a whole gives an error, a bad record only its own fault. */
export function parseBatch(input: unknown): Batch | { readonly error: string } {
  const parsed = batchShape.safeParse(input);
  if (!parsed.success) return { error: `malformed: ${parsed.error.issues[0]?.path.join(".") ?? ""}` };
  const columns = parsed.data;
  const count = columns.k.length;
  if (columns.g.length !== count || columns.dt.length !== count || columns.val.length !== count) {
    return { error: "malformed: columns of different length" };
  }
  const qualities = new Map(columns.q);
  const records = columns.k.map((kind, i): Offered => {
    const tag = columns.tags[columns.g[i] ?? -1];
    const dt = columns.dt[i] ?? NaN;
    const quality = qualities.get(i) ?? "good";
    const when = { boot: columns.boot, mono: columns.mono0 + dt, time: columns.t0 + dt };
    const record = offered({ seq: columns.s0 + i, kind, tag: tag ?? "", quality, ...when }, columns.val[i]);
    return tag === undefined ? { ...record, fault: "unknown tag index" } : record;
  });
  return { gateway: columns.gw, generation: columns.gen, stream: columns.st, first: columns.s0, records };
}

/** A record with what is wrong with it, if anything is. */
export function offered(record: Omit<Offered, "value" | "fault">, value: unknown): Offered {
  const fault = faultOfRecord({ ...record, value });
  try {
    return { ...record, value: canonical(value ?? null), fault };
  } catch {
    return { ...record, value: "null", fault: "value is nested too deeply" };
  }
}
