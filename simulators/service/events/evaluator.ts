import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../storage/db.ts";
import type { Service } from "../http/operation.ts";
import { evaluateBooth, watchedBooths } from "./evaluate.ts";
import { makeNotifications, sendDueMails } from "./notify.ts";
import { errorMessage } from "../../../src/domain/error-message.ts";

/** Real time between two rounds. A round evaluates all changes since the last one. */
const ROUND_MS = 5000;
/** A round is followed by a pause this many times as long, so that rounds take at most a tenth of the time. */
const REST = 9;

/** Runs a round of evaluation; returns a line for each failure. */
interface Evaluating {
  readonly evaluate: (signal: AbortSignal) => Promise<string[]>;
}

/**
 * Evaluates booths in the background, one per turn of the event loop, so that requests and records aren't delayed.
 * `stop` ends it after the current turn.
 */
export function startEvaluator(reports: Evaluating, log?: (line: string) => void): { stop: () => Promise<void> } {
  const end = new AbortController();
  const done = rounds(reports, end.signal, log);
  return {
    stop: () => {
      end.abort();
      return done;
    },
  };
}

async function rounds(reports: Evaluating, signal: AbortSignal, log?: (line: string) => void): Promise<void> {
  let failed = "";
  let rest_ms = ROUND_MS;
  while (await waited(rest_ms, signal)) {
    const begun = performance.now();
    const text = (await reports.evaluate(signal).catch(sentence)).join("; ");
    if (text !== "" && text !== failed) log?.(`evaluation failed: ${text}`);
    failed = text;
    rest_ms = Math.max(ROUND_MS, REST * (performance.now() - begun));
  }
}

/** An aborted round counts as a failed round. */
function sentence(error: unknown): string[] {
  return [errorMessage(error)];
}

async function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal, ref: false }).catch(() => false);
}

export function watchesAnything(db: Db): boolean {
  return watchedBooths(db).length > 0;
}

/**
 * Evaluates each watched booth once, then creates and sends the due notifications. Returns a line for each failure; a
 * failure doesn't stop the rest.
 */
export async function evaluateRound({ db, now }: Pick<Service, "db" | "now">, signal: AbortSignal): Promise<string[]> {
  const failures: string[] = [];
  const attempt = (what: string, act: () => unknown): unknown => {
    try {
      return act();
    } catch (error) {
      failures.push(`${what}: ${errorMessage(error)}`);
      return false;
    }
  };
  for (const booth of watchedBooths(db)) {
    if (attempt(`booth ${booth.id}`, () => evaluateBooth(db, booth, now())) === true) await turn();
    if (signal.aborted) return failures;
  }
  attempt("notifications", () => {
    makeNotifications(db, now());
    sendDueMails(db, now());
  });
  return failures;
}
