import type { Driver, WireTap } from "../acquisition/port.ts";
import { afterPoll, dueGroups, nextDue, scheduleFrom } from "../acquisition/rules/link.ts";
import { LinkError } from "../domain/link-error.ts";
import type { TraceLine } from "../domain/trace.ts";
import type { Milliseconds } from "../domain/units.ts";

/** The pause between a failure and the next try. A recording may include an outage, so a retry need not follow at once. */
const RETRY_MS = 1000;

interface RecordedSession {
  readonly groups: Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;
  readonly for_ms: Milliseconds;
  /** Makes a driver. Called once for each connection. */
  readonly driver: (tap: WireTap) => Driver;
  readonly write: (line: TraceLine) => void;
  readonly mono: () => Milliseconds;
  readonly sleep: (ms: Milliseconds, signal: AbortSignal) => Promise<void>;
  /** Called after each read with the share of the recording time that has passed, 0 to 1. */
  readonly progress: (share: number) => void;
}

/** Counts of a recording. `trouble`: the last connection failure; null without a failure. */
export interface RecordedCounts {
  readonly answers: number;
  readonly silences: number;
  readonly failures: number;
  readonly trouble: LinkError | null;
}

/**
 * Polls a device as the agent would, until the time is over or the signal aborts. Writes every request with its answer, each missing
 * answer, each failure of the connection, and the end.
 */
export async function recordSession(session: RecordedSession, signal: AbortSignal): Promise<RecordedCounts> {
  const { groups, for_ms, mono, write } = session;
  const started = mono();
  const isAborted = (): boolean => signal.aborted;
  const at = (): Milliseconds => Math.round(mono() - started);
  const pairs = pairExchanges(write, at);
  let schedule = scheduleFrom(groups, started);
  let driver: Driver | null = null;
  let failures = 0;
  let trouble: LinkError | null = null;
  for (let next = nextDue(schedule, groups); next !== undefined; next = nextDue(schedule, groups)) {
    if (next.due >= started + for_ms) break;
    const wait_ms = next.due - mono();
    if (wait_ms > 0) await session.sleep(wait_ms, signal).catch(() => undefined);
    if (isAborted()) break;
    try {
      if (driver === null) {
        driver = session.driver(pairs.tap);
        await driver.open(signal);
      }
      const due = dueGroups(schedule, groups, Math.max(next.due, mono()));
      await driver.read(due);
      for (const group of due) schedule = afterPoll(schedule, groups, { group, mono: mono() });
    } catch (error) {
      await driver?.close();
      driver = null;
      if (!(error instanceof LinkError)) throw error;
      pairs.endOpen();
      if (isAborted()) break;
      write({ kind: "down", at_ms: at(), why: error.kind });
      failures++;
      trouble = error;
      schedule = scheduleFrom(groups, mono() + RETRY_MS);
    }
    session.progress(Math.min(1, (mono() - started) / for_ms));
  }
  await driver?.close();
  write({ kind: "end", at_ms: Math.min(at(), for_ms) });
  return { ...pairs.counts, failures, trouble };
}

/** Returns a tap that writes each request with its answer. A request without an answer is written as a silence. */
function pairExchanges(write: RecordedSession["write"], at: () => Milliseconds) {
  let open: { readonly at_ms: Milliseconds; readonly request: string } | null = null;
  const counts = { answers: 0, silences: 0 };
  const endOpen = (): void => {
    if (open === null) return;
    write({ kind: "silence", ...open });
    counts.silences++;
    open = null;
  };
  const tap: WireTap = {
    asked: (request) => {
      endOpen();
      open = { at_ms: at(), request: request.toString("hex") };
    },
    answered: (_request, answer) => {
      if (open === null) return;
      write({ kind: "answer", ...open, answer: answer.toString("hex"), took_ms: at() - open.at_ms });
      counts.answers++;
      open = null;
    },
  };
  return { tap, endOpen, counts };
}
