import { isKnownZone, dayOf, instantOf } from "../../domain/time-zone.ts";
import { type FilterType, type TagValue, FILTER_TYPES } from "../../domain/booth.ts";
import { type Parameters, type TagParameters, type TagRole, unitsPerHour } from "../../domain/parameters.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";
import type { ChecksFold, ChecksState, DayMarks, FilterMarks } from "./state.ts";
import { isCovered } from "../timeline/gaps.ts";
import {
  checkCross,
  isContradicted,
  passConflicts,
  checkConflict,
  checkDwell,
  checkGap,
  checkMode,
  checkSuccession,
} from "./cross.ts";
import { type FiltersState, usedMinutes } from "../filters/installation.ts";
import type { IncidentsState } from "../incidents.ts";
import {
  isIn,
  modeOf,
  tagWithRole,
  energyOf,
  fullLoadKwh,
  loadsOf,
  MACHINES,
  type Machine,
  unfitUnits,
} from "../parameters.ts";
import { judge, type Incident, type Slice, report, type EventOf } from "../timeline/events.ts";
import { checkPlcClocks, checkSourceTime, checkStep } from "./clocks.ts";
import type { PendingReading, Settled } from "../timeline/state.ts";
import { say } from "../../domain/sentences.ts";
import { MINUTE_MS, HOUR_MS } from "../../domain/time.ts";

/** Values of sensors that live: exactly the same for long means that one doesn't. */
const ANALOG: readonly TagRole[] = ["air_temperature", "metal_temperature", "booth_pressure", "filter_pressure"];
/** An analog value that stays the same, or 0, for this much time in use is no measurement. */
const STUCK_MS: Milliseconds = 30 * 60_000;

export const checksSlice: Slice<ChecksState, FiltersState & IncidentsState> = {
  parameters: (fold, { parameters }) => prepareChecks(fold, parameters),
  time: (fold, { settled }) => addTime(fold, settled),
  stage_closed: checkSuccession,
  cycle_ended({ own: { checks } }) {
    checks.cycles += 1;
  },
  reading(fold, { role, reading }) {
    // Only polls of the booth's own PLC have readings.
    if (role === "plc_serial") fold.finding({ kind: "over", check: "identity", tag_name: reading.tag });
  },
  count: checkCount,
  memory_lost: (fold, { tags }) => reportLoss(fold, tags),
  mode_read: checkMode,
  instant_over(fold) {
    if (fold.seen.pending.length === 0) return;
    checkReadings(fold);
    checkPlcClocks(fold);
    checkCross(fold);
  },
  bay_passed(fold, { bay }) {
    checkGap(fold, bay);
    checkDwell(fold, bay);
    checkConflict(fold, bay);
  },
  passed: (fold, { jump_ms }) => passConflicts(fold, jump_ms),
  work(fold, work) {
    if (work.metered) estimateWork(fold, work);
  },
  due(fold) {
    passDay(fold);
    for (const key in fold.seen.incidents) {
      const { check = "", tag_name = "" } = fold.seen.incidents[key] ?? {};
      if (stillWrong(fold, { check, tag_name })) fold.finding({ kind: "lasts", check, tag_name });
    }
  },
  source_time: (fold, { reading }) => checkSourceTime(fold, reading),
  clock_record: (fold, { record }) => checkStep(fold, record),
};

/** Takes in new parameters: which tags the checks look at, which tags have an unfit unit, and whether the zone is known. */
function prepareChecks(fold: ChecksFold, parameters: Parameters): void {
  const { checks } = fold.own;
  const one = (role: TagRole): TagName | null => tagWithRole(parameters, role) ?? null;
  const analog = Object.entries(parameters.tags).filter(([, { role }]) => role !== undefined && ANALOG.includes(role));
  checks.tags = {
    analog: analog.map(([tag]) => tag),
    air: one("air_temperature"),
    fan: one("fan_speed"),
    burner: one("burner_on"),
    door: one("door_open"),
  };
  for (const { tag: tag_name, reason } of unfitUnits(parameters)) {
    report(fold, { tag_name, check: "config_unit", logic: { op: "config_unit" }, reason, severity: "error" });
  }
  checks.tz_known = isKnownZone(parameters.tz);
  if (checks.tz_known) return;
  const reason = say("incident.zone", { tz: parameters.tz });
  report(fold, { tag_name: "", check: "config_tz", logic: { op: "config_tz" }, reason, severity: "error" });
}

