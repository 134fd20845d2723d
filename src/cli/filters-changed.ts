import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { FilterEntry } from "../domain/entry.ts";
import type { FilterType } from "../domain/booth.ts";
import type { BoothStatus } from "../domain/status.ts";
import { askAgent, socketPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Call, type Io } from "./command.ts";
import { lengthOption } from "./length-option.ts";
import { LOOK_EVERY_MS, lookAtBooth } from "./one-booth.ts";
import { print } from "./print.ts";
import { boothName } from "./report-options.ts";

/** As the fold remembers a booth's use. */
const LONGEST_AGO_H = 36;
const MINUTE_MS = 60_000;
/** Whoever waits longer is told that it will be committed anyway. */
const COMMIT_PATIENCE_MS = 15_000;

/** `filters changed FILTER`: a technician's word that a filter was changed; with --undo the last such word is taken back. */
export async function filtersChanged(call: Call, type: string): Promise<number> {
  const { values, io } = call;
  const filter = `${type}_filter` as FilterType;
  const socket = await socketPath(values, io);
  const booth = await boothName(values, io);
  const by = typeof values["by"] === "string" ? values["by"] : (io.environment["USER"] ?? "");
  const ago_ms = lengthOption(values, "ago", LONGEST_AGO_H) ?? 0;
  const wanted =
    values["undo"] === true
      ? { path: "/filters/undo", body: { id: lastEntry(await lookAtBooth(socket, booth), filter).id } }
      : { path: "/filters/changed", body: { id: randomUUID(), filter, minutes_ago: ago_ms / MINUTE_MS } };
  const ask = { method: "POST", path: wanted.path, body: { ...wanted.body, booth, by } } as const;
  print(call, await untilCommitted(() => askAgent(socket, ask), io), entryText);
  return EXIT.ok;
}

/** The same id is the same entry, so that asking again is safe. */
async function untilCommitted(ask: () => Promise<unknown>, io: Io): Promise<FilterEntry | Waiting> {
  const started = performance.now();
  for (;;) {
    // The agent answers its own shapes: the entry, or that it couldn't be committed yet.
    const answer = (await ask()) as FilterEntry | Waiting;
    if ("outcome" in answer || performance.now() - started > COMMIT_PATIENCE_MS) return answer;
    await delay(LOOK_EVERY_MS, undefined, { signal: io.signal });
  }
}

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

export function entryText(answer: FilterEntry | Waiting): string {
  if ("reason" in answer) return `${answer.reason}; it will be, and nothing needs to be done\n`;
  const { filter, installed_at, outcome, undo_until } = answer;
  const until = outcome === "entered" && undo_until !== null ? `; --undo takes it back until ${time(undo_until)}` : "";
  return `${filter.replace("_", " ")}, ${time(installed_at)}: ${OUTCOMES[outcome]}${until}\n`;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
