import { LinkError } from "../domain/link-error.ts";
import type { PlcAsk } from "../domain/shared-link.ts";
import type { Milliseconds } from "../domain/units.ts";
import { fitsBetween } from "./rules/schedule.ts";
import type { Clock } from "../domain/machine.ts";
import { createSignal } from "../domain/signal.ts";

/** A tool asks one thing at a time; more only come from several people at once. */
const MAX_WAITING = 8;

/** Carries one read out over the link; rejects with a LinkError, within `within_ms` where the link stands. */
export type AskOverLink = (ask: PlcAsk, within_ms: Milliseconds) => Promise<Uint8Array>;

/** Reads that tools want over a link which the agent holds: carried out between polls, by the link's own loop. */
export interface SharedLink {
  /** The answer's PDU. Rejects with a LinkError. */
  ask(ask: PlcAsk): Promise<Uint8Array>;
  /** Carries out what has waited longest, if it fits before the next poll, `free_ms` away; false: nothing to do now. */
  serve(free_ms: Milliseconds): Promise<boolean>;
  /** Waits for so long or until somebody asks. Never rejects. */
  rest(ms: Milliseconds, signal: AbortSignal): Promise<void>;
  /** Nobody carries anything out any more. */
  close(): void;
}

interface Waiting {
  readonly ask: PlcAsk;
  readonly since: Milliseconds;
  readonly resolve: (pdu: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

export function createSharedLink(clock: Clock, lend: AskOverLink): SharedLink {
  const bell = createSignal(clock);
  const waiting: Waiting[] = [];
  let isClosed = false;
  return {
    ask: (ask) =>
      new Promise((resolve, reject) => {
        if (isClosed) reject(new LinkError("closed", "the agent is stopping"));
        else if (waiting.length >= MAX_WAITING) reject(new LinkError("busy", "too many tools ask at once; try again"));
        else waiting.push({ ask, since: clock.mono(), resolve, reject });
        bell.ring();
      }),
    async serve(free_ms) {
      const [next] = waiting;
      if (next === undefined) return false;
      const within_ms = fitsBetween(free_ms, clock.mono() - next.since);
      if (within_ms === null) return false;
      waiting.shift();
      await lend(next.ask, within_ms).then(next.resolve, next.reject);
      return true;
    },
    rest: (ms, signal) => bell.wait(signal, ms).catch(() => undefined),
    close() {
      isClosed = true;
      for (const { reject } of waiting.splice(0)) reject(new LinkError("closed", "the agent is stopping"));
    },
  };
}
