import { csvField } from "../../contract/reports.ts";
import type { BakesBody, SheetBody } from "../../contract/records.ts";

function line(cells: readonly (string | number | boolean | null)[]): string {
  return `${cells.map((cell) => (cell === null ? "" : csvField(String(cell)))).join(",")}\n`;
}

/** Yields the lines of a log sheet: one per day and filter, then one per change. */
export function* sheetCsv({ head, digest, days, changes }: SheetBody): Generator<string> {
  const columns = [
    "use_hours",
    "limit_hours",
    "overuse_since",
    "highest_pa",
    "median_pa",
    "baseline_pa",
    "limit_pa",
  ] as const;
  yield line([
    "kind",
    "day",
    "use_minutes",
    "spray_minutes",
    "no_data_minutes",
    "filter",
    "installed_at",
    "removed_at",
    ...columns,
    "part_number",
    "note",
  ]);
  for (const { day, use_minutes, spray_minutes, no_data_minutes, filters } of days) {
    const times = [day, use_minutes, spray_minutes, no_data_minutes];
    if (filters.length === 0) yield line(["day", ...times]);
    for (const one of filters) {
      yield line(["day", ...times, one.filter, one.installed_at, one.removed_at, ...columns.map((name) => one[name])]);
    }
  }
  const empty = columns.map(() => "");
  for (const { at, filter, part_number, note } of changes) {
    yield line(["change", at.slice(0, 10), "", "", "", filter, at, "", ...empty, part_number, note]);
  }
  yield line(["digest", digest, head.from, head.to]);
}

/** Yields the lines of bake records: one per bake and rule. */
export function* bakesCsv({ head, digest, bakes }: BakesBody): Generator<string> {
  const sensors = ["air_peak_c", "metal_peak_c", "air_unknown_minutes", "metal_unknown_minutes"];
  yield line([
    "bay",
    "start",
    "end",
    "bake_minutes",
    ...sensors,
    "rule",
    "verdict",
    "reason",
    "above_minutes",
    "longest_minutes",
  ]);
  for (const { bay, start, end, bake_minutes, air, metal, rules } of bakes) {
    const figures = [air?.peak_c, metal?.peak_c, air?.unknown_minutes, metal?.unknown_minutes].map(
      (one) => one ?? null,
    );
    const row = [bay, start, end, bake_minutes, ...figures];
    if (rules.length === 0) yield line(row);
    for (const { rule, verdict, reason, above_minutes, longest_minutes } of rules) {
      yield line([...row, rule, verdict, reason, above_minutes, longest_minutes]);
    }
  }
  yield line(["digest", digest, head.from, head.to]);
}
