import { tagsWithRole, tagWithRole, unfitUnits, bridgeMs } from "../derivation/parameters.ts";
import { minStageMs } from "../derivation/timeline/stages.ts";
import { FILTER_TYPES, type FilterType, type Quality, type TagValue } from "../domain/booth.ts";
import type { Parameters, TagRole } from "../domain/parameters.ts";
import { DERIVATION_VERSION } from "../domain/rebuild.ts";
import { lengthOf, utcText } from "../domain/time-zone.ts";
import type { EpochMs, Seq, TagName } from "../domain/units.ts";
import type { BoothStage, Window } from "../store/port.ts";
import { cycleCount, cyclesIn } from "./cycles.ts";
import { energy } from "./energy.ts";
import { episodesIn, overuse } from "./overuse.ts";
import { filterMaintenanceHistory } from "./filters.ts";
import { revisionHistory, validationIncidents } from "./findings.ts";
import { epochsIn, msIn, workingTime } from "./rules.ts";
import { type FigureCoverage, type Source, type TimeLine, timeLineOf, watchedWindow } from "./source.ts";
import { durationByMode, frequencyByMode, utilization } from "./usage.ts";

/** Longest time between two logged readings of a tag while it is polled. */
const HEARTBEAT_MS = 3_600_000;

/** A reading that proves a part of a figure. Its tag's register is in the profile. */
export interface Evidence {
  readonly seq: Seq;
  readonly tag: TagName;
  readonly value: TagValue;
  readonly quality: Quality;
  readonly at: EpochMs;
}

interface Part {
  readonly start: EpochMs;
  readonly end: EpochMs;
  /** Description in English, with the reason why the part counts. */
  readonly text: string;
  /** The part's share of the figure, in the figure's unit. */
  readonly amount: number;
  readonly evidence: readonly Evidence[];
}

/** A figure with the parts that it is the sum of. */
interface Explained {
  readonly unit: "ms" | "count" | "therm" | "kWh";
  readonly value: Readonly<Record<string, number>>;
  readonly parts: readonly Part[];
  readonly rules: readonly string[];
}

/** The answer to a request for an explanation. */
export interface Explanation extends Explained {
  readonly figure: string;
  readonly window: Window;
  /** Number of omitted parts beyond `MAX_PARTS`. */
  readonly left_out: number;
  readonly coverage: FigureCoverage;
}

/** Maximum number of parts in one explanation. */
const MAX_PARTS = 500;

