import type { FilterLimits } from "../../domain/booth.ts";
import { DAY_MS, MINUTE_MS } from "../../domain/time.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { Episode, Installation, Settled } from "../state.ts";
import { usedMinutes } from "./installation.ts";

export function runningEpisode(filter: Installation): Episode | null {
  const last = filter.overuse.at(-1);
  return last?.until === null ? last : null;
}

/** Starts overuse unless it is already running. `flagged`: the limit was reached while nothing was read. */
export function startOveruse(filter: Installation, since: EpochMs, flagged = false): void {
  if (runningEpisode(filter) === null) filter.overuse.push({ since, until: null, flagged });
}

/**
 * Adds settled time (time whose mode is final) to the filter, as far as the filter was in. A limit that the box counts starts overuse at
 * the instant it is reached. Within inferred time or time without data, overuse starts at the next good reading.
 */
function useFilter(filter: Installation, time: Settled, in_use: boolean): void {
  const from = Math.max(time.from, filter.installed_at);
  const to = Math.min(time.to, filter.removed_at ?? Infinity);
  if (to <= from) return;
  if (time.mode !== "no_data") {
    const due = Math.min(dueByAge(filter), in_use ? dueByUse(filter, from) : Infinity);
    // Treats a filter change at the very instant of the limit as in time.
    const reached = due < to || (due === to && filter.removed_at !== to);
    if (reached) startOveruse(filter, time.inferred ? to : Math.max(due, from), time.inferred || due < from);
  }
  if (!in_use) return;
  filter.in_use_ms += to - from;
  settleOffset(filter, { from, to });
  if (time.mode === "spray") filter.spray_ms += to - from;
  const episode = runningEpisode(filter);
  if (episode !== null) filter.overuse_in_use_ms += Math.max(0, to - Math.max(from, episode.since));
}

/** The cycles counted at an instant. */
export type Count = readonly [at: EpochMs, cycles: number];

/** Returns the sum of all counts. */
export function sumOf(counts: readonly Count[]): number {
  return counts.reduce((sum, [, cycles]) => sum + cycles, 0);
}

/**
 * Adds settled time (time whose mode is final) and the cycles counted in it, in order of time. Each part counts as overuse if it exceeds
 * the limits that applied at its moment.
 */
export function useCounting(
  filter: Installation,
  { time, in_use, counts }: { readonly time: Settled; readonly in_use: boolean; readonly counts: readonly Count[] },
): void {
  let { from } = time;
  // Counts cycles within inferred time at its end, because their order in that time is unknown. Overuse that begins in it therefore starts
  // at its end.
  for (const count of time.inferred ? [] : counts) {
    const [at] = count;
    if (at > from) useFilter(filter, { ...time, from, to: at }, in_use);
    addCycles(filter, count);
    from = Math.max(from, at);
  }
  useFilter(filter, from === time.from ? time : { ...time, from }, in_use);
  for (const count of time.inferred ? counts : []) addCycles(filter, count);
}

/** Adds cycles counted while the filter was in. */
export function addCycles(filter: Installation, [at, cycles]: Count): void {
  filter.cycles += cycles;
  const episode = filter.overuse.findLast(({ since }) => since < at);
  if (episode !== undefined && at <= (episode.until ?? Infinity)) filter.overuse_cycles += cycles;
  const { limits, known, removed_at } = filter;
  if (limits.cycles === undefined || !known || filter.cycles < limits.cycles || removed_at === at) return;
  const reached = Math.max(at, filter.limits_from ?? 0);
  const running = runningEpisode(filter);
  // Moves back the start of a running overuse. The PLC's minutes may have reached the limit after this instant, but before this time became
  // final.
  if (running === null) startOveruse(filter, reached);
  else running.since = Math.min(running.since, reached);
}

/** Adds the box's own time before the counter's first reading to the counter's offset, now that this time's mode is final. */
function settleOffset(filter: Installation, { from, to }: Pick<Settled, "from" | "to">): void {
  const { plc, own_until = from } = filter;
  const ms = Math.min(to, own_until) - from;
  if (plc === null || ms <= 0) return;
  filter.plc = { offset: plc.offset + ms / MINUTE_MS, value: plc.value };
  if (isOverLimit(filter, own_until)) startOveruse(filter, own_until);
}

