import type { CommandOrder, CommandResult, HeardCommand, ServiceCommand } from "../../domain/command.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";

/** Time limit of a backfill from its acceptance: the service gives its answers to digests a day. */
const MAX_BACKFILL_MS: Milliseconds = 24 * 3_600_000;
/** Running commands of one capacity. Each type has its own capacity, so that no type blocks another. */
const MOST_RUNNING = 4;
/** Backfills that wait for the running resend are sent together: the more wait, the less is sent twice. */
const MOST_BACKFILLS = 16;
/** Waiting commands of one capacity. The service repeats unanswered ones. */
const MOST_WAITING = 16;
/** Remembered commands: a service repeats the last ones, never hundreds. */
const MAX_ROWS = 100;

/** A received command, stored so that it takes effect once, even if a stop interrupts it. */
interface LedgerRow {
  readonly answer: CommandResult;
  /** null: the command can't run, or is settled. */
  readonly order: CommandOrder | null;
  readonly expires_at: EpochMs;
}

/** Oldest first. */
export type Ledger = readonly LedgerRow[];

/**
 * Checks a command's id, form and expiry. A repeated id changes nothing and gets the same answer. Returns the answer to send, and in
 * `run` the order if the command is new and valid.
 */
export function hear(ledger: Ledger, heard: HeardCommand, now: EpochMs) {
  const id = heard.kind === "command" ? heard.command.id : heard.id;
  const known = ledger.find(({ answer }) => answer.cmd_id === id);
  if (known !== undefined) return { ledger, answer: known.answer, run: null };
  if (heard.kind === "malformed")
    return added(ledger, { answer: failed(id, heard.reason), order: null, expires_at: 0 }, null);
  const { order } = heard.command;
  const expires_at = expiryOf(heard.command, now);
  if (expires_at <= now) return added(ledger, { answer: expired(id), order: null, expires_at }, null);
  const answer: CommandResult = { cmd_id: id, state: "accepted", result: null, error: "" };
  return added(ledger, { answer, order, expires_at }, order);
}

/** Returns the commands that a stop interrupted, oldest first. */
export function unfinished(ledger: Ledger): readonly (LedgerRow & { readonly order: CommandOrder })[] {
  return ledger.flatMap((row) =>
    row.answer.state === "accepted" && row.order !== null ? [{ ...row, order: row.order }] : [],
  );
}

/** Returns the ledger with a command's outcome instead of its acceptance, and without its order. */
export function settled(ledger: Ledger, answer: CommandResult): Ledger {
  return ledger.map((row) => (row.answer.cmd_id === answer.cmd_id ? { ...row, answer, order: null } : row));
}

/** Returns when a command expires. A ledger of an older version may hold a backfill without a limit: it is limited at a restart. */
export function expiryOf({ order, expires_at }: Pick<ServiceCommand, "order" | "expires_at">, now: EpochMs): EpochMs {
  return order.type === "backfill" ? Math.min(expires_at, now + MAX_BACKFILL_MS) : expires_at;
}

/** A limit that commands share. The answer to a digest of this gateway has its own: it must not wait for commands of the office. */
export type CommandCapacity = CommandOrder["type"] | "answer" | "malformed";

export function capacityOf(order: CommandOrder): CommandCapacity {
  return order.type === "backfill" && order.digest !== null ? "answer" : order.type;
}

function capacityOfHeard(heard: HeardCommand): CommandCapacity {
  return heard.kind === "command" ? capacityOf(heard.command.order) : "malformed";
}

/** Whether a received command may wait. */
export function hasRoom(inbox: readonly HeardCommand[], heard: HeardCommand): boolean {
  const capacity = capacityOfHeard(heard);
  return inbox.filter((one) => capacityOfHeard(one) === capacity).length < MOST_WAITING;
}

/** Returns the index of the oldest command that may run; -1: no command may. */
export function nextIn(inbox: readonly HeardCommand[], running: readonly CommandCapacity[]): number {
  return inbox.findIndex((heard) => {
    const capacity = capacityOfHeard(heard);
    const most = capacity === "backfill" || capacity === "answer" ? MOST_BACKFILLS : MOST_RUNNING;
    return running.filter((one) => one === capacity).length < most;
  });
}

export function done(cmd_id: string, result: CommandResult["result"]): CommandResult {
  return { cmd_id, state: "done", result, error: "" };
}

export function failed(cmd_id: string, error: string): CommandResult {
  return { cmd_id, state: "failed", result: null, error };
}

export function expired(cmd_id: string): CommandResult {
  return { cmd_id, state: "expired", result: null, error: "it came after its time" };
}

/** Adds a row. If the ledger is full, drops the oldest settled one. */
function added(ledger: Ledger, row: LedgerRow, run: CommandOrder | null) {
  const longer = [...ledger, row];
  const oldest = longer.length > MAX_ROWS ? longer.findIndex(({ answer }) => answer.state !== "accepted") : -1;
  return { ledger: longer.filter((_, index) => index !== oldest), answer: row.answer, run };
}
