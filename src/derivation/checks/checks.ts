import { FILTER_TYPES, type FilterType, type TagValue } from "../../domain/booth.ts";
import { type Parameters, type TagParameters, type TagRole, unitsPerHour } from "../../domain/parameters.ts";
import { recordText } from "../../domain/record-text.ts";
import { HOUR_MS, MINUTE_MS } from "../../domain/time.ts";
import { dayOf, instantOf, isKnownZone } from "../../domain/time-zone.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";
import { usedMinutes } from "../filters/installation.ts";
import type { Work } from "../hours.ts";
import { judge, report, reportRight } from "../incidents.ts";
import {
  energyOf,
  fullLoadKwh,
  isCovered,
  isIn,
  loadsOf,
  MACHINES,
  modeOf,
  tagWithRole,
  unfitUnits,
} from "../parameters.ts";
import type { DayMarks, DeriveState, FilterMarks, Fold, Incident, Machine, PendingReading, Settled } from "../state.ts";
import { isContradicted } from "./cross.ts";

/** Roles whose values always vary slightly. */
const ANALOG: readonly TagRole[] = ["air_temperature", "metal_temperature", "booth_pressure", "filter_pressure"];
/** Time in use after which an analog value that stays the same, or 0, counts as a faulty measurement. */
const STUCK_MS: Milliseconds = 30 * MINUTE_MS;

/** Adapts the checks to new parameters. Reports unfit units and an unknown time zone. */
export function prepareChecks(fold: Fold, parameters: Parameters): void {
  const { checks } = fold.state;
  const { tags, tz } = parameters;
  const withRole = (role: TagRole): TagName | null => tagWithRole(parameters, role) ?? null;
  checks.tags = {
    analog: Object.keys(tags).filter((tag) => ANALOG.some((role) => tags[tag]?.role === role)),
    air: withRole("air_temperature"),
    fan: withRole("fan_speed"),
    burner: withRole("burner_on"),
    door: withRole("door_open"),
  };
  const reportConfig = (tag_name: TagName, check: string, reason: string): void =>
    report(fold, { tag_name, check, logic: { op: check }, reason, severity: "error" });
  for (const { tag, reason } of unfitUnits(parameters)) reportConfig(tag, "config_unit", reason);
  checks.tz_known = isKnownZone(tz);
  if (!checks.tz_known) reportConfig("", "config_tz", recordText("incident.zone", { tz }));
}

/** Checks the single readings of the present instant. */
export function checkReadings(fold: Fold): void {
  const { pending, parameters, checks } = fold.state;
  for (const reading of pending) {
    const tag = parameters?.tags[reading.tag];
    if (tag === undefined || reading.quality === "bad" || typeof reading.value !== "number") continue;
    reportRight(fold, "sentinel", reading.tag);
    checkBetween(fold, reading, tag);
    if (checks.tags.analog.includes(reading.tag)) checkStuck(fold, reading);
  }
}

function checkBetween(fold: Fold, { tag, value }: PendingReading, { between, unit }: TagParameters): void {
  // Ends an incident about limits that the tag no longer has.
  if (between === undefined) {
    reportRight(fold, "between", tag);
    return;
  }
  const { min, max } = between;
  judge(fold, isOutside(value, between), {
    tag_name: tag,
    check: "between",
    logic: { op: "between", min, max },
    reason: `${String(value)} ${unit} is outside ${min} to ${max}`,
  });
}

function isOutside(value: TagValue | undefined, { min, max }: { min: number; max: number }): boolean {
  return typeof value === "number" && (value < min || value > max);
}

/**
 * Checks whether a sensor is stuck. Only a heartbeat (a logged repetition) with the same value proves that, because small changes within
 * the deadband aren't logged.
 */
function checkStuck(fold: Fold, { tag, value }: PendingReading): void {
  const { checks } = fold.state;
  const before = checks.unchanged[tag];
  if (before?.value !== value) {
    checks.unchanged[tag] = { value, since_ms: checks.in_use_ms };
    if (before === undefined) return;
  }
  const minutes = STUCK_MS / MINUTE_MS;
  const stuck = isStuck(fold.state, tag);
  const reason = `the value has been ${String(value)} for ${minutes} min in use`;
  judge(fold, stuck && value !== 0, {
    tag_name: tag,
    check: "stuck",
    logic: { op: "stuck", duration_minutes: minutes, in_use_only: true },
    reason,
  });
  judge(fold, stuck && value === 0, {
    tag_name: tag,
    check: "non_zero",
    logic: { op: "non_zero", min_count: 1, in_use_only: true, duration_minutes: minutes },
    reason,
  });
}

function isStuck({ checks }: DeriveState, tag: TagName): boolean {
  const unchanged = checks.unchanged[tag];
  return unchanged !== undefined && checks.in_use_ms - unchanged.since_ms >= STUCK_MS;
}

/** Continues the incidents whose cause lasts although no record reports it again. */
export function continueIncidents(fold: Fold): void {
  const { incidents, clock } = fold.state;
  for (const key in incidents) {
    const incident = incidents[key];
    if (incident !== undefined && isStillWrong(fold.state, incident)) incident.last_seen_at = clock.now;
  }
}

