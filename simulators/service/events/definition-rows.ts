import { type Db, inTransaction, row, rows, run } from "../storage/db.ts";
import type { EvaluationPeriod } from "./periods.ts";
import type { Rule } from "./rules.ts";

export const CATEGORIES = [
  "Safety & Regulatory",
  "Booth Utilization",
  "Cycle Production",
  "Energy Consumption",
  "Service Adherence",
  "Other",
] as const;

/** The fields of an event definition that a user writes. */
export interface DefinitionFields {
  readonly name: string;
  readonly description: string | null;
  readonly category: (typeof CATEGORIES)[number];
  readonly event_type: "tag" | "aggregate";
  readonly evaluation_period: EvaluationPeriod;
  /** Minutes. */
  readonly min_duration: number;
  readonly rules: readonly Rule[];
  readonly enabled: boolean;
  readonly send_email: boolean;
  /** UTC time of day; null: as soon as the period has ended. */
  readonly send_notification_at: string | null;
  /** Booths of the definition. Empty: every booth of the account. */
  readonly booth_ids: readonly string[];
  readonly user_ids: readonly string[];
}

export interface DefinitionRow extends DefinitionFields {
  readonly id: string;
  readonly account_id: string;
  readonly created_by: string | null;
  readonly last_edited_by: string | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly rules_since: number;
}

type Raw = Omit<DefinitionRow, "rules" | "enabled" | "send_email" | "booth_ids" | "user_ids"> & {
  readonly rules: string;
  readonly enabled: number;
  readonly send_email: number;
};

/** Returns an account's definitions by name, or only the given one. */
export function definitionRows(db: Db, accountId: string, id?: string): DefinitionRow[] {
  const sql = "SELECT * FROM event_definitions WHERE account_id = ? AND id = coalesce(?, id) ORDER BY name, id";
  const booths = "SELECT booth_id AS id FROM event_definition_booths WHERE definition_id = ? ORDER BY booth_id";
  const users = "SELECT user_id AS id FROM event_definition_users WHERE definition_id = ? ORDER BY user_id";
  return rows<Raw>(db, sql, accountId, id ?? null).map((raw) => ({
    ...raw,
    rules: JSON.parse(raw.rules) as Rule[],
    enabled: raw.enabled === 1,
    send_email: raw.send_email === 1,
    booth_ids: rows<{ id: string }>(db, booths, raw.id).map((found) => found.id),
    user_ids: rows<{ id: string }>(db, users, raw.id).map((found) => found.id),
  }));
}

/** Returns the ids that don't belong to the account. */
export function strangers(db: Db, accountId: string, { booth_ids, user_ids }: DefinitionFields): string[] {
  const booth = "SELECT 1 FROM booths WHERE id = ? AND account_id = ?";
  const user = "SELECT 1 FROM users WHERE id = ? AND account_id = ?";
  return [
    ...booth_ids.filter((id) => row(db, booth, id, accountId) === undefined),
    ...user_ids.filter((id) => row(db, user, id, accountId) === undefined),
  ];
}

/** Stores a definition. If its rules have changed, events in periods that haven't ended are deleted. */
export function saveDefinition(db: Db, definition: Omit<DefinitionRow, "rules_since">, before?: DefinitionRow): void {
  const { id, account_id, name, description, category, event_type, evaluation_period, min_duration } = definition;
  const { rules, enabled, send_email, send_notification_at, created_by, last_edited_by } = definition;
  const { created_at, updated_at } = definition;
  const isNew = before === undefined || rulesOf(before) !== rulesOf(definition);
  const rules_since = isNew ? updated_at : before.rules_since;
  const columns = "name description category event_type evaluation_period min_duration rules enabled send_email".split(
    " ",
  );
  columns.push("send_notification_at", "last_edited_by", "updated_at", "rules_since");
  const values = [name, description, category, event_type, evaluation_period, min_duration, JSON.stringify(rules)];
  const flags = [enabled ? 1 : 0, send_email ? 1 : 0, send_notification_at, last_edited_by, updated_at, rules_since];
  const sql = `INSERT INTO event_definitions (${columns.join(", ")}, id, account_id, created_by, created_at)
    VALUES (${[...columns, "", "", "", ""].map(() => "?").join(", ")})
    ON CONFLICT (id) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}`;
  inTransaction(db, () => {
    run(db, sql, ...values, ...flags, id, account_id, created_by, created_at);
    if (isNew) forgetOpenPeriods(db, id, updated_at);
    run(db, "DELETE FROM event_definition_booths WHERE definition_id = ?", id);
    for (const booth of definition.booth_ids)
      run(db, "INSERT INTO event_definition_booths VALUES (?, ?) ON CONFLICT DO NOTHING", id, booth);
    setUsers(db, definition);
  });
}

/** Deletes a definition. Its notifications are kept. */
export function removeDefinition(db: Db, id: string, now: number): void {
  inTransaction(db, () => {
    forgetOpenPeriods(db, id, now);
    run(db, "DELETE FROM event_definitions WHERE id = ?", id);
  });
}

function rulesOf(definition: DefinitionFields): string {
  const { event_type, evaluation_period, min_duration, rules, enabled, booth_ids } = definition;
  return JSON.stringify([event_type, evaluation_period, min_duration, rules, enabled, [...booth_ids].sort()]);
}

function forgetOpenPeriods(db: Db, id: string, now: number): void {
  run(db, "DELETE FROM events WHERE definition_id = ? AND period_end > ?", id, now);
}

/**
 * Sets the users. A user who is already notified keeps the start; a new user is notified of periods that end from now
 * on.
 */
function setUsers(db: Db, { id, user_ids, updated_at }: Pick<DefinitionRow, "id" | "user_ids" | "updated_at">): void {
  const known = rows<{ user_id: string }>(db, "SELECT user_id FROM event_definition_users WHERE definition_id = ?", id);
  const gone = "DELETE FROM event_definition_users WHERE definition_id = ? AND user_id = ?";
  for (const { user_id } of known) if (!user_ids.includes(user_id)) run(db, gone, id, user_id);
  const add =
    "INSERT INTO event_definition_users (definition_id, user_id, added_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
  for (const user of user_ids) run(db, add, id, user, updated_at);
}
