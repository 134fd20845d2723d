import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../storage/db.ts";
import type { Service } from "../http/operation.ts";
import { evaluateBooth, watchedBooths } from "./evaluate.ts";
import { makeNotifications, sendDueMails } from "./notify.ts";
import { errorMessage } from "../../../src/domain/error-message.ts";

/** Real time between two rounds: what comes in meanwhile is looked at together. */
const ROUND_MS = 5000;
/** A round over long histories is followed by a rest so many times as long: at most a tenth of the time goes into rounds. */
const REST = 9;

/** Runs a round of evaluation; returns a line for each failure. */
interface Evaluating {
  readonly evaluate: (signal: AbortSignal) => Promise<string[]>;
}

/** Evaluates in the background, a booth a turn, so that requests and records get theirs; `stop` ends it after its turn. */
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

/** A round that was broken off is one that failed. */
function sentence(error: unknown): string[] {
  return [errorMessage(error)];
}

async function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal, ref: false }).catch(() => false);
}

export function watchesAnything(db: Db): boolean {
  return watchedBooths(db).length > 0;
}

/** Looks at each watched booth once, then makes and sends what is due. What failed, a line each; the rest is done all the same. */
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
