import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { AnswerOf } from "../contract/answers.ts";
import type { FilterType } from "../domain/booth.ts";
import type { FilterEntry } from "../domain/entry.ts";
import type { BoothStatus } from "../domain/status.ts";
import { agentOf } from "../tools/agent-client.ts";
import { type Call, CommandError, EXIT, type Io, type Run } from "../tools/command.ts";
import { LOOK_EVERY_MS } from "./follow.ts";
import { lengthOption, reportQuery, textOption } from "./options.ts";
import { print, tableText } from "./print.ts";
import { timeText, zoneOf } from "./time.ts";

/** As the fold remembers a booth's use. */
const LONGEST_AGO_H = 36;
const MINUTE_MS = 60_000;
/** Whoever waits longer is told that it will be committed anyway. */
const COMMIT_PATIENCE_MS = 15_000;

/** `booth-gateway filters`: what is in, and what was taken out. */
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
  const { data } = await agent.report<AnswerOf<"filter_maintenances">>(booth, "filter_maintenances", query);
  const history = await agent.report<Removed>(booth, "filter_maintenance_history", query);
  const assumed = values["json"] === true ? [] : assumedIn(await agent.booth(booth));
  const told = { filters: data[0] ?? {}, removed: history.data };
  const tz = zoneOf(values);
  print(
    call,
    told,
    ({ filters, removed }) => `${insideText(filters, tz)}\n${removedText(removed, tz)}${assumedText(assumed)}`,
  );
  return EXIT.ok;
};

type Fitted = AnswerOf<"filter_maintenances">["data"][number];
type Removed = AnswerOf<"filter_maintenance_history">;

/** Those that were in when the gateway first looked. */
function assumedIn({ now }: BoothStatus): readonly string[] {
  return Object.entries(now?.filters ?? {}).flatMap(([type, { assumed }]) => (assumed ? [type] : []));
}

function assumedText(assumed: readonly string[]): string {
  if (assumed.length === 0) return "";
  return `\n${assumed.join(", ")}: "in since" is when this gateway first looked; when it was put in isn't known\n`;
}

function insideText(filters: Fitted, tz: string): string {
  const rows = Object.entries(filters).flatMap(([type, fitted]) =>
    (fitted?.filter_interval_log ?? []).map((one) => {
      const lasts = one.filter_estimated_duration ?? "not known yet";
      return [type, timeText(one.start, tz), one.duration, lasts, one.filter_overuse_duration];
    }),
  );
  if (rows.length === 0) return "no filter is fitted in that time\n";
  return tableText(["filter", "in since", "days", "lasts days", "overuse days"], rows);
}

function removedText(removed: Removed["data"], tz: string): string {
  if (removed.length === 0) return "none was removed\n";
  const rows = removed.map((one) => {
    const { filter_type, maintenance_date, duration, booth_in_use_time, overuse, booth_overuse_cycles } = one;
    return [filter_type, timeText(maintenance_date, tz), duration, booth_in_use_time, overuse, booth_overuse_cycles];
  });
  return tableText(["removed", "on", "days", "minutes in use", "overuse days", "overuse cycles"], rows);
}

/** `filters changed FILTER`: a technician's word that a filter was changed; with --undo the last such word is taken back. */
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
      : { path: "/filters/changed", body: { id: randomUUID(), filter, minutes_ago: ago_ms / MINUTE_MS } };
  const ask = (): Promise<FilterEntry | Waiting> => agent.post(wanted.path, { ...wanted.body, booth, by });
  print(call, await untilCommitted(ask, io), (answer) => entryText(answer, zoneOf(values)));
  return EXIT.ok;
}

/** The same id is the same entry, so that asking again is safe. */
async function untilCommitted(ask: () => Promise<FilterEntry | Waiting>, io: Io): Promise<FilterEntry | Waiting> {
  const started = performance.now();
  for (;;) {
    const answer = await ask();
    if ("outcome" in answer || performance.now() - started > COMMIT_PATIENCE_MS) return answer;
    await delay(LOOK_EVERY_MS, undefined, { signal: io.signal });
  }
}

/** It couldn't be committed yet. */
interface Waiting {
  readonly reason: string;
}

/** The newest entry that can still be withdrawn. Throws a CommandError where there is none. */
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
