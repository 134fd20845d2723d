import { isKnownZone } from "../domain/time-zone.ts";
import type { TagValue } from "../domain/booth.ts";
import type { Parameters, TagParameters, TagRole } from "../domain/parameters.ts";
import type { Milliseconds, TagName } from "../domain/units.ts";
import { isCovered } from "./coverage.ts";
import { isContradicted } from "./cross-checks.ts";
import { judge, pass, report } from "./incidents.ts";
import { isIn, modeOf } from "./modes.ts";
import { tagWithRole } from "./roles.ts";
import type { DeriveState, Fold, IncidentState, PendingReading } from "./state.ts";

/** Values of sensors that live: exactly the same for long means that one doesn't. */
const ANALOG: readonly TagRole[] = ["air_temperature", "metal_temperature", "booth_pressure", "filter_pressure"];
/** An analog value that stays the same, or 0, for this much time in use is no measurement. */
export const STUCK_MS: Milliseconds = 30 * 60_000;

/** New parameters: which tags the checks look at, and whether the zone is one. */
export function prepareChecks(fold: Fold, parameters: Parameters): void {
  const { checks } = fold.state;
  const one = (role: TagRole): TagName | null => tagWithRole(parameters, role) ?? null;
  const analog = Object.entries(parameters.tags).filter(([, { role }]) => role !== undefined && ANALOG.includes(role));
  checks.tags = {
    analog: analog.map(([tag]) => tag),
    air: one("air_temperature"),
    fan: one("fan_speed"),
    burner: one("burner_on"),
    door: one("door_open"),
  };
  checks.tz_known = isKnownZone(parameters.tz);
  if (checks.tz_known) return;
  const reason = `the time zone ${parameters.tz} isn't known: UTC is taken`;
  report(fold, { tag_name: "", check: "config_tz", logic: { op: "config_tz" }, reason, severity: "error" });
}

/** The checks of single readings of this instant. */
export function checkReadings(fold: Fold, parameters: Parameters): void {
  for (const reading of fold.state.pending) {
    const tag = parameters.tags[reading.tag];
    if (tag === undefined || reading.quality === "bad" || typeof reading.value !== "number") continue;
    pass(fold, "sentinel", reading.tag);
    if (tag.between === undefined) pass(fold, "between", reading.tag);
    else checkBetween(fold, reading, tag);
    if (fold.state.checks.tags.analog.includes(reading.tag)) checkLiving(fold, reading);
  }
}

function checkBetween(fold: Fold, { tag, value }: PendingReading, { between, unit }: TagParameters): void {
  if (between === undefined) return;
  const { min, max } = between;
  const reason = `${String(value)} ${unit} is outside ${min} to ${max}`;
  judge(fold, isOutside(value, between), {
    tag_name: tag,
    check: "between",
    logic: { op: "between", min, max },
    reason,
    severity: "warning",
  });
}

function isOutside(value: TagValue | undefined, { min, max }: { min: number; max: number }): boolean {
  return typeof value === "number" && (value < min || value > max);
}

/** Only a record with the very same value, a heartbeat, shows that a sensor is stuck: within the deadband silence is usual. */
function checkLiving(fold: Fold, { tag, value }: PendingReading): void {
  const { checks } = fold.state;
  const before = checks.unchanged[tag];
  if (before?.value !== value) {
    checks.unchanged[tag] = { value, since_ms: checks.in_use_ms };
    if (before === undefined) return;
  }
  const minutes = STUCK_MS / 60_000;
  const wrong = isStuck(fold.state, tag);
  const is_zero = value === 0;
  const stuck = { op: "stuck", duration_minutes: minutes, in_use_only: true };
  const zero = { op: "non_zero", min_count: 1, in_use_only: true, duration_minutes: minutes };
  const reason = `the value has been ${String(value)} for ${minutes} min in use`;
  judge(fold, wrong && !is_zero, { tag_name: tag, check: "stuck", logic: stuck, reason, severity: "warning" });
  judge(fold, wrong && is_zero, { tag_name: tag, check: "non_zero", logic: zero, reason, severity: "warning" });
}

function isStuck({ checks }: DeriveState, tag: TagName): boolean {
  const unchanged = checks.unchanged[tag];
  return unchanged !== undefined && checks.in_use_ms - unchanged.since_ms >= STUCK_MS;
}

/** What holds until its tag says otherwise goes on without a further record, as far as the tag is polled. */
export function stillWrong({ state }: Fold, { check, tag_name }: IncidentState): boolean {
  const { parameters, latest, checks, bays } = state;
  if (parameters === null) return false;
  if (check === "config_tz") return !checks.tz_known;
  if (check === "cross") return isContradicted(state, tag_name);
  const tag = parameters.tags[tag_name];
  if (tag === undefined || !isCovered(state.groups[tag.group], state.clock)) return false;
  // Refused at acquisition: it goes on until a good value comes.
  if (latest[tag_name]?.quality === "bad") return check === "sentinel" || check === "between";
  if (check === "between") return tag.between !== undefined && isOutside(latest[tag_name]?.value, tag.between);
  if (check === "stuck" || check === "non_zero") return isStuck(state, tag_name);
  const bay = bays.find((one) => one.tag === tag_name);
  if (check === "mode_conflict") return bay?.live === true && (bay.conflict ?? null) !== null;
  if (check !== "unmapped") return false;
  return bay?.live === true && bay.raw !== null && modeOf(parameters, bay.raw) === "unknown";
}

/** Settled time of the booth, for checks that count time in use. */
export function addCheckedTime(
  state: DeriveState,
  mode: Parameters["mode_sets"]["run"][number],
  ms: Milliseconds,
): void {
  const sets = state.parameters?.mode_sets;
  if (isIn(sets?.in_use, mode)) state.checks.in_use_ms += ms;
  if (isIn(sets?.runtime, mode)) state.checks.runtime_ms += ms;
}
