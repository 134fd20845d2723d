import { type Db, rows } from "../storage/db.ts";
import type { AlertType } from "./alert-types.ts";
import type { Definition } from "./definitions.ts";
import type { Rule } from "./rules.ts";

export interface StoredDefinition extends Definition {
  readonly id: string;
}

/** Returns the enabled definitions that cover a booth. A definition without booths covers all of its account. */
export function definitionsOf(db: Db, booth: { id: string; account_id: string }): StoredDefinition[] {
  const sql = `SELECT id, event_type, evaluation_period, min_duration, rules, rules_since FROM event_definitions d
    WHERE account_id = ? AND enabled = 1 AND (
      EXISTS (SELECT 1 FROM event_definition_booths b WHERE b.definition_id = d.id AND b.booth_id = ?)
      OR NOT EXISTS (SELECT 1 FROM event_definition_booths b WHERE b.definition_id = d.id)) ORDER BY id`;
  type Found = Omit<StoredDefinition, "rules" | "min_duration_ms"> & { min_duration: number; rules: string };
  return rows<Found>(db, sql, booth.account_id, booth.id).map(({ min_duration, rules, ...rest }) => {
    return { ...rest, min_duration_ms: min_duration * 60_000, rules: JSON.parse(rules) as Rule[] };
  });
}

/** Returns the enabled alert types of an account. */
export function alertTypesOf(db: Db, accountId: string): (AlertType & { id: string; name: string })[] {
  const sql = `SELECT id, name, type, base_tag, extra_tag, threshold, condition_over, rules_since FROM alert_types
    WHERE account_id = ? AND enabled = 1 ORDER BY id`;
  return rows<AlertType & { id: string; name: string }>(db, sql, accountId);
}
