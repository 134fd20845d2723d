import type { CommandSpec } from "../spec.ts";
import { AGENT, BOOTH, BY, REPORT, REPORT_NOTES } from "../spec.ts";

/** The figures of reports/explain.ts, which isn't imported: it would load half of all reports. */
const FIGURES = {
  duration_by_mode: "time in each mode",
  frequency_by_mode: "how often each mode began",
  runtime: "time in the modes of a run",
  runtime_series: "the same, over time",
  utilization: "time in use",
  utilization_stats: "time in use, and its share",
  utilization_summary: "time in each mode",
  utilization_timeline: "time in each mode, over time",
  recent_stages: "the last stages",
  cycle_count: "cycles that ended",
  gas_usage: "gas",
  kwh_usage: "electricity",
  working_minutes: "working hours",
  overuse: "filters past their limits",
  filter_maintenance_history: "filters that were replaced",
  revision_history: "firmware and PLC programs",
  validation_incidents: "what looked wrong",
} as const;

/** The commands of reports. */
export const REPORTS_TABLE = [
  {
    name: "durations",
    summary: "time by mode and how often each began, over a window",
    options: REPORT,
    notes: [...REPORT_NOTES, "Minutes by mode add up to the window; what nobody saw is No Data."],
    examples: ["durations", "durations --from 2026-03-01 --to 2026-03-08"],
  },
  {
    name: "history",
    summary: "readings of tags over a window",
    operands: [{ name: "TAGS", text: "names of tags with commas between" }],
    options: {
      ...REPORT,
      "page N": "page, from 1",
      "limit N": "readings on a page, at most 1000 (default 50)",
    },
    notes: [...REPORT_NOTES, "A reading is logged when its value changes, and with each heartbeat."],
    examples: ["history mode,cycle_count --limit 200"],
  },
  {
    name: "filters",
    summary: "filters that are in, and those removed over a window; or enter that one was changed",
    operands: [
      { name: "ACTION", text: "what to do", optional: true, choices: { changed: "enter that FILTER was changed" } },
      {
        name: "FILTER",
        text: "which one",
        optional: true,
        choices: { intake: "of the fresh air", pre: "before the exhaust filter", exhaust: "of the air that leaves" },
      },
    ],
    options: {
      ...REPORT,
      "ago TIME": "changed: how long ago, e.g. 30m or 2h, up to 36h (default now)",
      "part TEXT": "changed: part number of the new one, up to 60 characters",
      "note TEXT": "changed: a note on it, up to 200 characters; both stay on this box",
      undo: "changed: take the last entry of that filter back, within 24 h",
      ...BY,
    },
    notes: [
      ...REPORT_NOTES,
      "Hours in use, limit, percent, and when it will be full at the pace of the last weeks; overuse is time past the limit, until the filter is replaced.",
      "Where the PLC has its own reset for a changed filter, use that: an entry within 12 h of it is the same change.",
    ],
    examples: ["filters", "filters changed exhaust", "filters changed exhaust --undo"],
    exits: { 1: "refused, with the reason" },
  },
  {
    name: "explain",
    summary: "where a figure comes from: stages, readings, registers, and the rules that applied",
    operands: [{ name: "FIGURE", text: "which one", choices: FIGURES }],
    options: REPORT,
    notes: REPORT_NOTES,
    examples: ["explain runtime --from 2026-03-02T15:00:00Z"],
  },
  {
    name: "reconcile",
    summary: "compare a day with the service, and send again what it lacks",
    options: {
      ...AGENT,
      ...BOOTH,
      "day DAY": "local day, YYYY-MM-DD (default: the last one that is over)",
    },
    notes: [
      "Each finished day is compared by the agent itself, two hours after it.",
      "Where both sides hold the same records and still differ, nothing is changed: both values are shown.",
    ],
    examples: ["reconcile", "reconcile --day 2026-03-02"],
    exits: { 0: "the same on both sides", 1: "they differ, or can't be compared" },
  },
  {
    name: "rebuild",
    summary: "derive all facts anew from the oldest kept record on, and say what changed",
    options: {
      ...AGENT,
      ...BOOTH,
      current: "with today's parameters instead of those in force then",
    },
    notes: [
      "The agent goes on meanwhile; the results come in force at once, at the end, or not at all.",
      "What was delivered is not altered: a changed fact is a new record that names the one it replaces.",
    ],
    examples: ["rebuild"],
  },
] as const satisfies readonly CommandSpec[];
