import { z } from "zod";
import { canonical } from "./canonical.ts";
import { faultOfRecord } from "./validate.ts";

/** Maximum number of records in a batch. A gateway sends some 2,400. */
const MAX_RECORDS = 20_000;

/** Text without NUL, because PostgreSQL can't store NUL in a text. */
export const NO_NUL = /^[^\0]*$/;

/** Checks by hand: a schema for each letter takes longer than the rest of a batch. */
function isKinds(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_RECORDS) return false;
  return value.every((kind) => typeof kind === "string" && kind.length === 1);
}

function isIndexes(value: unknown): boolean {
  return Array.isArray(value) && value.every((index) => Number.isSafeInteger(index) && Number(index) >= 0);
}

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
  k: z.custom<readonly string[]>(isKinds),
  g: z.custom<readonly number[]>(isIndexes),
  dt: z.array(z.number()),
  val: z.array(z.unknown()),
  q: z.array(z.tuple([z.int().nonnegative(), z.string().max(16)])).default([]),
  sent: z.number().optional(),
});

/** An offered record: `value` is canonical JSON; `fault` is the reason for a rejection. */
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

type Columns = z.infer<typeof batchShape>;

function columnsOf(input: unknown): Columns | { readonly error: string } {
  const parsed = batchShape.safeParse(input);
  if (!parsed.success) return { error: `malformed: ${parsed.error.issues[0]?.path.join(".") ?? ""}` };
  const { data } = parsed;
  const isEven = [data.g, data.dt, data.val].every(({ length }) => length === data.k.length);
  return isEven ? data : { error: "malformed: columns of different length" };
}

/**
 * Reads an up/batch object. A batch with invalid columns gives an error; a bad record gives only a fault of that
 * record.
 */
export function parseBatch(input: unknown): Batch | { readonly error: string } {
  const columns = columnsOf(input);
  if ("error" in columns) return columns;
  const { s0, t0, mono0, boot } = columns;
  const qualities = new Map(columns.q);
  const records = columns.k.map((kind, i): Offered => {
    const tag = columns.tags[columns.g[i] ?? -1];
    const dt = columns.dt[i] ?? NaN;
    const quality = qualities.get(i) ?? "good";
    const seq = s0 + i;
    const mono = mono0 + dt;
    const time = t0 + dt;
    const record = offered({ seq, kind, tag: tag ?? "", boot, mono, time, quality }, columns.val[i]);
    return tag === undefined ? { ...record, fault: "unknown tag index" } : record;
  });
  return { gateway: columns.gw, generation: columns.gen, stream: columns.st, first: columns.s0, records };
}

/** Yields the wanted records of a stored batch, which had no faults, so they aren't checked again. */
export function* takenRecords(
  input: unknown,
  isWanted: (record: { readonly kind: string; readonly tag: string }) => boolean,
): Generator<Omit<Offered, "fault">, undefined> {
  const columns = columnsOf(input);
  if ("error" in columns) throw new Error(`a batch that was kept can't be read: ${columns.error}`);
  const { k, g, dt, val, tags, boot, s0, mono0, t0 } = columns;
  const qualities = new Map(columns.q);
  for (const [i, kind] of k.entries()) {
    const tag = tags[g[i] ?? -1] ?? "";
    if (!isWanted({ kind, tag })) continue;
    const later = dt[i] ?? NaN;
    const quality = qualities.get(i) ?? "good";
    yield {
      seq: s0 + i,
      kind,
      tag,
      boot,
      mono: mono0 + later,
      time: t0 + later,
      value: canonical(val[i] ?? null),
      quality,
    };
  }
}

/** Returns a record with its fault, if it has one. */
export function offered(record: Omit<Offered, "value" | "fault">, value: unknown): Offered {
  // Copies field by field, because this runs for every record and a spread takes as long as the rest.
  const { seq, kind, tag, boot, mono, time, quality } = record;
  const fault = faultOfRecord(record, value);
  try {
    return { seq, kind, tag, boot, mono, time, value: canonical(value ?? null), quality, fault };
  } catch {
    return { ...record, value: "null", fault: "value is nested too deeply" };
  }
}
