import type { Quality } from "../core/types/booth.ts";
import type { LogRecord, Placed } from "../core/types/record.ts";
import type { Start } from "./pack.ts";

/** Seq and mono as distances from the row's, `at` and `source_at` as distances from mono + (t0 - mono0). */
type Packed = readonly [
  ...[kind: string, seq: number, mono: number, at: number, tag: string, value: unknown],
  ...([] | [quality: Quality] | [quality: Quality, source_at: number]),
];

/** Records as older versions wrote them, and as those whose instants are no whole numbers still are: 41 bytes a change. */
export function textOf(records: readonly Placed<LogRecord>[]): string {
  const [first] = records;
  return JSON.stringify(
    records.map((record): Packed => {
      const { kind, seq, mono, at, time, tag, value, quality } = record;
      const packed = [kind, seq - (first?.seq ?? 0), mono - (first?.mono ?? 0), at - time, tag, value] as const;
      if (record.kind === "r" && record.source_at !== undefined) return [...packed, quality, record.source_at - time];
      return quality === "good" ? packed : [...packed, quality];
    }),
  );
}

export function recordsOfText(row: Start & { readonly body: string }): Placed<LogRecord>[] {
  return (JSON.parse(row.body) as Packed[]).map(([kind, seq, mono, at, tag, value, quality, source]) => {
    const time = row.t0 + mono;
    const more = source === undefined ? {} : { source_at: source + time };
    const stamp = { seq: row.first_seq + seq, boot: row.boot, mono: row.mono0 + mono, at: at + time };
    // It was written from a LogRecord and its checksum holds, so its shape is the one that went in.
    return { kind, ...stamp, tag, value, ...more, quality: quality ?? "good", time } as Placed<LogRecord>;
  });
}
