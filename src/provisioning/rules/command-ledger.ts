import type { CommandOrder, CommandResult, HeardCommand } from "../../domain/command.ts";
import type { EpochMs } from "../../domain/units.ts";

/** Commands remembered: a service repeats the last ones, never hundreds. */
const MAX_ROWS = 100;

/** A command that was heard, kept so that it takes effect once, whatever is cut off in between. */
interface LedgerRow {
  readonly answer: CommandResult;
  /** null: it was never one that could be carried out. */
  readonly order: CommandOrder | null;
  readonly expires_at: EpochMs;
}

/** Oldest first. */
export type Ledger = readonly LedgerRow[];

/**
 * Judges a command by its id, its form and its time; the same id again changes nothing and gets the same
 * answer. `answer` is to be sent either way; `run`: it is new and to be carried out.
 */
export function hear(ledger: Ledger, heard: HeardCommand, now: EpochMs) {
  const id = heard.kind === "command" ? heard.command.id : heard.id;
  const known = ledger.find(({ answer }) => answer.cmd_id === id);
  if (known !== undefined) return { ledger, answer: known.answer, run: null };
  if (heard.kind === "malformed")
    return added(ledger, { answer: failed(id, heard.reason), order: null, expires_at: 0 }, null);
  const { order, expires_at } = heard.command;
  if (expires_at <= now) return added(ledger, { answer: expired(id), order: null, expires_at }, null);
  const answer: CommandResult = { cmd_id: id, state: "accepted", result: null, error: "" };
  return added(ledger, { answer, order, expires_at }, order);
}

/** Those that a stop cut off, oldest first. */
export function unfinished(ledger: Ledger): readonly (LedgerRow & { readonly order: CommandOrder })[] {
  return ledger.flatMap((row) =>
    row.answer.state === "accepted" && row.order !== null ? [{ ...row, order: row.order }] : [],
  );
}

/** With what came of a command in place of its acceptance. */
export function settled(ledger: Ledger, answer: CommandResult): Ledger {
  return ledger.map((row) => (row.answer.cmd_id === answer.cmd_id ? { ...row, answer } : row));
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

/** The oldest goes that is no longer under way. */
function added(ledger: Ledger, row: LedgerRow, run: CommandOrder | null) {
  const longer = [...ledger, row];
  const oldest = longer.length > MAX_ROWS ? longer.findIndex(({ answer }) => answer.state !== "accepted") : -1;
  return { ledger: longer.filter((_, index) => index !== oldest), answer: row.answer, run };
}
