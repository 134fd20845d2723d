import { type Db, run } from "../storage/db.ts";
import { idOf } from "../accounts/seed.ts";

/** Alert types of a typical shop, by tags of the shipped profiles. A tag that a booth doesn't have raises no alert. */
const ALERTS = [
  { name: "Booth fault", base_tag: "fault_code", threshold: 1, severity: "high" },
  { name: "Exhaust filter over 6,000 min", base_tag: "exhaust_minutes", threshold: 6000, severity: "medium" },
] as const;

/**
 * Creates alert types of an account. Existing ones are unchanged. `since`: readings before this epoch ms raise no
 * alert.
 */
export function seedAlerts(db: Db, account_id: string, since: number): void {
  for (const { name, base_tag, threshold, severity } of ALERTS) {
    const sql = `INSERT OR IGNORE INTO alert_types (id, account_id, name, type, base_tag, threshold, severity, enabled, rules_since)
      VALUES (?, ?, ?, 'value_threshold', ?, ?, ?, 1, ?)`;
    run(db, sql, idOf("alert", `${account_id} ${name}`), account_id, name, base_tag, threshold, severity, since);
  }
}