/** Functions that explain a figure, by the figure's name. */
const EXPLANATIONS: Readonly<Record<string, (source: Source, line: TimeLine) => Explained>> = {
  duration_by_mode: explainStages,
  frequency_by_mode: (source, line) => ({
    unit: "count",
    value: frequencyByMode(source, line.window).by_mode,
    parts: stageParts(source, line, ({ is_new_start }) => is_new_start).map((part) => ({ ...part, amount: 1 })),
    rules: ["a stage counts if it starts in the window; the same mode after no_data is not a new start"],
  }),
  runtime: (source, line) => explainModeSet(source, line, "runtime"),
  runtime_series: (source, line) => explainModeSet(source, line, "runtime"),
  utilization: (source, line) => explainModeSet(source, line, "in_use"),
  utilization_stats(source, line) {
    const use = explainModeSet(source, line, "in_use");
    const { in_use_ms, working_ms, in_use_working_ms, overtime_ms } = utilization(source, line.window);
    const rule =
      "the percentage is the time in use within working hours divided by the working hours; see explain working_minutes";
    return { ...use, value: { in_use_ms, working_ms, in_use_working_ms, overtime_ms }, rules: [...use.rules, rule] };
  },
  utilization_summary: explainStages,
  utilization_timeline: explainStages,
  recent_stages: explainStages,
  cycle_count(source, line) {
    const { cycle_count, derived, source: by, approximate } = cycleCount(source, line.window);
    const value = { cycle_count, derived };
    if (by === "plc") {
      const counters = tagsWithRole(line.state.parameters, "cycle_counter");
      const parts = countedParts(evidenceIn(source, line.window, counters), "counter");
      const rules = [
        "the figure is the sum of the increments of the PLC's cycle counter, each at the time of the reading that shows it",
        ...approximateRule(approximate),
      ];
      return { unit: "count", value, parts, rules };
    }
    const tags = tagsWithRole(line.state.parameters, "mode");
    const parts = cyclesIn(source, line).map(({ start, end, result, reason, counted, spray_ms, bake_ms }): Part => {
      const why = reason === "" ? "" : ` (${reason})`;
      const text = `${result}${why}: spray ${spray_ms} ms, bake ${bake_ms} ms`;
      const evidence = [...evidenceAt(source, start, tags), ...evidenceAt(source, end, tags)];
      return { start, end, text, amount: counted ? 1 : 0, evidence };
    });
    const rules = ["a cycle belongs to the window that contains its END; complete and complete_no_bake count"];
    return { unit: "count", value, parts, rules };
  },
  gas_usage: (source, line) => explainEnergy(source, line, "gas"),
  kwh_usage: (source, line) => explainEnergy(source, line, "kwh"),
  working_minutes(source, line) {
    const { state } = line;
    const window = watchedWindow(source, line);
    const shifts = workingTime(state, window);
    const parts = shifts.map(({ start, end }): Part => {
      return { start, end, text: "working hours", amount: end - start, evidence: [] };
    });
    const rules = epochsIn(state, window).flatMap(({ start, tz, working_hours }) =>
      working_hours
        .filter(({ enabled }) => enabled)
        .map((shift) => `from ${start}: ${shift.day} ${shift.start} to ${shift.stop}, ${tz}`),
    );
    return { unit: "ms", value: { working_ms: lengthOf(shifts) }, parts, rules };
  },
  overuse(source, line) {
    const { overuse_ms, overuse_cycles, overuse_count, cycles_source } = overuse(source, line.window);
    const parts = episodesIn(source, line.window).map(({ type, start, end }): Part => {
      const amount = Math.min(end, line.window.end) - Math.max(start, line.window.start);
      const evidence = evidenceAt(source, start, filterTags(line.state.parameters, type));
      return { start, end, text: `${type} in overuse`, amount, evidence };
    });
    const rules = [
      "the booth's overuse is the time in use while any filter is in overuse; each minute counts once",
      cycles_source === "plc"
        ? "overuse cycles are the increments of the PLC's counter during overuse, at the time of the reading that shows them, also after a gap"
        : "overuse cycles are the complete and complete_no_bake cycles that ended in overuse, because the PLC has no cycle counter",
    ];
    return { unit: "ms", value: { overuse_ms, overuse_cycles, overuse_count }, parts, rules };
  },
  filter_maintenance_history(source, line) {
    const { parameters } = line.state;
    const removed = filterMaintenanceHistory(source, line.window);
    const parts = removed.map((record): Part => {
      const { filter_type, installed_at, removed_at, service, booth_in_use_ms, cycles } = record;
      const since = record.overuse_since === null ? "" : `, in overuse since ${record.overuse_since}`;
      const use = `${booth_in_use_ms} ms in use, ${cycles} cycles`;
      const evidence = evidenceAt(source, removed_at, filterTags(parameters, filter_type));
      const text = `${filter_type} changed ${service.replace("_", " ")}: ${use}${since}`;
      return { start: installed_at, end: removed_at, text, amount: 1, evidence };
    });
    const limits = FILTER_TYPES.flatMap((type) => {
      const fitted = parameters?.filters[type];
      return fitted === undefined ? [] : [`limits of the ${type}: ${JSON.stringify(fitted.limits)}`];
    });
    const rules = ["a filter's record is written at its removal; the evidence is the reading that showed the change"];
    return { unit: "count", value: { changes: removed.length }, parts, rules: [...rules, ...limits] };
  },
  revision_history(source, line) {
    const { firmware_versions, program_versions } = revisionHistory(source);
    const { start, end } = line.window;
    const entries = [...firmware_versions, ...program_versions].filter(
      ({ first_seen_at }) => first_seen_at >= start && first_seen_at < end,
    );
    const parts = entries.map((entry): Part => {
      const { item, first_seen_at: at, initial, firmware_version, plc_program = "", plc_program_revision = "" } = entry;
      const version = firmware_version ?? `${plc_program} ${plc_program_revision}`.trim();
      const text = `${item} ${version}${initial ? " (found at the first connection)" : ""}`;
      const roles: readonly TagRole[] =
        item === "firmware" ? ["firmware_version"] : ["plc_program", "plc_program_revision"];
      const evidence = evidenceAt(
        source,
        at,
        roles.flatMap((role) => tagsWithRole(line.state.parameters, role)),
      );
      return { start: at, end: at, amount: 1, evidence, text };
    });
    const rules = [
      "a new value is recorded after two good readings and 60 s without a change, at the time of its first reading",
    ];
    return { unit: "count", value: { entries: entries.length }, parts, rules };
  },
  validation_incidents(source, line) {
    const incidents = validationIncidents(source, line.window);
    const parts = incidents.map(({ check, tag_name, reason, logic, first_seen_at, resolved_at }): Part => {
      const evidence = tag_name === "" ? [] : evidenceAt(source, first_seen_at, [tag_name]);
      const text = `${check}${tag_name === "" ? "" : ` at ${tag_name}`}: ${reason} ${JSON.stringify(logic)}`;
      return { start: first_seen_at, end: resolved_at ?? line.window.end, text, amount: 1, evidence };
    });
    const rules = ["each check and tag has one open incident at most; it ends after 10 good evaluations or 10 min"];
    return { unit: "count", value: { incidents: incidents.length }, parts, rules };
  },
};

