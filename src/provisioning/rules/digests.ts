import type { DigestHour } from "../../domain/command.ts";
import type { Placed } from "../../domain/record.ts";
import type { EpochMs, Milliseconds, Seq } from "../../domain/units.ts";

const HOUR_MS: Milliseconds = 3_600_000;

/** An hour's records as they stand in the log: an unbroken run of seqs. */
export interface HourRun {
  readonly hour: EpochMs;
  readonly records: readonly Placed[];
}

/**
 * Cuts records, in seq order, into runs of one hour each. Records stand by seq, not by time: one that was placed before its
 * forerunner belongs to that one's hour. A hole in seq begins a run of its own.
 * @param before hour of the record before the first one; null: none is known
 */
export function hourRuns(records: readonly Placed[], before: EpochMs | null): readonly HourRun[] {
  const runs: { hour: EpochMs; records: Placed[] }[] = [];
  let hour = before ?? Number.NEGATIVE_INFINITY;
  let last: Seq | null = null;
  for (const record of records) {
    hour = Math.max(hour, Math.floor(record.time / HOUR_MS) * HOUR_MS);
    const run = runs.at(-1);
    if (run?.hour === hour && last === record.seq - 1) run.records.push(record);
    else runs.push({ hour, records: [record] });
    last = record.seq;
  }
  return runs;
}

/** What the gateway's fold says of finished hours, by hour; a later record of an hour replaces the one before. */
export function hourFigures(records: readonly Placed[]): ReadonlyMap<EpochMs, NonNullable<DigestHour["figures"]>> {
  return new Map(
    records.flatMap((record) => {
      if (record.kind !== "d") return [];
      const { hour, ms_by_mode, cycles, gas_therm, energy_kwh } = record.value;
      return [[hour, { ms_by_mode, cycles, gas_therm, energy_kwh }] as const];
    }),
  );
}
