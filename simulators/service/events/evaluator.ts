import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import type { Service } from "../http/operation.ts";
import { evaluateBooth, watchedBooths } from "./evaluate.ts";
import { makeNotifications, sendDueMails } from "./notify.ts";

/** Real time between two rounds: what comes in meanwhile is looked at together. */
const ROUND_MS = 5000;
/** A round over long histories is followed by a rest so many times as long: at most a tenth of the time goes into rounds. */
const REST = 9;

/** Evaluates in the background, a booth a turn, so that requests and records get theirs; `stop` ends it after its turn. */
export function startEvaluator(service: Service, log?: (line: string) => void): { stop: () => Promise<void> } {
  const end = new AbortController();
  const done = rounds(service, end.signal, log);
  return {
    stop: () => {
      end.abort();
      return done;
    },
  };
}

async function rounds(service: Service, signal: AbortSignal, log?: (line: string) => void): Promise<void> {
  let failed = "";
  let rest_ms = ROUND_MS;
  while (await waited(rest_ms, signal)) {
    const begun = performance.now();
    try {
      await round(service, signal);
      failed = "";
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (text !== failed) log?.(`evaluation failed: ${text}`);
      failed = text;
    }
    rest_ms = Math.max(ROUND_MS, REST * (performance.now() - begun));
  }
}

async function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal, ref: false }).catch(() => false);
}

async function round({ db, now }: Service, signal: AbortSignal): Promise<void> {
  for (const booth of watchedBooths(db)) {
    if (evaluateBooth(db, booth, now())) await turn();
    if (signal.aborted) return;
  }
  makeNotifications(db, now());
  sendDueMails(db, now());
}