export const EXPLAINABLE: readonly string[] = Object.keys(EXPLANATIONS);

/** Traces a figure back to stages and cycles, and these to readings. Returns null if the figure is unknown. */
export function explain(source: Source, figure: string, window: Window): Explanation | null {
  const explained = Object.hasOwn(EXPLANATIONS, figure) ? EXPLANATIONS[figure] : undefined;
  if (explained === undefined) return null;
  const line = timeLineOf(source, window);
  const { parts, rules, unit, value } = explained(source, line);
  return {
    figure,
    window: line.window,
    unit,
    value,
    rules: [...commonRules(line), ...rules],
    parts: parts.slice(0, MAX_PARTS),
    left_out: Math.max(0, parts.length - MAX_PARTS),
    coverage: line.coverage,
  };
}

function commonRules({ state }: TimeLine): string[] {
  const { parameters } = state;
  if (parameters === null) return ["no parameters are in force, so no figure can be derived"];
  const group = parameters.tags[tagWithRole(parameters, "mode") ?? ""]?.group ?? "";
  const codes = Object.entries(parameters.modes).map(([code, mode]) => `${code} ${mode}`);
  return [
    `definitions version ${DERIVATION_VERSION}, profile ${parameters.profile} ${parameters.profile_version}`,
    `mode codes: ${codes.join(", ")}; any other code is unknown`,
    `a gap of up to ${bridgeMs(parameters, group) / 1000} s continues the mode; a longer gap only if counters prove it`,
    `a stage under ${minStageMs(parameters, group) / 1000} s is merged into the next stage; fault and estop are kept`,
    ...unfitUnits(parameters).map(({ tag, reason }) => `${tag}: ${reason}`),
  ];
}

function explainStages(source: Source, line: TimeLine): Explained {
  const parts = stageParts(source, line, () => true);
  const rules = [
    "stages cover the window without overlap; time without a stage is no_data, and all modes add up to the window",
  ];
  return { unit: "ms", value: durationByMode(source, line.window).by_mode, parts, rules };
}

function explainModeSet(source: Source, line: TimeLine, set: "runtime" | "in_use"): Explained {
  const epochs = epochsIn(line.state, line.window);
  const counts = ({ mode, start, end }: BoothStage): boolean =>
    epochs.some((one) => one.start < end && one.end > start && one.mode_sets?.[set].includes(mode) === true);
  const rules = epochs.map(
    ({ start, mode_sets }) => `from ${utcText(start)}, the set ${set} is ${(mode_sets?.[set] ?? []).join(", ")}`,
  );
  return { unit: "ms", value: { [`${set}_ms`]: msIn(line, set) }, parts: stageParts(source, line, counts), rules };
}

