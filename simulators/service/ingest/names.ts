import { type Db, row, run } from "../storage/db.ts";

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

/**
 * Returns the number of a tag's or boot's name, and assigns one to a new name. Records store the number, not the
 * text.
 */
function nameId(db: Db, name: string): number {
  const known = knownNumber(db, name);
  if (known !== undefined) return known;
  run(db, "INSERT INTO names (name) VALUES (?)", name);
  return nameId(db, name);
}

/** Names by their numbers, each looked up once: joined in SQL they would be for each record. */
export function namesByNumber(db: Db): (id: number) => string {
  const known = new Map<number, string>();
  return (id) => {
    const found = known.get(id) ?? row<{ name: string }>(db, "SELECT name FROM names WHERE id = ?", id)?.name ?? "";
    known.set(id, found);
    return found;
  };
}

/** The number of a name, where it has one. */
export function knownNumber(db: Db, name: string): number | undefined {
  return row<{ id: number }>(db, "SELECT id FROM names WHERE name = ?", name)?.id;
}
