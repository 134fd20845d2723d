import { bridgeMs } from "../core/derive/coverage.ts";
import { tagWithRole } from "../core/derive/roles.ts";
import { minStageMs } from "../core/derive/stages.ts";
import { DERIVATION_VERSION } from "../core/derive/version.ts";
import type { BoothStage, Window } from "../ports.ts";
import { cycleCount, cyclesIn } from "./cycles.ts";
import { evidenceAt, evidenceIn, roleTags, type Explained, type Part } from "./evidence.ts";
import { RECORD_WAYS } from "./explain-records.ts";
import { durationByMode, frequencyByMode } from "./modes.ts";
import { epochsIn, msIn } from "./rules.ts";
import { timeLineOf, type FigureCoverage, type Source, type TimeLine } from "./source.ts";
import { utilization } from "./utilization.ts";

/** Parts of one explanation; a longer one says how many it left out. */
const MAX_PARTS = 500;

export interface Explanation {
  readonly figure: string;
  readonly window: Window;
  readonly unit: Explained["unit"];
  readonly value: Readonly<Record<string, number>>;
  readonly rules: readonly string[];
  readonly parts: readonly Part[];
  readonly left_out: number;
  readonly coverage: FigureCoverage;
}

/** Figures that can be explained, each with its own way back to readings. */
const WAYS: Readonly<Record<string, (source: Source, line: TimeLine) => Explained>> = {
  duration_by_mode: ofStages,
  frequency_by_mode: (source, line) => ({
    unit: "count",
    value: frequencyByMode(source, line.window).by_mode,
    parts: stageParts(source, line, ({ is_new_start }) => is_new_start).map((part) => ({ ...part, amount: 1 })),
    rules: [
      "a stage counts where its start lies in the window; after no_data into the same mode there is no new start",
    ],
  }),
  runtime: (source, line) => inSet(source, line, "runtime"),
  runtime_series: (source, line) => inSet(source, line, "runtime"),
  utilization: (source, line) => inSet(source, line, "in_use"),
  utilization_stats: explainUse,
  utilization_summary: ofStages,
  utilization_timeline: ofStages,
  recent_stages: ofStages,
  cycle_count: explainCycles,
  ...RECORD_WAYS,
};

export const EXPLAINABLE: readonly string[] = Object.keys(WAYS);

/** Takes a figure back to stages and cycles, and these to readings. null: no such figure. */
export function explain(source: Source, figure: string, window: Window): Explanation | null {
  const way = Object.hasOwn(WAYS, figure) ? WAYS[figure] : undefined;
  if (way === undefined) return null;
  const line = timeLineOf(source, window);
  const { parts, rules, unit, value } = way(source, line);
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

/** What all figures of a time line are made of. */
function ofStages(source: Source, line: TimeLine): Explained {
  const parts = stageParts(source, line, () => true);
  const rules = ["stages tile the window: what none covers has no data, and the sum over all modes is the window"];
  return { unit: "ms", value: durationByMode(source, line.window).by_mode, parts, rules };
}

function explainUse(source: Source, line: TimeLine): Explained {
  const use = inSet(source, line, "in_use");
  const { in_use_ms, working_ms, in_use_working_ms, overtime_ms } = utilization(source, line.window);
  const rules = ["the percentage is the time in use within working hours over these; explain working_minutes has them"];
  const value = { in_use_ms, working_ms, in_use_working_ms, overtime_ms };
  return { ...use, value, rules: [...use.rules, ...rules] };
}

function inSet(source: Source, line: TimeLine, set: "runtime" | "in_use"): Explained {
  const epochs = epochsIn(line.state, line.window);
  const counts = ({ mode, start, end }: BoothStage): boolean =>
    epochs.some((one) => one.start < end && one.end > start && one.mode_sets?.[set].includes(mode) === true);
  const rules = epochs.map(
    ({ start, mode_sets }) => `from ${start.toString()} on the set ${set} is ${(mode_sets?.[set] ?? []).join(", ")}`,
  );
  return { unit: "ms", value: { [`${set}_ms`]: msIn(line, set) }, parts: stageParts(source, line, counts), rules };
}

function stageParts(source: Source, line: TimeLine, counts: (stage: BoothStage) => boolean): Part[] {
  const tags = roleTags(line.state.parameters, "mode");
  return line.spans.filter(counts).map((stage, index): Part => {
    const { mode, start, end, uncertain_ms, is_new_start } = stage;
    const inferred = uncertain_ms > 0 ? `, ${uncertain_ms.toString()} ms of it inferred over gaps` : "";
    const text = `${mode}${is_new_start ? "" : " (goes on)"}${inferred}`;
    // Looking up each reading of a year would cost more than it tells.
    const evidence = index < MAX_PARTS && mode !== "no_data" ? evidenceAt(source, start, tags) : [];
    return { start, end, text, amount: end - start, evidence };
  });
}

function explainCycles(source: Source, line: TimeLine): Explained {
  const { cycle_count, derived, source: by } = cycleCount(source, line.window);
  const value = { cycle_count, derived };
  if (by === "plc") {
    const tags = roleTags(line.state.parameters, "cycle_counter");
    const readings = evidenceIn(source, line.window, tags);
    const parts = readings.map((one, index): Part => {
      const before = readings[index - 1];
      const amount = before === undefined ? 0 : Number(one.value) - Number(before.value);
      return { start: one.at, end: one.at, text: `the counter showed ${String(one.value)}`, amount, evidence: [one] };
    });
    const rules = [
      "the PLC's cycle counter is the figure: its booked increments, by the instant of the reading that shows them",
    ];
    return { unit: "count", value, parts, rules };
  }
  const parts = cyclesIn(source, line).map(({ start, end, result, reason, counted, spray_ms, bake_ms }): Part => {
    const why = reason === "" ? "" : ` (${reason})`;
    const text = `${result}${why}: spray ${spray_ms.toString()} ms, bake ${bake_ms.toString()} ms`;
    const tags = roleTags(line.state.parameters, "mode");
    const evidence = [...evidenceAt(source, start, tags), ...evidenceAt(source, end, tags)];
    return { start, end, text, amount: counted ? 1 : 0, evidence };
  });
  const rules = ["a cycle belongs to the window that contains its END; complete and complete_no_bake count"];
  return { unit: "count", value, parts, rules };
}

function commonRules({ state }: TimeLine): string[] {
  const { parameters } = state;
  if (parameters === null) return ["no parameters are in force: nothing can be derived"];
  const group = parameters.tags[tagWithRole(parameters, "mode") ?? ""]?.group ?? "";
  const codes = Object.entries(parameters.modes).map(([code, mode]) => `${code} ${mode}`);
  return [
    `definitions version ${DERIVATION_VERSION.toString()}, profile ${parameters.profile} ${parameters.profile_version}`,
    `mode codes: ${codes.join(", ")}; any other is unknown`,
    `a gap up to ${bridgeMs(parameters, group).toString()} ms continues the mode; a longer one only where counters prove it`,
    `a stage under ${minStageMs(parameters, group).toString()} ms is merged into its successor; fault and estop are kept`,
  ];
}
