import { socketPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Io, type Run, type Values } from "./command.ts";
import { filtersChanged } from "./filters-changed.ts";
import { lookAtBooth } from "./one-booth.ts";
import { print } from "./print.ts";
import { askReport, boothName, reportQuery, tableText } from "./report-options.ts";

interface Interval {
  readonly start: string;
  readonly duration: number;
  readonly filter_estimated_duration: number | null;
  readonly filter_overuse_duration: number;
}

interface Maintenances {
  readonly data: readonly Readonly<Record<string, { readonly filter_interval_log: readonly Interval[] }>>[];
}

interface Removed {
  readonly filter_type: string;
  readonly maintenance_date: string;
  readonly duration: number;
  readonly overuse: number;
  readonly booth_in_use_time: number;
  readonly booth_overuse_cycles: number;
}

/** `booth-gateway filters`: what is in, and what was taken out. */
export const filtersCommand: Run = async (call) => {
  const { values, operands, io } = call;
  const [action, filter] = operands;
  if (action !== undefined && filter === undefined) {
    throw new CommandError("name the filter that was changed: intake, pre or exhaust", EXIT.usage);
  }
  if (filter !== undefined) return filtersChanged(call, filter);
  const query = reportQuery(values);
  const ask = { values, io };
  const { data } = await askReport<Maintenances>(ask, "filter_maintenances", query);
  const history = await askReport<{ readonly data: readonly Removed[] }>(ask, "filter_maintenance_history", query);
  const whole = { filters: data[0] ?? {}, removed: history.data };
  const assumed = values["json"] === true ? [] : await assumedFilters(values, io);
  print(ask, whole, (told) => `${filtersText(told)}${assumedText(assumed)}`);
  return EXIT.ok;
};

/** Those that were in when the gateway first looked. */
async function assumedFilters(values: Values, io: Io): Promise<readonly string[]> {
  const { now } = await lookAtBooth(await socketPath(values, io), await boothName(values, io));
  return Object.entries(now?.filters ?? {}).flatMap(([type, { assumed }]) => (assumed ? [type] : []));
}

export function assumedText(assumed: readonly string[]): string {
  if (assumed.length === 0) return "";
  return `\n${assumed.join(", ")}: "in since" is when this gateway first looked; when it was put in isn't known\n`;
}

export function filtersText({
  filters,
  removed,
}: {
  readonly filters: Maintenances["data"][number];
  readonly removed: readonly Removed[];
}): string {
  const inside = Object.entries(filters).flatMap(([type, { filter_interval_log: log }]) =>
    log.map((one) => [
      type,
      one.start,
      one.duration,
      one.filter_estimated_duration ?? "not known yet",
      one.filter_overuse_duration,
    ]),
  );
  const out = removed.map((one) => [
    one.filter_type,
    one.maintenance_date,
    one.duration,
    one.booth_in_use_time,
    one.overuse,
    one.booth_overuse_cycles,
  ]);
  const first =
    inside.length === 0
      ? "no filter is fitted in that time\n"
      : tableText(["filter", "in since", "days", "lasts days", "overuse days"], inside);
  const second =
    out.length === 0
      ? "none was removed\n"
      : tableText(["removed", "on", "days", "minutes in use", "overuse days", "overuse cycles"], out);
  return `${first}\n${second}`;
}
