import { LinkError } from "../domain/link-error.ts";
import { afterPoll, dueGroups, nextDue, scheduleFrom } from "../acquisition/rules/link.ts";
import type { TraceLine } from "../domain/trace.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Driver, WireTap } from "../acquisition/port.ts";

/** Between a failure and the next try: a recording shows an outage, it needn't end it at once. */
const RETRY_MS = 1000;

interface RecordedSession {
  readonly groups: Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;
  readonly for_ms: Milliseconds;
  /** A new one for each connection. */
  readonly driver: (tap: WireTap) => Driver;
  readonly write: (line: TraceLine) => void;
  readonly mono: () => Milliseconds;
  readonly sleep: (ms: Milliseconds, signal: AbortSignal) => Promise<void>;
  /** After each read: how much of the time has gone, 0 to 1. */
  readonly progress: (share: number) => void;
}

/** What came of it. `trouble`: how the last connection failed. */
export interface RecordedCounts {
  readonly answers: number;
  readonly silences: number;
  readonly failures: number;
  readonly trouble: LinkError | null;
}

/**
 * Polls a device as the agent would and writes down every request with its answer, each silence and each failure of the
 * connection, until the time is over or the signal aborts; either way the end is written.
 */
export async function recordSession(session: RecordedSession, signal: AbortSignal): Promise<RecordedCounts> {
  const { groups, mono } = session;
  const started = mono();
  const at = (): Milliseconds => Math.round(mono() - started);
  const book = exchangeBook(session, at);
  let schedule = scheduleFrom(groups, started);
  let driver: Driver | null = null;
  let failures = 0;
  let trouble: LinkError | null = null;
  for (let next = nextDue(schedule, groups); next !== undefined; next = nextDue(schedule, groups)) {
    if (next.due >= started + session.for_ms || !(await slept(session, next.due - mono(), signal))) break;
    try {
      driver ??= await opened(session.driver(book.tap), signal);
      const due = dueGroups(schedule, groups, Math.max(next.due, mono()));
      await driver.read(due);
      for (const group of due) schedule = afterPoll(schedule, groups, { group, mono: mono() });
    } catch (error) {
      await driver?.close();
      driver = null;
      if (!(error instanceof LinkError)) throw error;
      book.unanswered();
      if (signal.aborted) break;
      session.write({ kind: "down", at_ms: at(), why: error.kind });
      failures++;
      trouble = error;
      schedule = scheduleFrom(groups, mono() + RETRY_MS);
    }
    session.progress(Math.min(1, (mono() - started) / session.for_ms));
  }
  await driver?.close();
  session.write({ kind: "end", at_ms: Math.min(at(), session.for_ms) });
  return { ...book.counts(), failures, trouble };
}

async function opened(driver: Driver, signal: AbortSignal): Promise<Driver> {
  try {
    await driver.open(signal);
    return driver;
  } catch (error) {
    await driver.close();
    throw error;
  }
}

/** False: the signal came first. */
async function slept(session: RecordedSession, ms: Milliseconds, signal: AbortSignal): Promise<boolean> {
  if (ms > 0) await session.sleep(ms, signal).catch(() => undefined);
  return !signal.aborted;
}

/** Pairs requests with answers. */
function exchangeBook(session: RecordedSession, at: () => Milliseconds) {
  let open: { readonly at_ms: Milliseconds; readonly request: string } | null = null;
  let answers = 0;
  let silences = 0;
  const unanswered = (): void => {
    if (open === null) return;
    session.write({ kind: "silence", ...open });
    silences++;
    open = null;
  };
  const tap: WireTap = {
    asked: (request) => {
      unanswered();
      open = { at_ms: at(), request: request.toString("hex") };
    },
    answered: (_request, answer) => {
      if (open === null) return;
      session.write({ kind: "answer", ...open, answer: answer.toString("hex"), took_ms: at() - open.at_ms });
      answers++;
      open = null;
    },
  };
  return { tap, unanswered, counts: () => ({ answers, silences }) };
}
