import { isoTime, minutesOf } from "../../contract/time.ts";
import { FILTER_TYPES, MODES_LISTED, type Quality, type TagValue } from "../../domain/booth.ts";
import type { LinkStatus } from "../../domain/status.ts";
import type { BoothSummary } from "../../domain/summary.ts";
import type { BoothId, EpochMs } from "../../domain/units.ts";
import type { DurationsToday } from "../port.ts";

/** A figure of a booth that outputs send in addition to its tags. */
export interface Figure {
  readonly figure: string;
  readonly label: string;
  /** The value; null if it is unknown. */
  readonly value: number | string | null;
  readonly unit: string;
  /** The kind of value, which decides how Home Assistant shows the figure. */
  readonly sort: "mode" | "time" | "count" | "total" | "minutes" | "percent" | "hours" | "state";
  /** True if the figure describes the gateway or its connections instead of the booth's work. */
  readonly diagnostic: boolean;
}

type Row = readonly [
  figure: string,
  label: string,
  sort: Figure["sort"],
  value: Figure["value"] | undefined,
  unit?: string,
];

const MIN_PER_H = 60;

/** Returns the booth's current figures, always the same figures in the same order. */
export function figuresOf({
  summary,
  plc,
  durations,
  waiting_for_clock,
}: {
  readonly summary: BoothSummary | null;
  readonly plc: LinkStatus;
  readonly durations: DurationsToday;
  /** The number of records that wait for a confirmed clock. */
  readonly waiting_for_clock: number;
}): readonly Figure[] {
  const ofWork: readonly Row[] = [
    ["mode", "Mode", "mode", summary?.mode],
    ["mode_since", "Mode since", "time", timeOf(summary?.since)],
    ["cycles_today", "Cycles today", "count", summary?.cycles_today],
    ["cycles_total", "Cycles by the PLC", "total", summary?.cycles_total],
    ...MODES_LISTED.map((mode): Row => {
      const label = `${mode.replaceAll("_", " ")} today`;
      return [`${mode}_minutes_today`, label, "minutes", minutesOf(durations[mode] ?? 0), "min"];
    }),
    ...FILTER_TYPES.flatMap((type) => filterRows(type, summary?.filters[type])),
  ];
  const program = [summary?.plc_program, summary?.plc_program_revision].filter((part) => typeof part === "string");
  const ofGateway: readonly Row[] = [
    ["link", "PLC link", "state", plc.kind],
    ["open_incidents", "Open incidents", "count", summary?.open_incidents],
    ["clock_waiting_records", "Records waiting for the clock", "count", waiting_for_clock],
    ["last_good_at", "Last reading", "time", timeOf(summary?.last_good_at)],
    ["firmware_version", "PLC firmware", "state", summary?.firmware_version],
    ["plc_program", "PLC program", "state", program.length === 0 ? null : program.join(" ")],
  ];
  return [...ofWork.map((row) => figureOf(row, false)), ...ofGateway.map((row) => figureOf(row, true))];
}

function figureOf([figure, label, sort, value = null, unit = ""]: Row, diagnostic: boolean): Figure {
  return { figure, label, value, unit, sort, diagnostic };
}

function timeOf(at: EpochMs | null | undefined): string | null {
  return at === null || at === undefined ? null : isoTime(at);
}

/** Returns the rows of a filter type; empty if the filter is not fitted. */
function filterRows(type: string, filter: BoothSummary["filters"][keyof BoothSummary["filters"]]): readonly Row[] {
  if (filter === undefined) return [];
  const name = type.replace("_filter", " filter");
  const { minutes, percent, state } = filter;
  return [
    [`${type}_hours`, `${name} hours`, "hours", rounded(minutes === null ? null : minutes / MIN_PER_H), "h"],
    [`${type}_percent`, `${name} used`, "percent", rounded(percent), "%"],
    [`${type}_state`, `${name} state`, "state", state],
  ];
}

/** Rounds to two decimal places. */
function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 100) / 100;
}

/** Returns a function that returns the figures whose value or quality has changed since the last call. */
export function changedFigures(): (booth: BoothId, figures: readonly Figure[], quality?: Quality) => readonly Figure[] {
  const before = new Map<string, { readonly value: TagValue; readonly quality: Quality }>();
  return (booth, figures, quality = "good") => {
    const changed = figures.filter(({ figure, value }) => {
      const last = before.get(`${booth} ${figure}`);
      return last?.value !== value || last.quality !== quality;
    });
    for (const { figure, value } of changed) before.set(`${booth} ${figure}`, { value, quality });
    return changed;
  };
}
