import type { CommandOrder, CommandResult, HeardCommand, ServiceCommand } from "../../domain/command.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";

/** Time limit of a backfill after its acceptance. For answers to digests, the service allows a day. */
const MAX_BACKFILL_MS: Milliseconds = 24 * 3_600_000;
/** Maximum number of running commands that share a capacity. Each type of command has its own capacity, so that no type blocks another. */
const MOST_RUNNING = 4;
/**
 * Maximum number of backfills at once. It is higher than for other commands, because waiting backfills are sent together: the more wait,
 * the less is sent twice.
 */
const MOST_BACKFILLS = 16;
/** Maximum number of waiting commands that share a capacity. The service repeats unanswered commands. */
const MOST_WAITING = 16;
/** Maximum number of remembered commands. A service repeats only the last ones, never hundreds. */
const MAX_ROWS = 100;

/** A received command. It is stored so that it takes effect only once, even if a stop interrupts it. */
interface LedgerRow {
  readonly answer: CommandResult;
  /** The command to run; null: it can't run, or it has its final outcome. */
  readonly order: CommandOrder | null;
  readonly expires_at: EpochMs;
}

/** The received commands, oldest first. */
export type Ledger = readonly LedgerRow[];

/**
 * Checks a command's id, form and expiry. A repeated id changes nothing and gets the same answer. Returns the answer to send. `run` is the
 * order if the command is new and valid.
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

/** Returns the ledger in which a command's final outcome replaces its acceptance. The command itself is no longer needed and is removed. */
export function settled(ledger: Ledger, answer: CommandResult): Ledger {
  return ledger.map((row) => (row.answer.cmd_id === answer.cmd_id ? { ...row, answer, order: null } : row));
}

/** Returns when a command expires. A backfill stored by an older version may have no limit; it gets one at a restart. */
export function expiryOf({ order, expires_at }: Pick<ServiceCommand, "order" | "expires_at">, now: EpochMs): EpochMs {
  return order.type === "backfill" ? Math.min(expires_at, now + MAX_BACKFILL_MS) : expires_at;
}

/**
 * A limit that similar commands share. Answers to this gateway's own digests have their own limit, so that they don't wait for commands of
 * the office.
 */
export type CommandCapacity = CommandOrder["type"] | "answer" | "malformed";

export function capacityOf(order: CommandOrder): CommandCapacity {
  return order.type === "backfill" && order.digest !== null ? "answer" : order.type;
}

function capacityOfHeard(heard: HeardCommand): CommandCapacity {
  return heard.kind === "command" ? capacityOf(heard.command.order) : "malformed";
}

/** Returns whether a received command may wait in the inbox. */
export function hasRoom(inbox: readonly HeardCommand[], heard: HeardCommand): boolean {
  const capacity = capacityOfHeard(heard);
  return inbox.filter((one) => capacityOfHeard(one) === capacity).length < MOST_WAITING;
}

/** Returns the index of the oldest waiting command that may run; -1: none may run. */
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

/** Adds a row. If the ledger is full, drops the oldest row with a final outcome. */
function added(ledger: Ledger, row: LedgerRow, run: CommandOrder | null) {
  const longer = [...ledger, row];
  const oldest = longer.length > MAX_ROWS ? longer.findIndex(({ answer }) => answer.state !== "accepted") : -1;
  return { ledger: longer.filter((_, index) => index !== oldest), answer: row.answer, run };
}
