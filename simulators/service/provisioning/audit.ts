import { type Db, run } from "../storage/db.ts";
import type { Caller } from "../accounts/keys.ts";

interface AuditEntry {
  readonly booth_id: string;
  readonly generation: number;
  readonly gateway_id: string | null;
  readonly action: string;
  /** Never a secret. */
  readonly detail: unknown;
}

/** Adds a row for a change of a booth's holder, with the caller. */
export function audit(at: { readonly db: Db; readonly caller: Caller; readonly now: number }, entry: AuditEntry): void {
  const sql =
    "INSERT INTO provisioning_audit (booth_id, generation, gateway_id, action, key_id, detail, at) VALUES (?, ?, ?, ?, ?, ?, ?)";
  const { booth_id, generation, gateway_id, action } = entry;
  run(at.db, sql, booth_id, generation, gateway_id, action, at.caller.key_id, JSON.stringify(entry.detail), at.now);
}
