import { randomUUID } from "node:crypto";
import { type Db, inTransaction, rows, run } from "../storage/db.ts";
import { dueAfter, FINAL_MS } from "./periods.ts";

interface Due {
  readonly definition_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly user_id: string;
  readonly period_start: number;
  readonly period_end: number;
  readonly send_email: number;
  readonly send_notification_at: string | null;
}

/**
 * Creates a notification per user, definition and ended period with events. Later events of that period only change its
 * counts. An unsent notification without events is deleted.
 */
export function makeNotifications(db: Db, now: number): void {
  const sql = `SELECT DISTINCT e.definition_id, d.name, d.description, u.user_id, e.period_start, e.period_end, d.send_email,
      d.send_notification_at
    FROM event_definitions d JOIN events e ON e.definition_id = d.id JOIN event_definition_users u ON u.definition_id = d.id
    WHERE d.enabled = 1 AND e.period_end <= ? AND e.period_end > u.added_at AND NOT EXISTS (
      SELECT 1 FROM notifications n WHERE n.user_id = u.user_id AND n.definition_id = d.id AND n.period_start = e.period_start)`;
  inTransaction(db, () => {
    for (const due of rows<Due>(db, sql, now - FINAL_MS)) insert(db, due, now);
    const empty = `DELETE FROM notifications WHERE email_sent_at IS NULL AND NOT EXISTS (SELECT 1 FROM events e
      WHERE e.definition_id = notifications.definition_id AND e.period_start = notifications.period_start)`;
    run(db, empty);
  });
}

function insert(db: Db, due: Due, now: number): void {
  const sql = `INSERT INTO notifications (id, user_id, definition_id, definition_name, definition_description, period_start,
      period_end, email_due_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const { user_id, definition_id, name, description, period_start, period_end } = due;
  const email = due.send_email === 1 ? dueAfter(period_end, due.send_notification_at) : null;
  run(db, sql, randomUUID(), user_id, definition_id, name, description, period_start, period_end, email, now, now);
}
