import { type Db, inTransaction, row, run } from "../storage/db.ts";
import { hashOf } from "../accounts/keys.ts";

/**
 * Raises a booth's generation without its gateway's knowledge. Returns false if no booth with that serial is
 * provisioned.
 */
export function bumpGeneration(db: Db, serial: string, now: number): boolean {
  const changed = inTransaction(db, () => {
    const sql = `SELECT p.booth_id, p.generation FROM provisionings p JOIN booths b ON b.id = p.booth_id
      WHERE b.serial_number = ? AND p.status = 'provisioned'`;
    const held = row<{ booth_id: string; generation: number }>(db, sql, serial);
    if (held === undefined) return 0;
    const update =
      "UPDATE provisionings SET generation = generation + 1, revision = revision + 1, updated_at = ? WHERE booth_id = ? AND generation = ?";
    return run(db, update, now, held.booth_id, held.generation);
  });
  return changed > 0;
}

/** Revokes a key given as plain text, or a gateway's keys. Returns the gateways whose sessions must end. */
export function revokeKeys(
  db: Db,
  which: { readonly key?: string | undefined; readonly gateway_id?: string | undefined },
  now: number,
): string[] {
  const sql = "SELECT id, gateway_id FROM api_keys WHERE (hash = ? OR gateway_id = ?) AND revoked_at IS NULL";
  const hash = which.key === undefined ? "" : hashOf(which.key);
  const gateways: string[] = [];
  for (;;) {
    const found = row<{ id: string; gateway_id: string | null }>(db, sql, hash, which.gateway_id ?? "");
    if (found === undefined) return gateways;
    run(db, "UPDATE api_keys SET revoked_at = ? WHERE id = ?", now, found.id);
    if (found.gateway_id !== null) gateways.push(found.gateway_id);
  }
}
