import type { Parameters, TagParameters, TagRole } from "../../../src/domain/parameters.ts";
import { bridgeMs } from "./bridge.ts";
import { type BoothLog, parametersAt, type Sample, samplesOf, tagsOfRole } from "./log.ts";
import { firstAfter } from "../base/search.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

const RATE_MARGIN = 1.5;
const GAS_RATE_MARGIN = 1.1;
const BTU_PER_THERM = 100_000;

/** The increase that a counter's new reading adds, at the reading's instant. */
export interface Booking {
  readonly time: number;
  /** In the figure's unit (decoded value x factor). */
  readonly amount: number;
  readonly kind: "normal" | "wrap" | "reset" | "unexplained";
}

/** Returns all increases of a role's counters, in order of time. */
export function bookings(log: BoothLog, role: TagRole, restarts: readonly number[]): Booking[] {
  return tagsOfRole(log, role)
    .flatMap(({ name }) => bookingsOf(log, name, restarts))
    .sort((a, b) => a.time - b.time);
}

/** Returns the increases of one counter, in order of time. */
export function bookingsOf(log: BoothLog, name: string, restarts: readonly number[]): Booking[] {
  const out: Booking[] = [];
  let before: Sample | undefined;
  for (const sample of samplesOf(log, name)) {
    if (!sample.good) continue;
    const value = Number(sample.value);
    const parameters = parametersAt(log, sample.time);
    const tag = parameters?.tags[name];
    if (before !== undefined && tag !== undefined && parameters !== undefined && value !== Number(before.value)) {
      const dt = before.boot === sample.boot ? sample.mono - before.mono : sample.time - before.time;
      const limit = allowance(tag, parameters, dt);
      const since = before.time - bridgeMs(parameters, tag.group);
      const restarted = restarts.some((at) => at >= since && at <= sample.time + 60_000);
      const { amount, kind } = classify({ from: Number(before.value), to: value, limit, tag, restarted });
      out.push({ time: sample.time, amount: amount * tag.factor, kind });
    }
    before = sample;
  }
  return out;
}

interface Pair {
  readonly from: number;
  readonly to: number;
  /** The largest plausible increase. */
  readonly limit: number;
  readonly tag: TagParameters;
  readonly restarted: boolean;
}

function classify({ from, to, limit, tag, restarted }: Pair): Omit<Booking, "time"> {
  const margin = 1e-6 * Math.max(1, tag.counter?.step ?? 1);
  const rise = to - from;
  if (rise >= 0) return rise <= limit + margin ? { amount: rise, kind: "normal" } : { amount: 0, kind: "unexplained" };
  const modulus = tag.counter?.modulus;
  if (modulus !== undefined && Number.isFinite(limit) && from < modulus && rise + modulus <= limit + margin)
    return { amount: rise + modulus, kind: "wrap" };
  // Without a rate no fall is explained.
  if (Number.isFinite(limit) && to >= 0 && to <= limit + margin) return { amount: to, kind: "reset" };
  return { amount: 0, kind: restarted ? "reset" : "unexplained" };
}

/**
 * Returns the largest plausible increase: one step, plus 1.5 times the highest rate over the time since the last good
 * reading.
 */
export function allowance(tag: TagParameters, parameters: Parameters, dt: number): number {
  const rate = tag.counter?.max_rate_per_h ?? defaultRate(tag, parameters);
  if (!Number.isFinite(rate)) return Infinity;
  return (tag.counter?.step ?? 0) + (rate * Math.max(dt, 0) * RATE_MARGIN) / HOUR_MS;
}

/**
 * The highest count of a time meter in an hour, by its unit. Any other unit is converted to hours by the tag's factor.
 */
const METER_RATE_H = 1.02;
const METER_RATES: Readonly<Record<string, number>> = { min: 61.2, s: 3672 };

function defaultRate(tag: TagParameters, parameters: Parameters): number {
  if (tag.role === "cycle_counter") return 6;
  if (tag.role === "hour_meter" || tag.role === "filter_minutes") return METER_RATES[tag.unit] ?? METER_RATE_H;
  if (tag.role === "motor_starts") return 60;
  const therms = (GAS_RATE_MARGIN * (parameters.burner_size_btu_h ?? Infinity)) / BTU_PER_THERM;
  return tag.role === "gas" ? therms / (tag.factor || 1) : Infinity;
}

/** Returns the sum of increases in [start, end). The list is in order of time. */
export function booked(list: readonly Booking[], window: { readonly start: number; readonly end: number }): number {
  let sum = 0;
  for (let i = firstAfter(list, window.start - 1, (entry) => entry.time); i < list.length; i += 1) {
    const entry = list[i];
    if (entry === undefined || entry.time >= window.end) break;
    // Corrected times may have fractions of a millisecond.
    if (entry.time >= window.start) sum += entry.amount;
  }
  return sum;
}
