import type { CommandSpec } from "../spec.ts";
import { AGENT, BOOTH, BY, REPORT, REPORT_NOTES } from "../spec.ts";

/** The figures of reports/explain.ts. That file isn't imported, because it would load half of all reports. */
const FIGURES = {
  duration_by_mode: "time in each mode",
  frequency_by_mode: "number of starts of each mode",
  runtime: "time in the modes of the set runtime",
  runtime_series: "time in the modes of the set runtime, over time",
  utilization: "time in use",
  utilization_stats: "time in use, and its share of the working hours",
  utilization_summary: "time in each mode",
  utilization_timeline: "time in each mode, over time",
  recent_stages: "the last stages",
  cycle_count: "completed cycles",
  gas_usage: "gas consumption",
  kwh_usage: "electricity consumption",
  working_minutes: "working hours",
  overuse: "use of filters beyond their limits",
  filter_maintenance_history: "replaced filters",
  revision_history: "versions of firmware and PLC program",
  validation_incidents: "validation incidents",
} as const;

/** The commands that show reports. */
export const REPORTS_TABLE = [
  {
    name: "durations",
    summary: "show the time in each mode and the number of starts, over a window",
    options: REPORT,
    notes: [...REPORT_NOTES, "The minutes of all modes add up to the window. Time without readings is No Data."],
    examples: ["durations", "durations --from 2026-03-01 --to 2026-03-08"],
  },
  {
    name: "history",
    summary: "show readings of tags over a window",
    operands: [{ name: "TAGS", text: "names of tags, separated by commas" }],
    options: {
      ...REPORT,
      "page N": "page number, from 1",
      "limit N": "readings per page, at most 1000 (default 50)",
    },
    notes: [...REPORT_NOTES, "The agent logs a reading when its value changes, and at each heartbeat."],
    examples: ["history mode,cycle_count --limit 200"],
  },
  {
    name: "filters",
    summary: "show the fitted filters, and those removed over a window; or record a filter change",
    operands: [
      { name: "ACTION", text: "the action", optional: true, choices: { changed: "records that FILTER was changed" } },
      {
        name: "FILTER",
        text: "the filter",
        optional: true,
        choices: {
          intake: "filter of the fresh air",
          pre: "filter before the exhaust filter",
          exhaust: "filter of the exhaust air",
        },
      },
    ],
    options: {
      ...REPORT,
      "ago TIME": "changed: time since the change, e.g. 30m or 2h, up to 36h (default: now)",
      "part TEXT": "changed: part number of the new filter, up to 60 characters",
      "note TEXT": "changed: a note, up to 200 characters",
      undo: "changed: undo the last entry for that filter, within 24 h",
      ...BY,
    },
    notes: [
      ...REPORT_NOTES,
      "It shows hours in use, limit, percentage used, and the expected end of life at the rate of the last weeks. Overuse is time beyond the limit until the filter is replaced.",
      "If the PLC has its own reset for a changed filter, use that reset. An entry within 12 h of a reset counts as the same change.",
    ],
    examples: ["filters", "filters changed exhaust", "filters changed exhaust --undo"],
    exits: { 1: "refused, with the reason" },
  },
  {
    name: "records",
    summary: "show the log sheet of the filters or the bake records, for print too; or check a printed digest",
    operands: [
      {
        name: "ACTION",
        text: "the record",
        choices: {
          filters: "log sheet: use and pressure drop of the filters by day, and their changes",
          bakes: "bake records: temperatures and the verdicts of the rules",
          verify: "compares a printed digest with the data of the same period",
        },
      },
      { name: "DIGEST", text: "verify: the digest in the document's head", optional: true },
    ],
    options: {
      ...REPORT,
      csv: "print CSV",
      html: "print a document for Letter and A4 paper",
      "lang LANGUAGE": "language of the document: en, es or de (default en)",
    },
    notes: [
      "Days are the facility's. --to includes its day. Default: the last 30 days. The present day is not included.",
      "The records are kept for five years, see retention.records_years.",
    ],
    examples: [
      "records filters --from 2026-01-01 --to 2026-03-31 --html > sheet.html",
      "records verify 3f2a-91bc-0d11-77e0 --from 2026-01-01 --to 2026-03-31",
    ],
    exits: { 1: "verify: the digest differs" },
  },
  {
    name: "explain",
    summary: "show the source of a figure: stages, readings, registers, and the rules that applied",
    operands: [{ name: "FIGURE", text: "the figure", choices: FIGURES }],
    options: REPORT,
    notes: REPORT_NOTES,
    examples: ["explain runtime --from 2026-03-02T15:00:00Z"],
  },
  {
    name: "reconcile",
    summary: "compare a day with the service, and resend records that the service lacks",
    options: {
      ...AGENT,
      ...BOOTH,
      "day DAY": "local day, YYYY-MM-DD (default: the last finished day)",
    },
    notes: [
      "The agent compares each finished day automatically, two hours after its end.",
      "If both sides have the same records but different figures, nothing is changed and both values are shown.",
    ],
    examples: ["reconcile", "reconcile --day 2026-03-02"],
    exits: { 0: "both sides agree", 1: "the sides differ, or can't be compared" },
  },
  {
    name: "rebuild",
    summary: "derive all facts again, starting at the oldest kept record, and show the changes",
    options: {
      ...AGENT,
      ...BOOTH,
      current: "use the current parameters instead of those in force at the time",
    },
    notes: [
      "The agent continues to run. The results take effect together at the end, or not at all.",
      "Delivered records are not altered. A changed fact is a new record that names the record it replaces.",
    ],
    examples: ["rebuild"],
  },
] as const satisfies readonly CommandSpec[];
