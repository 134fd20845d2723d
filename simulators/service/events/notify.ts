import { randomUUID } from "node:crypto";
import { type Db, inTransaction, rows, run } from "../storage/db.ts";
import { sendMail } from "../accounts/mail.ts";
import { formatTime } from "../base/time.ts";
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

interface Unsent {
  readonly id: string;
  readonly email: string;
  readonly definition_id: string;
  readonly definition_name: string;
  readonly definition_description: string | null;
  readonly period_start: number;
  readonly period_end: number;
}

/** Sends each due e-mail once: its file has the notification's name, so that a crash causes no duplicate. */
export function sendDueMails(db: Db, now: number): void {
  const sql = `SELECT n.id, u.email, n.definition_id, n.definition_name, n.definition_description, n.period_start, n.period_end
    FROM notifications n JOIN users u ON u.id = n.user_id WHERE n.email_sent_at IS NULL AND n.email_due_at <= ? ORDER BY n.id`;
  for (const unsent of rows<Unsent>(db, sql, now)) {
    sendMail(
      db,
      { id: `notification-${unsent.id}`, to: unsent.email, subject: unsent.definition_name, text: textOf(db, unsent) },
      now,
    );
    run(db, "UPDATE notifications SET email_sent_at = ?, updated_at = ? WHERE id = ?", now, now, unsent.id);
  }
}

function textOf(
  db: Db,
  { definition_id, definition_name, definition_description, period_start, period_end }: Unsent,
): string {
  const sql = `SELECT b.name, count(*) AS events FROM events e JOIN booths b ON b.id = e.booth_id
    WHERE e.definition_id = ? AND e.period_start = ? GROUP BY b.id ORDER BY b.name, b.id`;
  const booths = rows<{ name: string; events: number }>(db, sql, definition_id, period_start);
  return [
    definition_name,
    ...(definition_description === null ? [] : [definition_description]),
    "",
    `From ${formatTime(period_start)} to ${formatTime(period_end)}:`,
    ...booths.map(({ name, events }) => `${name}: ${events} ${events === 1 ? "event" : "events"}`),
  ].join("\n");
}
