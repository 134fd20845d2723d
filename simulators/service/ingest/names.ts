import { row, run } from "../db.ts";
import type { Db } from "../db.ts";

/** Number of a tag's or boot's name, made where there is none. Records carry the number, not the text. */
export function nameId(db: Db, name: string): number {
  const known = row<{ id: number }>(db, "SELECT id FROM names WHERE name = ?", name);
  if (known !== undefined) return known.id;
  run(db, "INSERT INTO names (name) VALUES (?)", name);
  return nameId(db, name);
}
