import { randomUUID } from "node:crypto";
import { type Db, row, rows, run } from "../storage/db.ts";

export interface Command {
  readonly gateway_id: string;
  readonly type: "backfill" | "digest" | "config_changed" | "rotate_key" | "reassign" | "release";
  readonly args: unknown;
  readonly expires_at: number;
}

/** A command as published on down/cmd. */
export interface SentCommand {
  readonly id: string;
  readonly type: string;
  readonly args: unknown;
  readonly expires_at: number;
}

/** Stores a command. Returns the message for down/cmd. */
export function storeCommand(db: Db, command: Command, now: number): SentCommand {
  const id = randomUUID();
  const { gateway_id, type, args, expires_at } = command;
  const sql =
    "INSERT INTO commands (id, gateway_id, type, args, created_at, expires_at, state) VALUES (?, ?, ?, ?, ?, ?, 'sent')";
  run(db, sql, id, gateway_id, type, JSON.stringify(args ?? {}), now, expires_at);
  return { id, type, args: args ?? {}, expires_at };
}

/** Number of unanswered commands that are sent again to a gateway. */
export const MOST_OPEN = 50;

/** Returns a gateway's unanswered commands, oldest first. They are sent again at each hello. */
export function openCommands(db: Db, gatewayId: string): SentCommand[] {
  const sql = `SELECT id, type, args, expires_at FROM commands WHERE gateway_id = ? AND state IN ('sent', 'accepted')
    ORDER BY created_at, rowid LIMIT ${MOST_OPEN}`;
  return rows<{ id: string; type: string; args: string; expires_at: number }>(db, sql, gatewayId).map((found) => ({
    ...found,
    args: JSON.parse(found.args) as unknown,
  }));
}

/** Returns the commands that the gateway has not accepted yet, oldest first. They are sent again at each heartbeat. */
export function unheardCommands(db: Db, gatewayId: string, now: number): SentCommand[] {
  const sql = `SELECT id, type, args, expires_at FROM commands WHERE gateway_id = ? AND state = 'sent' AND expires_at > ?
    ORDER BY created_at, rowid LIMIT ${MOST_OPEN}`;
  return rows<SentCommand & { args: string }>(db, sql, gatewayId, now).map((found) => ({
    ...found,
    args: JSON.parse(found.args) as unknown,
  }));
}

/** Stores a result if the command was for that gateway. A later result with less information changes nothing. */
export function takeResult(db: Db, gatewayId: string, message: Readonly<Record<string, unknown>>): void {
  const { cmd_id, state } = message;
  if (typeof cmd_id !== "string" || typeof state !== "string") return;
  const sql =
    "UPDATE commands SET state = ?, result = ? WHERE id = ? AND gateway_id = ? AND (state IN ('sent', 'accepted') OR ? <> 'accepted')";
  const taken = run(db, sql, state, JSON.stringify(message), cmd_id, gatewayId, state);
  if (taken > 0 && state !== "accepted") run(db, "DELETE FROM backfills WHERE command_id = ?", cmd_id);
}

/**
 * Settles the commands that ordered the end of a binding: it has ended, so they were carried out, even if the gateway
 * no longer reports it.
 */
export function settleLeaving(db: Db, gatewayId: string, serial: string): void {
  const sql =
    "SELECT id, args FROM commands WHERE gateway_id = ? AND type = 'release' AND state IN ('sent', 'accepted')";
  for (const { id, args } of rows<{ id: string; args: string }>(db, sql, gatewayId)) {
    const ordered = JSON.parse(args) as { readonly serial?: unknown } | null;
    if (ordered?.serial === serial) run(db, "UPDATE commands SET state = 'done' WHERE id = ?", id);
  }
}

/** Returns the open backfill that covers the seq, if any. It allows the gateway to replace a stored record. */
export function backfillOf(db: Db, streamNo: number, seq: number): string | undefined {
  const sql = "SELECT command_id FROM backfills WHERE stream_no = ? AND from_seq <= ? AND to_seq >= ? LIMIT 1";
  return row<{ command_id: string }>(db, sql, streamNo, seq, seq)?.command_id;
}
