import { type Db, row, run } from "../db.ts";

/**
 * Numbers of tags' and boots' names, each looked up once: a batch has the same few names in every record. Not to be kept
 * beyond the transaction, which may take back a number it made.
 */
export function nameNumbers(db: Db): (name: string) => number {
  const known = new Map<string, number>();
  return (name) => {
    const found = known.get(name) ?? nameId(db, name);
    known.set(name, found);
    return found;
  };
}

/** Number of a tag's or boot's name, made where there is none. Records carry the number, not the text. */
function nameId(db: Db, name: string): number {
  const known = row<{ id: number }>(db, "SELECT id FROM names WHERE name = ?", name);
  if (known !== undefined) return known.id;
  run(db, "INSERT INTO names (name) VALUES (?)", name);
  return nameId(db, name);
}
