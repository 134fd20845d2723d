import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { AnswerOf } from "../contract/answers.ts";
import type { FilterType } from "../domain/booth.ts";
import type { FilterEntry, FilterLabel } from "../domain/entry.ts";
import type { BoothStatus } from "../domain/status.ts";
import { parseTime } from "../contract/time.ts";
import type { FilterUse } from "../reports/filter-use.ts";
import { agentOf } from "../tools/agent-client.ts";
import { type Call, CommandError, EXIT, type Io, type Run } from "../tools/command.ts";
import { forecastText, hoursText, usedText } from "./filter-words.ts";
import { LOOK_EVERY_MS } from "./follow.ts";
import { reportQuery } from "./options.ts";
import { lengthOption, textOption } from "../tools/options.ts";
import { print, tableText } from "../tools/print.ts";
import { timeText, zoneOf } from "./time.ts";
import { monotonicMs } from "../monotonic.ts";
import { MINUTE_MS } from "../domain/time.ts";

/** The maximum age of a filter change that can be entered. The derived state keeps a booth's filter use for this long. */
const LONGEST_AGO_H = 36;

type Agent = Awaited<ReturnType<typeof agentOf>>;
/** The longest wait for the commit. Afterwards the command ends, and the entry is committed without it. */
const COMMIT_PATIENCE_MS = 15_000;

/** Runs `booth-gateway filters`: shows fitted and removed filters, or enters a filter change. */
export const filtersCommand: Run = async (call) => {
  const { values, operands } = call;
  const [action, filter] = operands;
  if (action !== undefined && filter === undefined) {
    throw new CommandError("name the filter that was changed: intake, pre or exhaust", EXIT.usage);
  }
  if (filter !== undefined) return filtersChanged(call, filter);
  const agent = await agentOf(call);
  const query = await reportQuery(values, agent);
  const booth = await agent.boothName();
  const filters = await filtersOf(agent, booth, query);
  const tz = zoneOf(values);
  print(call, filters, ({ use, removed, entered }) => {
    const assumed = use.filter((one) => one.assumed).map(({ filter }) => filter);
    return `${insideText(use, entered, tz)}\n${removedText(removed, entered, tz)}${assumedText(assumed)}`;
  });
  return EXIT.ok;
};

type Removed = AnswerOf<"filter_maintenance_history">["data"];

/** Returns the filters twice: as the service counts them (`filters`), and prepared for people (`use`). */
async function filtersOf(agent: Agent, booth: string, query: URLSearchParams) {
  const { data } = await agent.report<AnswerOf<"filter_maintenances">>(booth, "filter_maintenances", query);
  const judged = new URLSearchParams([...query, ["coverage", "true"]]);
  const history = await agent.report<{ readonly data: Removed }>(booth, "filter_maintenance_history", judged);
  const { data: use } = await agent.report<{ readonly data: readonly FilterUse[] }>(booth, "filter_use", query);
  const { data: entered } = await agent.get<{ readonly data: readonly FilterLabel[] }>("/filters/entries", { booth });
  return { filters: data[0] ?? {}, use, removed: history.data, entered };
}

/** Explains the "in since" time of filters that were already fitted when the gateway first polled the PLC. */
function assumedText(assumed: readonly string[]): string {
  if (assumed.length === 0) return "";
  return `\n${assumed.join(", ")}: "in since" is when this gateway first looked; when it was put in isn't known\n`;
}

function insideText(use: readonly FilterUse[], entered: readonly FilterLabel[], tz: string): string {
  const rows = use.map((one) => {
    const ahead = one.overuse_since === null ? forecastText(one.forecast, tz) : "OVERUSED";
    const label = labelAt(entered, one.filter, one.installed_at);
    return [one.filter, usedText(one), ahead || "not known yet", timeText(one.installed_at, tz), label];
  });
  if (rows.length === 0) return "no filter is fitted\n";
  return tableText(["filter", "used", "forecast", "in since", "part, note, by"], rows);
}

