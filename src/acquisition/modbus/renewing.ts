import { setTimeout as delay } from "node:timers/promises";

import type { LinkError } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { Session } from "./session.ts";

/** A connection that can be made anew, until it is ended for good. */
export interface Renewing {
  /** The one that stands, or stood last. */
  session(): Session;
  open(): Promise<void>;
  /** Makes it anew where it has ended; nothing is asked before `then` (performance.now()). Rejects with a LinkError. */
  stand(then: number): Promise<void>;
  /** It has brought a right answer. */
  proved(): void;
  /** Whether the one that stands was made after another had failed, and hasn't proved itself yet. */
  onTrial(): boolean;
  /** How often it was made anew. */
  renewals(): number;
  /** For good; the first reason stays. */
  end(error: LinkError): void;
  /** Why; null: it may be made anew. */
  ended(): LinkError | null;
}

/** Before the second of several connections that brought nothing, doubled with each: a device may allow one at a time, or few. */
const RENEW_MS: Milliseconds = 100;

export function renewing(makeSession: () => Session, connect_delay_ms: Milliseconds): Renewing {
  const life = new AbortController();
  let session = makeSession();
  let ended: LinkError | null = null;
  let renewed = 0;
  let renewals = 0;
  const open = async (): Promise<void> => {
    await session.open();
    if (connect_delay_ms > 0) await session.pause(connect_delay_ms);
  };
  return {
    open,
    session: () => session,
    stand: async (then) => {
      if (session.ended() === null) return;
      // Who let the time for an answer pass was given time.
      const pause = renewed === 0 || session.ended()?.kind === "timeout" ? 0 : RENEW_MS * 2 ** (renewed - 1);
      const wait = Math.max(pause, Math.ceil(then - performance.now()));
      renewed += 1;
      // What comes over the line meanwhile finds nobody.
      if (wait > 0) await delay(wait, undefined, { signal: life.signal }).catch(() => undefined);
      if (ended !== null) throw ended;
      session = makeSession();
      renewals += 1;
      await open();
    },
    proved: () => void (renewed = 0),
    onTrial: () => renewed > 0,
    renewals: () => renewals,
    end: (error) => {
      ended ??= error;
      life.abort();
      session.end(error);
    },
    ended: () => ended,
  };
}
