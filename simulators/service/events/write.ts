import { randomUUID } from "node:crypto";
import { type Db, rows, run } from "../storage/db.ts";
import type { FoundAlert } from "./alert-types.ts";
import type { FoundEvent } from "./definitions.ts";

interface Stored {
  readonly id: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly period_start: number;
}

/**
 * Replaces the stored events of a definition and a booth. Periods that ended before the rules started are unchanged.
 */
export function writeEvents(
  db: Db,
  of: { readonly id: string; readonly booth_id: string; readonly rules_since: number; readonly now: number },
  found: readonly FoundEvent[],
): void {
  const sql =
    "SELECT id, started_at, ended_at, period_start FROM events WHERE definition_id = ? AND booth_id = ? AND period_end > ?";
  const before = new Map(rows<Stored>(db, sql, of.id, of.booth_id, of.rules_since).map((one) => [one.started_at, one]));
  const touched = new Set<number>();
  for (const { start, end, period } of found) {
    const started_at = Math.round(start);
    const ended_at = Math.round(end);
    const known = before.get(started_at);
    before.delete(started_at);
    if (known?.ended_at === ended_at) continue;
    touched.add(period.start);
    if (known !== undefined) run(db, "UPDATE events SET ended_at = ? WHERE id = ?", ended_at, known.id);
    else {
      const insert = `INSERT INTO events (id, definition_id, booth_id, started_at, ended_at, period_start, period_end) VALUES (?, ?, ?, ?, ?, ?, ?)`;
      run(db, insert, randomUUID(), of.id, of.booth_id, started_at, ended_at, period.start, period.end);
    }
  }
  for (const gone of before.values()) {
    touched.add(gone.period_start);
    run(db, "DELETE FROM events WHERE id = ?", gone.id);
  }
  for (const start of touched) {
    run(
      db,
      "UPDATE notifications SET updated_at = ? WHERE definition_id = ? AND period_start = ?",
      of.now,
      of.id,
      start,
    );
  }
}

/** Replaces the stored alerts of a type and a booth. Alerts from before the rules started are unchanged. */
export function writeAlerts(
  db: Db,
  of: { readonly id: string; readonly name: string; readonly booth_id: string; readonly rules_since: number },
  found: readonly FoundAlert[],
): void {
  const sql = "SELECT id, started_at FROM alerts WHERE alert_type_id = ? AND booth_id = ? AND started_at >= ?";
  const before = new Map(
    rows<{ id: string; started_at: number }>(db, sql, of.id, of.booth_id, of.rules_since).map((one) => [
      one.started_at,
      one.id,
    ]),
  );
  for (const { started_at, ended_at, value } of found) {
    const start = Math.round(started_at);
    const end = ended_at === null ? null : Math.round(ended_at);
    const known = before.get(start);
    before.delete(start);
    if (known !== undefined) run(db, "UPDATE alerts SET ended_at = ?, value = ? WHERE id = ?", end, value, known);
    else {
      const insert =
        "INSERT INTO alerts (id, booth_id, alert_type_id, name, started_at, ended_at, value) VALUES (?, ?, ?, ?, ?, ?, ?)";
      run(db, insert, randomUUID(), of.booth_id, of.id, of.name, start, end, value);
    }
  }
  for (const id of before.values()) run(db, "DELETE FROM alerts WHERE id = ?", id);
}
