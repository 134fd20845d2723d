import { didYouMean } from "../config/nearest.ts";
import type { AnswerOf } from "../contract/answers.ts";
import type { LiveReading } from "../domain/agent-control.ts";
import { type Agent, agentOf } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Run } from "../tools/command.ts";
import { print, tableText } from "./print.ts";
import { reportQuery, textOption } from "./options.ts";

/** `booth-gateway history TAGS`: what the named tags read. */
export const historyCommand: Run = async (call) => {
  const { values, operands } = call;
  const query = reportQuery(values, { tags: operands[0] ?? "", coverage: "true" });
  for (const name of ["page", "limit"]) {
    const text = textOption(values, name);
    if (text !== undefined) query.set(name, text);
  }
  const agent = await agentOf(call);
  const booth = await agent.boothName();
  const page = await agent.report<AnswerOf<"history">>(booth, "history", query);
  const silent = Object.keys(page.data).filter((tag) => page.data[tag]?.length === 0);
  if (silent.length > 0) await refuseUnknown(agent, booth, silent);
  print(call, page, historyText);
  return EXIT.ok;
};

/** A tag that the booth hasn't got reads nothing for ever: a slip, which an empty table would hide. Throws then. */
async function refuseUnknown(agent: Agent, booth: string, silent: readonly string[]): Promise<void> {
  const { readings } = await agent.get<{ readonly readings: readonly LiveReading[] }>("/readings", { booth });
  const known = readings.map(({ tag }) => tag);
  const unknown = silent.filter((tag) => !known.includes(tag));
  if (unknown.length === 0) return;
  const words = unknown.map((tag) => {
    const hint = didYouMean(tag, known);
    return `"${tag}"${hint === undefined ? "" : ` (${hint})`}`;
  });
  throw new CommandError(`${booth} has no tag ${words.join(", ")}; its tags: ${known.join(", ")}`, EXIT.usage);
}

export function historyText({ data, page, pages, total }: AnswerOf<"history">): string {
  const rows = Object.entries(data)
    .flatMap(([tag, values]) =>
      // A reading is taken for good where nothing stands beside it.
      values.map((one) => [one.system_time, tag, String(one.value), one.quality === "good" ? "" : (one.quality ?? "")]),
    )
    .sort(([a = ""], [b = ""]) => (a < b ? -1 : a > b ? 1 : 0));
  return `${tableText(["time", "tag", "value", ""], rows)}${total} readings, page ${page} of ${pages}\n`;
}

/** As it is asked for here, with how much was seen. */
type Durations = AnswerOf<"duration_by_mode"> & Record<"coverage", Record<"observed" | "inferred" | "missing", number>>;

/** `booth-gateway durations`: time by mode, with how much of it was seen. */
export const durationsCommand: Run = async (call) => {
  const query = reportQuery(call.values, { coverage: "true" });
  const agent = await agentOf(call);
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
    const seen = `${coverage.observed} min observed, ${coverage.inferred} inferred, ${coverage.missing} missing`;
    return `${start} to ${end}\n${tableText(["mode", "%", "minutes", "starts"], rows)}${seen}\n`;
  });
  return EXIT.ok;
};