/** The checks of single readings of this instant. */
function checkReadings(fold: ChecksFold): void {
  for (const reading of fold.seen.pending) {
    const tag_name = reading.tag;
    const tag = fold.seen.parameters?.tags[tag_name];
    if (tag === undefined || reading.quality === "bad" || typeof reading.value !== "number") continue;
    fold.finding({ kind: "right", check: "sentinel", tag_name });
    checkBetween(fold, reading, tag);
    if (fold.own.checks.tags.analog.includes(tag_name)) checkLiving(fold, reading);
  }
}

/** Without limits nothing is outside of them any more. */
function checkBetween(fold: ChecksFold, { tag, value }: PendingReading, { between, unit }: TagParameters): void {
  if (between === undefined) {
    fold.finding({ kind: "right", check: "between", tag_name: tag });
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

/** Only a record with the very same value, a heartbeat, shows that a sensor is stuck: within the deadband silence is usual. */
function checkLiving(fold: ChecksFold, { tag, value }: PendingReading): void {
  const { checks } = fold.own;
  const before = checks.unchanged[tag];
  if (before?.value !== value) {
    checks.unchanged[tag] = { value, since_ms: checks.in_use_ms };
    if (before === undefined) return;
  }
  const minutes = STUCK_MS / 60_000;
  const wrong = isStuck(fold.own, tag);
  const is_zero = value === 0;
  const stuck = { op: "stuck", duration_minutes: minutes, in_use_only: true };
  const zero = { op: "non_zero", min_count: 1, in_use_only: true, duration_minutes: minutes };
  const reason = `the value has been ${String(value)} for ${minutes} min in use`;
  judge(fold, wrong && !is_zero, { tag_name: tag, check: "stuck", logic: stuck, reason });
  judge(fold, wrong && is_zero, { tag_name: tag, check: "non_zero", logic: zero, reason });
}

function isStuck({ checks }: ChecksState, tag: TagName): boolean {
  const unchanged = checks.unchanged[tag];
  return unchanged !== undefined && checks.in_use_ms - unchanged.since_ms >= STUCK_MS;
}

/** A counter did what none does. */
function checkCount(fold: ChecksFold, { tag, as, from, to }: EventOf<"count">): void {
  if (as !== "unexplained") return;
  const reason = say("incident.monotonic", { from, to });
  report(fold, { tag_name: tag, check: "monotonic", logic: { op: "monotonic" }, reason });
}

function reportLoss(fold: ChecksFold, tags: readonly TagName[]): void {
  const reason = say("incident.memory_loss", { tags: tags.join(", ") });
  report(fold, { tag_name: "", check: "memory_loss", logic: { op: "monotonic" }, reason });
}

/** What holds until its tag says otherwise goes on without a further record, as far as the tag is polled. */
function stillWrong(fold: ChecksFold, { check, tag_name }: Pick<Incident, "check" | "tag_name">): boolean {
  const { parameters, latest, groups, clock, bays } = fold.seen;
  if (parameters === null) return false;
  if (check === "config_tz") return !fold.own.checks.tz_known;
  if (check === "cross") return isContradicted(fold, tag_name);
  const tag = parameters.tags[tag_name];
  if (check === "config_unit") return tag?.unfit_role !== undefined;
  if (tag === undefined || !isCovered(groups[tag.group], clock)) return false;
  // Refused at acquisition: it goes on until a good value comes.
  if (latest[tag_name]?.quality === "bad") return check === "sentinel" || check === "between";
  if (check === "between") return tag.between !== undefined && isOutside(latest[tag_name]?.value, tag.between);
  if (check === "stuck" || check === "non_zero") return isStuck(fold.own, tag_name);
  const bay = bays.find((one) => one.tag === tag_name);
  if (check === "mode_conflict") return bay?.live === true && (bay.conflict ?? null) !== null;
  if (check !== "unmapped") return false;
  return bay?.live === true && bay.raw !== null && modeOf(parameters, bay.raw) === "unknown";
}

/** For checks that count time in use, and the day's comparison. */
function addTime({ own: { checks }, seen }: ChecksFold, { mode, from, to }: Settled): void {
  const sets = seen.parameters?.mode_sets;
  if (isIn(sets?.in_use, mode)) checks.in_use_ms += to - from;
  if (isIn(sets?.runtime, mode)) checks.runtime_ms += to - from;
}

/** Stages and hours of the day are settled by then. */
const COMPARED_AFTER_MS: Milliseconds = 900_000;
const CYCLES_SHARE = 0.05;
const TIME_SHARE = 0.02;
const TIME_AT_LEAST_MS: Milliseconds = 300_000;
const ENERGY_TIMES = 3;
const LEAST_ENERGY: Readonly<Record<Machine, number>> = { burner: 1, fan: 10 };
/** Decimal steps aren't exact in binary. */
const NOISE = 1e-6;
/** Share of the day that the load must have been seen for: a meter counts on unseen. */
const SEEN_SHARE = 0.9;

/** Whether what the PLC counted over a day differs too far from what was derived: over max(1, 5 %). */
export function cyclesDiffer(plc: number, derived: number): boolean {
  return Math.abs(plc - derived) > Math.max(1, CYCLES_SHARE * Math.max(plc, derived));
}

/** The same of time, ms: over max(2 %, 5 min) and one step of the meter. */
export function timeDiffers(plc: Milliseconds, own: Milliseconds, step: Milliseconds): boolean {
  return Math.abs(plc - own) > Math.max(TIME_SHARE * Math.max(plc, own), TIME_AT_LEAST_MS) + step;
}

/**
 * The same of energy, therm or kWh. An estimate is rough: only threefold is far, and what is under `least` says nothing.
 * @param other what the meter may count beside the machine
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

/** At the end of each local day the PLC's counts are compared with ours, and the next day begins. */
function passDay(fold: ChecksFold): void {
  const { parameters, clock, bays } = fold.seen;
  const { checks } = fold.own;
  if (parameters === null || bays.every(({ open }) => open === null)) return;
  if (checks.day !== null && clock.now < checks.day.end) return;
  // In the middle of a gap one side has counted what the other will only learn.
  if (checks.day !== null && bays.some(({ live }) => !live)) return;
  if (checks.day !== null) compare(fold, parameters, checks.day);
  checks.day = marksOf(fold, parameters);
}

/** Where a meter counts what a machine takes, the estimate is only compared with it over the day. */
function estimateWork({ own: { checks } }: ChecksFold, { machine, rate, from, to }: EventOf<"work">): void {
  if (checks.day === null) return;
  const estimates = (checks.day.estimates ??= {});
  const estimate = (estimates[machine] ??= { work: 0, ms: 0 });
  estimate.work += rate * (to - from);
  estimate.ms += to - from;
}

function marksOf({ own: { checks }, seen }: ChecksFold, parameters: Parameters): DayMarks {
  const { clock } = seen;
  const today = dayOf(parameters.tz, clock.now - COMPARED_AFTER_MS);
  const steps = Object.fromEntries(
    (["cycle_counter", "hour_meter", "gas", "kwh"] as const).flatMap((role) => {
      const tag = tagWithRole(parameters, role);
      const counted = tag === undefined ? null : attributed(seen, tag);
      return tag === undefined || counted === null ? [] : [[tag, counted]];
    }),
  );
  const filters: DayMarks["filters"] = {};
  for (const type of FILTER_TYPES) {
    const marks = filterMarks(seen, type);
    if (marks !== null) filters[type] = marks;
  }
  const end = instantOf(parameters.tz, today + 1, 0) + COMPARED_AFTER_MS;
  return { begin: clock.now, end, cycles: checks.cycles, runtime_ms: checks.runtime_ms, steps, filters };
}

/** Both counts of a filter that the PLC counts; null: it doesn't. */
function filterMarks({ filters }: ChecksFold["seen"], type: FilterType): FilterMarks | null {
  const filter = filters[type]?.current;
  const plc = filter === undefined || filter.plc === null ? null : usedMinutes(filter);
  return filter === undefined || plc === null
    ? null
    : { installed_at: filter.installed_at, own: filter.in_use_ms, plc };
}

/** Steps of a counter without those that it showed for time without data: nothing derived stands against them. */
function attributed({ counters }: ChecksFold["seen"], tag: string): number | null {
  const counter = counters[tag];
  return counter === undefined ? null : counter.total_steps - counter.unattributed_steps;
}

function compare(fold: ChecksFold, parameters: Parameters, day: DayMarks): void {
  const { seen } = fold;
  const { checks } = fold.own;
  const cycles = countedSince(seen, parameters, { day, role: "cycle_counter" });
  if (cycles !== null) {
    const own = checks.cycles - day.cycles;
    mismatch(fold, {
      tag: cycles.tag,
      check: "cycle_mismatch",
      wrong: cyclesDiffer(cycles.amount, own),
      plc: cycles.amount,
      own,
    });
  }
  const hours = countedSince(seen, parameters, { day, role: "hour_meter" });
  if (hours !== null) {
    const unit = HOUR_MS / unitsPerHour(parameters.tags[hours.tag]?.unit ?? "h");
    // Decimal steps aren't exact in binary; the limit itself is no mismatch.
    const plc = Math.round(hours.amount * unit);
    const own = checks.runtime_ms - day.runtime_ms;
    const wrong = timeDiffers(plc, own, Math.round(hours.step * unit));
    mismatch(fold, { tag: hours.tag, check: "runtime_mismatch", wrong, plc: plc / MINUTE_MS, own: own / MINUTE_MS });
  }
  for (const machine of MACHINES) compareEnergy(fold, parameters, { day, machine });
  for (const type of FILTER_TYPES) {
    const before = day.filters[type];
    const now = filterMarks(seen, type);
    if (before === undefined || now === null || now.installed_at !== before.installed_at) continue;
    const counted = Math.round((now.plc - before.plc) * MINUTE_MS);
    const own = now.own - before.own;
    const wrong = timeDiffers(counted, own, MINUTE_MS);
    mismatch(fold, { tag: type, check: "filter_mismatch", wrong, plc: counted / MINUTE_MS, own: own / MINUTE_MS });
  }
}

function compareEnergy(
  fold: ChecksFold,
  parameters: Parameters,
  { day, machine }: { day: DayMarks; machine: Machine },
): void {
  const load = loadsOf(parameters)[machine];
  const counted = countedSince(fold.seen, parameters, { day, role: machine === "burner" ? "gas" : "kwh" });
  const estimate = day.estimates?.[machine];
  if (load === null || counted === null || estimate === undefined) return;
  if (estimate.ms < SEEN_SHARE * (fold.seen.clock.now - day.begin)) return;
  const estimated = energyOf(machine, estimate.work);
  // Lights and a compressor beside the fans may take as much as these at full speed all day.
  const other = machine === "burner" ? 0 : fullLoadKwh(load.size, estimate.ms);
  const least = LEAST_ENERGY[machine];
  const wrong = energyDiffers({ counted: counted.amount, estimated, other, least });
  mismatch(fold, { tag: counted.tag, check: "energy_mismatch", wrong, plc: counted.amount, own: estimated });
}

function countedSince(
  seen: ChecksFold["seen"],
  parameters: Parameters,
  { day, role }: { day: DayMarks; role: TagRole },
): { tag: string; amount: number; step: number } | null {
  const tag = tagWithRole(parameters, role);
  if (tag === undefined) return null;
  const before = day.steps[tag];
  const now = attributed(seen, tag);
  const { counter, factor = 1 } = parameters.tags[tag] ?? {};
  if (before === undefined || now === null || counter === undefined) return null;
  const step = counter.step * factor;
  return { tag, amount: (now - before) * step, step };
}

interface Mismatch {
  readonly tag: string;
  readonly check: string;
  readonly wrong: boolean;
  readonly plc: number;
  readonly own: number;
}

function mismatch(fold: ChecksFold, { tag, check, wrong, plc, own }: Mismatch): void {
  const text = (value: number): string => String(Math.round(value * 10) / 10);
  const reason = say("incident.mismatch", { plc: text(plc), own: text(own) });
  judge(fold, wrong, {
    tag_name: tag,
    check,
    logic: { op: "mismatch", plc, derived: own },
    reason,
  });
}
