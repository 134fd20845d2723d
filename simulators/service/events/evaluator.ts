import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../storage/db.ts";
import type { Service } from "../http/operation.ts";
import { evaluateBooth, watchedBooths } from "./evaluate.ts";
import { makeNotifications } from "./notify.ts";
import { errorMessage } from "../../../src/domain/error-message.ts";

/** Real time between two rounds. A round evaluates all changes since the last one. */
const ROUND_MS = 5000;
/** A round is followed by a pause this many times as long, so that rounds take at most a tenth of the time. */
const REST = 9;

/** Mails are looked for this often, because people wait for an invitation. */
const MAILS_MS = 2000;
/** Pauses after a round of mails that failed grow up to this. */
const MAILS_AGAIN_MS = 60_000;

/** Rounds of evaluation and of mails; each returns a line for each failure. */
interface Evaluating {
  readonly evaluate: (signal: AbortSignal) => Promise<string[]>;
  readonly sendMails: (signal: AbortSignal) => Promise<string[]>;
}

/**
 * Evaluates booths in the background, one per turn of the event loop, so that requests and records aren't delayed, and
 * sends due mails. `stop` ends both after the current turn.
 */
export function startEvaluator(reports: Evaluating, log?: (line: string) => void): { stop: () => Promise<void> } {
  const end = new AbortController();
  const { signal } = end;
  const done = Promise.all([
    rounds(signal, {
      act: reports.evaluate,
      first_ms: ROUND_MS,
      failed: (text) => log?.(`evaluation failed: ${text}`),
      restOf: ({ took_ms }) => Math.max(ROUND_MS, REST * took_ms),
    }),
    rounds(signal, {
      act: reports.sendMails,
      first_ms: MAILS_MS,
      failed: (text) => log?.(`mails failed: ${text}`),
      restOf: ({ failures }) => Math.min(MAILS_MS * 2 ** failures, MAILS_AGAIN_MS),
    }),
  ]);
  return {
    stop: async () => {
      end.abort();
      await done;
    },
  };
}

interface Rounds {
  readonly act: (signal: AbortSignal) => Promise<string[]>;
  readonly first_ms: number;
  /** Called once for a failure that lasts. */
  readonly failed: (text: string) => void;
  /** Returns the pause after a round. `failures`: number of failed rounds in a row. */
  readonly restOf: (round: { readonly took_ms: number; readonly failures: number }) => number;
}

async function rounds(signal: AbortSignal, { act, first_ms, failed, restOf }: Rounds): Promise<void> {
  let told = "";
  let failures = 0;
  let rest_ms = first_ms;
  while (await waited(rest_ms, signal)) {
    const begun = performance.now();
    const text = (await act(signal).catch(sentence)).join("; ");
    if (text !== "" && text !== told) failed(text);
    told = text;
    failures = text === "" ? 0 : failures + 1;
    rest_ms = restOf({ took_ms: performance.now() - begun, failures });
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
 * Evaluates each watched booth once, then creates the due notifications. Returns a line for each failure; a failure
 * doesn't stop the rest.
 */
export async function evaluateRound(
  { db, now }: Pick<Service, "db" | "now">,
  signal: Pick<AbortSignal, "aborted">,
): Promise<string[]> {
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
  attempt("notifications", () => makeNotifications(db, now()));
  return failures;
}