/** Returns whether the cause of an incident lasts. A cause about a tag counts only while the tag is polled. */
function isStillWrong(state: DeriveState, { check, tag_name }: Incident): boolean {
  const { parameters, latest, bays, checks } = state;
  if (parameters === null) return false;
  if (check === "config_tz") return !checks.tz_known;
  if (check === "cross") return isContradicted(state, tag_name);
  const tag = parameters.tags[tag_name];
  if (check === "config_unit") return tag?.unfit_role !== undefined;
  if (tag === undefined || !isCovered(state, tag.group)) return false;
  // Keeps a value wrong that acquisition rejected, until the next good reading.
  if (latest[tag_name]?.quality === "bad") return check === "sentinel" || check === "between";
  if (check === "between") return tag.between !== undefined && isOutside(latest[tag_name]?.value, tag.between);
  if (check === "stuck" || check === "non_zero") return isStuck(state, tag_name);
  const bay = bays.find((one) => one.tag === tag_name);
  if (bay?.live !== true) return false;
  if (check === "mode_conflict") return (bay.conflict ?? null) !== null;
  return check === "unmapped" && bay.raw !== null && modeOf(parameters, bay.raw) === "unknown";
}

/** Adds settled time (time whose mode is final) for the checks that count time in use, and for the daily comparison. */
export function addCheckedTime({ checks, parameters }: DeriveState, { mode, from, to }: Settled): void {
  const sets = parameters?.mode_sets;
  if (isIn(sets?.in_use, mode)) checks.in_use_ms += to - from;
  if (isIn(sets?.runtime, mode)) checks.runtime_ms += to - from;
}

/** Time after the end of a day at which it is compared. Its stages and hours are final by then. */
const COMPARED_AFTER_MS: Milliseconds = 15 * MINUTE_MS;
const CYCLES_SHARE = 0.05;
const TIME_SHARE = 0.02;
const TIME_AT_LEAST_MS: Milliseconds = 5 * MINUTE_MS;
const ENERGY_TIMES = 3;
const LEAST_ENERGY: Readonly<Record<Machine, number>> = { burner: 1, fan: 10 };
/** Tolerance for rounding errors of decimal steps, which aren't exact in binary. */
const NOISE = 1e-6;
/** Share of the day for which the load must be known, because a meter also counts while nothing is read. */
const SEEN_SHARE = 0.9;

/** Returns whether the PLC's count of a day's cycles and the derived count differ by more than max(1, 5 %). */
export function cyclesDiffer(plc: number, derived: number): boolean {
  return Math.abs(plc - derived) > Math.max(1, CYCLES_SHARE * Math.max(plc, derived));
}

/** Returns whether two times of a day, in ms, differ by more than both limits: max(2 %, 5 min), and one step of the meter. */
export function timeDiffers(plc: Milliseconds, derived: Milliseconds, step: Milliseconds): boolean {
  return Math.abs(plc - derived) > Math.max(TIME_SHARE * Math.max(plc, derived), TIME_AT_LEAST_MS) + step;
}

/**
 * Returns whether two energies of a day, in therm or kWh, differ by more than a factor of three and by more than `least`. An estimate is
 * rough.
 *
 * @param other energy that the meter may count in addition to the machine's
 */
export function energyDiffers({
  counted,
  estimated,
  other,
  least,
}: Readonly<Record<"counted" | "estimated" | "other" | "least", number>>): boolean {
  return (
    counted > ENERGY_TIMES * estimated + other + least + NOISE || estimated > ENERGY_TIMES * counted + least + NOISE
  );
}

/** Adds the work of a machine with a meter to the day's estimate, which only serves for comparison with the meter. */
export function estimateWork({ checks: { day } }: DeriveState, { machine, rate, from, to }: Work): void {
  if (day === null) return;
  const estimate = ((day.estimates ??= {})[machine] ??= { work: 0, ms: 0 });
  estimate.work += rate * (to - from);
  estimate.ms += to - from;
}

/** Compares the PLC's counts with the derived counts at the end of each local day, and starts the next day. */
export function passDay(fold: Fold): void {
  const { parameters, clock, bays, checks } = fold.state;
  if (parameters === null || bays.every(({ open }) => open === null)) return;
  if (checks.day !== null) {
    // Waits with the comparison during a gap. The PLC has already counted the gap's time, but the derivation learns of it only afterwards.
    if (clock.now < checks.day.end || bays.some(({ live }) => !live)) return;
    compare(fold, parameters, checks.day);
  }
  checks.day = marksOf(fold.state, parameters);
}

