import { MODES_BY_PRIORITY } from "../../../src/domain/booth.ts";
import type { BoothFigures } from "../figures/booth.ts";
import type { Span } from "../base/span.ts";
import { type Calendar, overuse, runtimeMs, utilization } from "../figures/summary.ts";
import { msByMode } from "../figures/window.ts";
import { minutes } from "../base/time.ts";

const NAMED =
  "utilization_minutes working_minutes utilization_pct overtime_minutes cycle_count gas_usage kwh_usage " +
  "overuse_minutes overuse_cycles runtime_minutes service_events";

/** Names in rules of aggregate definitions: figures of reports, and minutes by mode (bake_minutes). */
export const FIGURE_NAMES: ReadonlySet<string> = new Set([
  ...NAMED.split(" "),
  ...MODES_BY_PRIORITY.map((mode) => `${mode}_minutes`),
]);

/** Returns a booth's figures of one local day or week by name; undefined if it has no observed time. */
export function periodFigures(
  figures: BoothFigures,
  calendar: Calendar,
  period: Span,
): Readonly<Record<string, number | null>> | undefined {
  const sums = msByMode(figures.stages, period);
  if ((sums.get("no_data") ?? 0) >= period.end - period.start) return undefined;
  const changes = figures.maintenance.filter((one) => one.removed_at >= period.start && one.removed_at < period.end);
  return {
    ...Object.fromEntries(MODES_BY_PRIORITY.map((mode) => [`${mode}_minutes`, minutes(sums.get(mode) ?? 0)])),
    ...utilization(figures, calendar, period),
    ...overuse(figures, period),
    runtime_minutes: minutes(runtimeMs(figures, period)),
    service_events: changes.length,
  };
}