/**
 * Subtracts the minutes that the PLC counted between a removal and the person's entry about that removal. `time`: time in use whose mode is
 * final.
 */
export function subtractLaterCount(filter: Installation, time: Settled): void {
  const { removed_at, plc, counted_until = 0 } = filter;
  if (removed_at === null || plc === null) return;
  const ms = Math.min(time.to, counted_until) - Math.max(time.from, removed_at);
  if (ms > 0) filter.plc = { offset: plc.offset - ms / MINUTE_MS, value: plc.value };
}

function dueByAge(filter: Installation): EpochMs {
  const { days } = filter.limits;
  return days === undefined || !filter.known ? Infinity : filter.installed_at + days * DAY_MS;
}

/** Returns the instant at which the box's own time reaches the limit. A counter in the PLC decides instead from its first reading on. */
function dueByUse(filter: Installation, from: EpochMs): EpochMs {
  const { minutes } = filter.limits;
  if (minutes === undefined || !filter.known) return Infinity;
  const due = from + Math.max(0, Math.ceil(minutes * MINUTE_MS - filter.in_use_ms));
  return filter.plc !== null && due >= (filter.own_until ?? 0) ? Infinity : due;
}

/** Returns whether the filter exceeds a limit at `at`: minutes, cycles, age or pressure. */
export function isOverLimit(filter: Installation, at: EpochMs): boolean {
  if (at < filter.installed_at) return false;
  const minutes = usedMinutes(filter);
  const { limits } = filter;
  // Allows for a counter's decimal steps, which aren't exact in binary.
  if (limits.minutes !== undefined && minutes !== null && minutes >= limits.minutes - 1e-6) return true;
  if (limits.cycles !== undefined && filter.known && filter.cycles >= limits.cycles) return true;
  return isOverPressure(filter) || dueByAge(filter) <= at;
}

/** Returns the used share of the nearest limit (minutes, cycles or age; 1: reached); null: no limit, or the use is unknown. */
export function usedShare(filter: Installation, at: EpochMs): number | null {
  const { limits, known, cycles, installed_at } = filter;
  const minutes = usedMinutes(filter);
  const shares = [
    limits.minutes === undefined || minutes === null ? null : minutes / limits.minutes,
    limits.cycles === undefined || !known ? null : cycles / limits.cycles,
    limits.days === undefined || !known ? null : (at - installed_at) / (limits.days * DAY_MS),
  ].filter((share) => share !== null);
  return shares.length === 0 ? null : Math.max(...shares);
}

/** Returns whether the pressure drop exceeded the clean filter's drop by more than the limit in both of the last two spray stages. */
export function isOverPressure({ limits, pressure }: Installation): boolean {
  const { baseline } = pressure;
  const drops = pressure.drops.slice(-2).map(({ pascal }) => pascal);
  if (limits.pressure_pa === undefined || baseline === null || drops.length < 2) return false;
  return Math.min(...drops) > baseline + limits.pressure_pa;
}

/** Changes the limits. If the use reaches a new limit, overuse starts now; otherwise it ends now. */
export function changeLimits(filter: Installation, limits: FilterLimits, at: EpochMs): void {
  if (JSON.stringify(limits) !== JSON.stringify(filter.limits)) filter.limits_from = at;
  filter.limits = limits;
  const episode = runningEpisode(filter);
  if (isOverLimit(filter, at)) startOveruse(filter, at);
  else if (episode !== null) episode.until = at;
}

/** Returns the length of all overuse up to the removal, or up to `at` if the filter is still in. */
export function overuseMs(filter: Installation, at: EpochMs): Milliseconds {
  const end = filter.removed_at ?? at;
  return filter.overuse.reduce((sum, { since, until }) => sum + Math.max(0, Math.min(until ?? end, end) - since), 0);
}
