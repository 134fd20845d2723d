import type { Milliseconds, Seq } from "../../domain/units.ts";

/** After an answer that isn't taken at its word a booth's delivery rests for so long, then asks again. */
export const REST_MS: Milliseconds = 300_000;
/** Records that are set aside at the service's first word, in `REST_MS`. Poison is rare: who refuses more may be out of order for a while. */
const AT_ONCE = 100;

/** What the service refused of late. */
export interface Refusing {
  /** Mono of the first of `records`. */
  readonly since: Milliseconds;
  readonly records: number;
  /** Refused beyond what is believed at once, from that seq on, and to be asked for again; null: nothing. */
  readonly asked: Seq | null;
}

/** The service refuses so many records, the first of them `seq`. */
export interface Refused {
  readonly seq: Seq;
  readonly records: number;
  readonly mono: Milliseconds;
}

/** Whether they are set aside; if not, they are offered again after a rest, and a service that refuses them then too is believed. */
export function afterRefusal(
  before: Refusing | null,
  { seq, records, mono }: Refused,
): { readonly refusing: Refusing; readonly is_believed: boolean } {
  const recent = before !== null && mono - before.since < REST_MS ? before : { since: mono, records: 0 };
  const sum = recent.records + records;
  const is_believed = sum <= AT_ONCE || before?.asked === seq;
  return is_believed
    ? { refusing: { since: recent.since, records: sum, asked: null }, is_believed }
    : { refusing: { since: mono, records: recent.records, asked: seq }, is_believed };
}