function stageParts(source: Source, line: TimeLine, counts: (stage: BoothStage) => boolean): Part[] {
  const tags = tagsWithRole(line.state.parameters, "mode");
  return line.spans.filter(counts).map((stage, index): Part => {
    const { mode, start, end, uncertain_ms, is_new_start } = stage;
    const inferred = uncertain_ms > 0 ? `, ${uncertain_ms} ms of it inferred across gaps` : "";
    const text = `${mode}${is_new_start ? "" : " (continued)"}${inferred}`;
    // Parts beyond the limit are omitted, so their readings aren't searched.
    const evidence = index < MAX_PARTS && mode !== "no_data" ? evidenceAt(source, start, tags) : [];
    return { start, end, text, amount: end - start, evidence };
  });
}

/** Figure and unit of each energy meter, and the role of the load tag for the estimate. */
const METERS = {
  gas: { figure: "gas_therm", by: "gas_source", unit: "therm", load: "burner_modulation" },
  kwh: { figure: "energy_kwh", by: "energy_source", unit: "kWh", load: "fan_speed" },
} as const;

function approximateRule(approximate: boolean): readonly string[] {
  return approximate
    ? ["approximate: an hour is only partly in the window, and its readings are deleted from the log"]
    : [];
}

function explainEnergy(
  source: Source,
  { state: { parameters }, window }: TimeLine,
  role: keyof typeof METERS,
): Explained {
  const { figure, by, unit, load } = METERS[role];
  const figures = energy(source, window);
  const amount = figures[figure] ?? 0;
  const explained = { unit, value: { [figure]: amount } };
  if (figures[by] === "estimate") {
    const evidence = evidenceIn(source, window, tagsWithRole(parameters, load));
    const parts = [{ ...window, text: "estimated: the PLC has no meter for it", amount, evidence }];
    const { burner_size_btu_h = 0, motor_size_hp = 0 } = parameters ?? {};
    const formula =
      role === "gas"
        ? `burner size (${burner_size_btu_h} BTU/h) x modulation`
        : `motor size (${motor_size_hp} hp) x fan speed cubed`;
    return {
      ...explained,
      parts,
      rules: [`an estimate: ${formula}, over the time in which it was read`, ...approximateRule(figures.approximate)],
    };
  }
  const tags = tagsWithRole(parameters, role);
  const factor = parameters?.tags[tags[0] ?? ""]?.factor ?? 1;
  const rules = [
    `the figure is from the PLC's meter, by hour; each change between two readings is a rise, a wrap, a reset or unexplained (factor ${factor})`,
    "an hour that is only partly in the window is split by its readings, or pro rata if these are deleted from the log",
    ...approximateRule(figures.approximate),
  ];
  return { ...explained, parts: countedParts(evidenceIn(source, window, tags), "meter", factor), rules };
}

/** Turns each reading of a counter into a part of the figure: the difference from the previous reading. */
function countedParts(readings: readonly Evidence[], what: "meter" | "counter", factor = 1): Part[] {
  return readings.map((one, index) => {
    const before = readings[index - 1];
    const amount = before === undefined ? 0 : (Number(one.value) - Number(before.value)) * factor;
    return { start: one.at, end: one.at, text: `the ${what} showed ${String(one.value)}`, amount, evidence: [one] };
  });
}

function filterTags(parameters: Parameters | null, type: FilterType): string[] {
  return [...tagsWithRole(parameters, "filter_minutes", type), ...tagsWithRole(parameters, "filter_reset", type)];
}

/**
 * Returns the readings at the instant. If there are none (such as when a limit was reached or polling resumed), returns the last earlier
 * values.
 */
function evidenceAt(source: Source, at: EpochMs, tags: readonly TagName[]): Evidence[] {
  const exact = evidenceIn(source, { start: at, end: at + 1 }, tags);
  if (exact.length > 0 || tags.length === 0) return exact;
  const before = evidenceIn(source, { start: at - HEARTBEAT_MS, end: at }, tags);
  return tags.flatMap((tag) => before.findLast((one) => one.tag === tag) ?? []);
}

function evidenceIn(source: Source, window: Window, tags: readonly TagName[]): Evidence[] {
  const read = source.reader.readings(source.stream, window, new Set(tags));
  return Array.from(read, ({ seq, tag, value, quality, time }) => ({ seq, tag, value, quality, at: time }));
}