function removedText(removed: Removed, entered: readonly FilterLabel[], tz: string): string {
  if (removed.length === 0) return "none was removed\n";
  const rows = removed.map((one) => {
    const { filter_type, maintenance_date, duration, booth_in_use_time, overuse, booth_overuse_cycles } = one;
    const label = labelAt(entered, filter_type, parseTime(maintenance_date) ?? 0);
    const used = hoursText(booth_in_use_time);
    const days = one.assumed === true ? `over ${duration}` : duration;
    return [filter_type, timeText(maintenance_date, tz), used, days, overuse, booth_overuse_cycles, label];
  });
  const heads = ["removed", "on", "used", "days", "overuse days", "overuse cycles", "new one: part, note, by"];
  const note = removed.some(({ assumed }) => assumed === true)
    ? "over: it was in when this gateway first looked; the PLC counts its use from before\n"
    : "";
  return `${tableText(heads, rows)}${note}`;
}

/** Returns the label of the filter that was fitted at a time. The service's times are whole seconds. */
function labelAt(entered: readonly FilterLabel[], filter: string, at: number): string {
  const label = entered.findLast((one) => one.filter === filter && Math.abs(one.installed_at - at) < 1_000);
  if (label === undefined) return "-";
  return [label.part_number, label.note, label.by].filter((text) => text !== "").join(", ") || "-";
}

/** Runs `filters changed FILTER`: records that a filter was changed. With --undo, withdraws the last entry. */
async function filtersChanged(call: Call, type: string): Promise<number> {
  const { values, io } = call;
  const filter = `${type}_filter` as FilterType;
  const agent = await agentOf(call);
  const booth = await agent.boothName();
  const by = textOption(values, "by") ?? io.environment["USER"] ?? "";
  const ago_ms = lengthOption(values, "ago", LONGEST_AGO_H) ?? 0;
  const wanted =
    values["undo"] === true
      ? { path: "/filters/undo", body: { id: lastEntry(await agent.booth(booth), filter).id } }
      : {
          path: "/filters/changed",
          body: {
            id: randomUUID(),
            filter,
            minutes_ago: ago_ms / MINUTE_MS,
            part_number: textOption(values, "part") ?? "",
            note: textOption(values, "note") ?? "",
          },
        };
  const ask = (): Promise<FilterEntry | Waiting> => agent.post(wanted.path, { ...wanted.body, booth, by });
  print(call, await untilCommitted(ask, io), (answer) => entryText(answer, zoneOf(values)));
  return EXIT.ok;
}

/** Repeats a request until the agent has committed its entry. The entry's id makes the request idempotent. */
async function untilCommitted(ask: () => Promise<FilterEntry | Waiting>, io: Io): Promise<FilterEntry | Waiting> {
  const started = monotonicMs();
  for (;;) {
    const answer = await ask();
    if ("outcome" in answer || monotonicMs() - started > COMMIT_PATIENCE_MS) return answer;
    await delay(LOOK_EVERY_MS, undefined, { signal: io.signal });
  }
}

/** The answer for an entry that isn't committed yet. */
interface Waiting {
  readonly reason: string;
}

/** Returns the newest entry that can still be withdrawn. Throws a CommandError if there is no such entry. */
export function lastEntry({ now }: Pick<BoothStatus, "now">, filter: FilterType): FilterEntry {
  const entry = now?.filter_entries.findLast(
    (one) => one.filter === filter && one.outcome === "entered" && one.undo_until !== null,
  );
  if (entry !== undefined) return entry;
  throw new CommandError(
    `no change of the ${filter.replace("_", " ")} can be taken back: none was entered here within 24 h, or it was changed again since`,
  );
}

const OUTCOMES: Readonly<Record<FilterEntry["outcome"], string>> = {
  entered: "a new one is in",
  same_change: "that is the change which is known already",
  older: "the one that is in went in after that, so nothing was changed",
  not_fitted: "the booth has no such filter",
  undone: "taken back: the one before is in",
};

export function entryText(answer: FilterEntry | Waiting, tz: string): string {
  if ("reason" in answer) return `${answer.reason}; it will be, and nothing needs to be done\n`;
  const { filter, installed_at, outcome, undo_until } = answer;
  const until =
    outcome === "entered" && undo_until !== null ? `; --undo takes it back until ${timeText(undo_until, tz)}` : "";
  return `${filter.replace("_", " ")}, ${timeText(installed_at, tz)}: ${OUTCOMES[outcome]}${until}\n`;
}
