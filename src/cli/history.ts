import { didYouMean } from "../config/nearest.ts";
import { render } from "../domain/messages/render.ts";
import type { AnswerOf } from "../contract/answers.ts";
import type { LiveReading } from "../domain/agent-control.ts";
import { agentOf } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Run } from "../tools/command.ts";
import { print, tableText } from "../tools/print.ts";
import { reportQuery } from "./options.ts";
import { textOption } from "../tools/options.ts";
import { timeText, zoneOf } from "./time.ts";

/** Runs `booth-gateway history TAGS`: shows the readings of tags. */
export const historyCommand: Run = async (call) => {
  const { values, operands } = call;
  const agent = await agentOf(call);
  const query = await reportQuery(values, agent, { tags: operands[0] ?? "", coverage: "true" });
  for (const name of ["page", "limit"]) {
    const text = textOption(values, name);
    if (text !== undefined) query.set(name, text);
  }
  const booth = await agent.boothName();
  const page = await agent.report<AnswerOf<"history">>(booth, "history", query);
  const silent = Object.keys(page.data).filter((tag) => page.data[tag]?.length === 0);
  const { readings } = await agent.get<Readings>("/readings", { booth });
  if (silent.length > 0) refuseUnknown(booth, silent, readings);
  const units = new Map(readings.map(({ tag, unit }) => [tag, unit]));
  print(call, page, () => historyText(page, { tz: zoneOf(values), units }));
  return EXIT.ok;
};

interface Readings {
  readonly readings: readonly LiveReading[];
}

/** Throws a CommandError for a tag that the booth doesn't have, because an empty table would hide the mistake. */
function refuseUnknown(booth: string, silent: readonly string[], readings: readonly LiveReading[]): void {
  const known = readings.map(({ tag }) => tag);
  const unknown = silent.filter((tag) => !known.includes(tag));
  if (unknown.length === 0) return;
  const words = unknown.map((tag) => {
    const hint = didYouMean(tag, known);
    return `"${tag}"${hint === undefined ? "" : ` (${render(hint)})`}`;
  });
  throw new CommandError(`${booth} has no tag ${words.join(", ")}; its tags: ${known.join(", ")}`, EXIT.usage);
}

export function historyText(
  { data, page, pages, total }: AnswerOf<"history">,
  { tz, units }: { readonly tz: string; readonly units: ReadonlyMap<string, string> },
): string {
  const rows = Object.entries(data)
    .flatMap(([tag, values]) =>
      // Shows only qualities other than good, because good is usual.
      values.map((one) => {
        const quality = one.quality === "good" ? "" : (one.quality ?? "");
        return [one.system_time, tag, String(one.value), units.get(tag) ?? "", quality];
      }),
    )
    .sort(([a = ""], [b = ""]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([at = "", ...cells]) => [timeText(at, tz), ...cells]);
  return `${tableText(["time", "tag", "value", "unit", ""], rows)}${total} readings, page ${page} of ${pages}\n`;
}

/** The report with its coverage: the minutes that were observed, inferred and missing. */
type Durations = AnswerOf<"duration_by_mode"> & Record<"coverage", Record<"observed" | "inferred" | "missing", number>>;

/** Runs `booth-gateway durations`: shows the time in each mode, and how much of that time was observed. */
export const durationsCommand: Run = async (call) => {
  const agent = await agentOf(call);
  const query = await reportQuery(call.values, agent, { coverage: "true" });
  const tz = zoneOf(call.values);
  const booth = await agent.boothName();
  const durations = await agent.report<Durations>(booth, "duration_by_mode", query);
  const { modes } = await agent.report<AnswerOf<"frequency_by_mode">>(booth, "frequency_by_mode", query);
  const starts = new Map(modes.map(({ mode, count }) => [mode, count]));
  const counted = durations.modes.map((one) => ({ ...one, count: starts.get(one.mode) ?? 0 }));
  print(call, { ...durations, modes: counted }, ({ start, end, coverage }) => {
    const total = counted.reduce((sum, { duration }) => sum + duration, 0);
    const rows = counted
      .toSorted((a, b) => b.duration - a.duration)
      .map(({ mode, duration, count }) => [
        mode,
        total === 0 ? 0 : Math.round((duration / total) * 1000) / 10,
        duration,
        count,
      ]);
    const seen = `${coverage.observed} min observed, ${coverage.inferred} min inferred, ${coverage.missing} min missing`;
    return `${timeText(start, tz)} to ${timeText(end, tz)}\n${tableText(["mode", "%", "minutes", "starts"], rows)}${seen}\n`;
  });
  return EXIT.ok;
};