function marksOf(state: DeriveState, parameters: Parameters): DayMarks {
  const { clock, checks } = state;
  const today = dayOf(parameters.tz, clock.now - COMPARED_AFTER_MS);
  const steps: DayMarks["steps"] = {};
  for (const role of ["cycle_counter", "hour_meter", "gas", "kwh"] as const) {
    const tag = tagWithRole(parameters, role);
    const counted = attributedSteps(state, tag);
    if (tag !== undefined && counted !== null) steps[tag] = counted;
  }
  const filters: DayMarks["filters"] = {};
  for (const type of FILTER_TYPES) {
    const marks = filterMarks(state, type);
    if (marks !== null) filters[type] = marks;
  }
  const end = instantOf(parameters.tz, today + 1, 0) + COMPARED_AFTER_MS;
  return { begin: clock.now, end, cycles: checks.cycles, runtime_ms: checks.runtime_ms, steps, filters };
}

/** Returns both counts of a filter, the box's and the PLC's; null: the PLC doesn't count this filter. */
function filterMarks({ filters }: DeriveState, type: FilterType): FilterMarks | null {
  const filter = filters[type]?.current;
  const plc = !filter?.plc ? null : usedMinutes(filter);
  return !filter || plc === null ? null : { installed_at: filter.installed_at, own: filter.in_use_ms, plc };
}

/** Returns a counter's steps without those counted during spans without data, for which no derived figure exists. */
function attributedSteps({ counters }: DeriveState, tag: TagName | undefined): number | null {
  const counter = counters[tag ?? ""];
  return counter === undefined ? null : counter.total_steps - counter.unattributed_steps;
}

function compare(fold: Fold, parameters: Parameters, day: DayMarks): void {
  const { state } = fold;
  const { checks } = state;
  const cycles = countedSince(state, day, "cycle_counter");
  if (cycles !== null) {
    const derived = checks.cycles - day.cycles;
    const isWrong = cyclesDiffer(cycles.amount, derived);
    mismatch(fold, isWrong, { tag: cycles.tag, check: "cycle_mismatch", plc: cycles.amount, derived });
  }
  const hours = countedSince(state, day, "hour_meter");
  if (hours !== null) {
    const unit = HOUR_MS / unitsPerHour(parameters.tags[hours.tag]?.unit ?? "h");
    // Rounds because decimal steps aren't exact in binary, and a difference of exactly the limit is no mismatch.
    const plc = Math.round(hours.amount * unit);
    const derived = checks.runtime_ms - day.runtime_ms;
    const isWrong = timeDiffers(plc, derived, Math.round(hours.step * unit));
    mismatch(fold, isWrong, {
      tag: hours.tag,
      check: "runtime_mismatch",
      plc: plc / MINUTE_MS,
      derived: derived / MINUTE_MS,
    });
  }
  for (const machine of MACHINES) compareEnergy(fold, parameters, { day, machine });
  for (const type of FILTER_TYPES) {
    const before = day.filters[type];
    const now = filterMarks(state, type);
    if (before === undefined || now?.installed_at !== before.installed_at) continue;
    const plc = Math.round((now.plc - before.plc) * MINUTE_MS);
    const derived = now.own - before.own;
    const isWrong = timeDiffers(plc, derived, MINUTE_MS);
    mismatch(fold, isWrong, {
      tag: type,
      check: "filter_mismatch",
      plc: plc / MINUTE_MS,
      derived: derived / MINUTE_MS,
    });
  }
}

function compareEnergy(
  fold: Fold,
  parameters: Parameters,
  { day, machine }: { day: DayMarks; machine: Machine },
): void {
  const load = loadsOf(parameters)[machine];
  const counted = countedSince(fold.state, day, machine === "burner" ? "gas" : "kwh");
  const estimate = day.estimates?.[machine];
  if (load === null || counted === null || estimate === undefined) return;
  if (estimate.ms < SEEN_SHARE * (fold.state.clock.now - day.begin)) return;
  const { tag, amount: plc } = counted;
  const estimated = energyOf(machine, estimate.work);
  // Allows for lights and a compressor on the same meter, which may take as much energy as the fans at full speed all day.
  const other = machine === "burner" ? 0 : fullLoadKwh(load.size, estimate.ms);
  const isWrong = energyDiffers({ counted: plc, estimated, other, least: LEAST_ENERGY[machine] });
  mismatch(fold, isWrong, { tag, check: "energy_mismatch", plc, derived: estimated });
}

/** Returns the amount that the counter with that role has counted since the marks, and the counter's step, in the figure's unit. */
function countedSince(
  state: DeriveState,
  day: DayMarks,
  role: TagRole,
): { tag: string; amount: number; step: number } | null {
  const tag = tagWithRole(state.parameters, role);
  if (tag === undefined) return null;
  const before = day.steps[tag];
  const now = attributedSteps(state, tag);
  const { counter, factor = 1 } = state.parameters?.tags[tag] ?? {};
  if (before === undefined || now === null || counter === undefined) return null;
  const step = counter.step * factor;
  return { tag, amount: (now - before) * step, step };
}

function mismatch(
  fold: Fold,
  isWrong: boolean,
  { tag, check, plc, derived }: { tag: string; check: string; plc: number; derived: number },
): void {
  const text = (value: number): string => String(Math.round(value * 10) / 10);
  const reason = recordText("incident.mismatch", { plc: text(plc), own: text(derived) });
  judge(fold, isWrong, { tag_name: tag, check, logic: { op: "mismatch", plc, derived }, reason });
}
