import { FILTER_TYPES, MODES_LISTED, type Mode, type Quality, type TagValue } from "../../domain/booth.ts";
import type { LinkStatus } from "../../domain/status.ts";
import type { BoothSummary } from "../../domain/summary.ts";
import type { BoothId, EpochMs } from "../../domain/units.ts";
import { isoTime, minutesOf } from "../../contract/time.ts";
import type { DurationsToday } from "../port.ts";

/** What is told of a booth beside its tags. `value` null: not known. */
export interface Figure {
  readonly figure: string;
  readonly label: string;
  readonly value: number | string | null;
  readonly unit: string;
  /** What it is to those who show it. */
  readonly sort: "mode" | "time" | "count" | "total" | "minutes" | "percent" | "hours" | "state";
  /** It tells of the box or its connections, not of the booth's work. */
  readonly diagnostic: boolean;
}

const MIN_PER_H = 60;

/** The booth's figures at this moment; always the same ones in the same order. */
export function figuresOf(booth: {
  readonly summary: BoothSummary | null;
  readonly plc: LinkStatus;
  readonly durations: DurationsToday;
  /** Records that wait for a confirmed clock. */
  readonly waiting_for_clock: number;
}): readonly Figure[] {
  const { summary, plc, durations, waiting_for_clock } = booth;
  return [
    figure("mode", "Mode", { value: summary?.mode ?? null, sort: "mode" }),
    figure("mode_since", "Mode since", { value: timeOf(summary?.since ?? null), sort: "time" }),
    figure("cycles_today", "Cycles today", { value: summary?.cycles_today ?? null, sort: "count" }),
    figure("cycles_total", "Cycles by the PLC", { value: summary?.cycles_total ?? null, sort: "total" }),
    ...MODES_LISTED.map((mode) => minutesToday(mode, durations)),
    ...FILTER_TYPES.flatMap((type) => filterFigures(type, summary?.filters[type])),
    figure("link", "PLC link", { value: plc.kind, sort: "state", diagnostic: true }),
    figure("open_incidents", "Open incidents", {
      value: summary?.open_incidents ?? null,
      sort: "count",
      diagnostic: true,
    }),
    figure("clock_waiting_records", "Records waiting for the clock", {
      value: waiting_for_clock,
      sort: "count",
      diagnostic: true,
    }),
    figure("last_good_at", "Last reading", {
      value: timeOf(summary?.last_good_at ?? null),
      sort: "time",
      diagnostic: true,
    }),
    figure("firmware_version", "PLC firmware", {
      value: summary?.firmware_version ?? null,
      sort: "state",
      diagnostic: true,
    }),
    figure("plc_program", "PLC program", { value: programOf(summary), sort: "state", diagnostic: true }),
  ];
}

function figure(
  name: string,
  label: string,
  {
    value,
    sort,
    unit = "",
    diagnostic = false,
  }: Pick<Figure, "value" | "sort"> & Partial<Pick<Figure, "unit" | "diagnostic">>,
): Figure {
  return { figure: name, label, value, unit, sort, diagnostic };
}

function timeOf(at: EpochMs | null): string | null {
  return at === null ? null : isoTime(at);
}

function programOf(summary: BoothSummary | null): string | null {
  const parts = [summary?.plc_program ?? null, summary?.plc_program_revision ?? null].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(" ");
}

function minutesToday(mode: Mode, durations: DurationsToday): Figure {
  const label = `${mode.replaceAll("_", " ")} today`;
  return figure(`${mode}_minutes_today`, label, {
    value: minutesOf(durations[mode] ?? 0),
    sort: "minutes",
    unit: "min",
  });
}

function filterFigures(
  type: string,
  filter: BoothSummary["filters"][keyof BoothSummary["filters"]],
): readonly Figure[] {
  // A type that isn't fitted is absent, not zero.
  if (filter === undefined) return [];
  const name = type.replace("_filter", " filter");
  const { minutes, percent, state } = filter;
  return [
    figure(`${type}_hours`, `${name} hours`, {
      value: rounded(minutes === null ? null : minutes / MIN_PER_H),
      sort: "hours",
      unit: "h",
    }),
    figure(`${type}_percent`, `${name} used`, { value: rounded(percent), sort: "percent", unit: "%" }),
    figure(`${type}_state`, `${name} state`, { value: state, sort: "state" }),
  ];
}

/** To two places, as everybody shows it. */
function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 100) / 100;
}

/** Returns a function that keeps the figures whose value, or quality, differs from what it returned before. */
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
