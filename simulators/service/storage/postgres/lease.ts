import { randomUUID } from "node:crypto";
import { type Db, row, run } from "../db.ts";

/** Time after which another process takes the work over if this one is lost. */
const LEASE_S = 15;
/** Interval of renewals. */
const RENEW_MS = 4_000;

/**
 * Work that only one process of a store does. A lock of the database would stay for hours if its holder's machine is
 * lost, or frozen; a lease ends by itself.
 */
export interface Lease {
  /** Takes or renews the lease. Returns false if another process has it. */
  readonly take: () => boolean;
  /** Aborted while the lease isn't certain to be ours, and once the thread ends. */
  readonly signal: Pick<AbortSignal, "aborted">;
  /** Gives the lease up, so that another process takes it at once. */
  readonly release: () => void;
}

/** Prepares a lease by its name. Once taken, it is renewed until it is released. */
export function leaseOf(db: Db, name: string, end: AbortSignal): Lease {
  const holder = randomUUID();
  let renewed_at = -Infinity;
  let renewing: NodeJS.Timeout | undefined;
  const take = (): boolean => {
    const begun = performance.now();
    const sql = `INSERT INTO leases (name, holder, until) VALUES (?, ?, now() + interval '${LEASE_S} seconds')
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE leases.until < now() OR leases.holder = excluded.holder RETURNING holder`;
    const isOurs = row(db, sql, name, holder) !== undefined;
    renewed_at = isOurs ? begun : -Infinity;
    if (isOurs) renewing ??= setInterval(renew, RENEW_MS);
    else stop();
    return isOurs;
  };
  const stop = (): void => {
    clearInterval(renewing);
    renewing = undefined;
  };
  const renew = (): void => {
    try {
      take();
    } catch {
      // The database can't be reached. The lease ends if that lasts.
    }
  };
  return {
    take,
    signal: {
      get aborted() {
        return end.aborted || performance.now() - renewed_at > LEASE_S * 1_000;
      },
    },
    release: () => {
      stop();
      if (renewed_at > -Infinity) run(db, "DELETE FROM leases WHERE name = ? AND holder = ?", name, holder);
    },
  };
}
