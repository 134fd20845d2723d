import { randomBytes, randomUUID } from "node:crypto";
import { addKey, hashOf } from "../accounts/keys.ts";
import { type Db, inTransaction, row, run } from "../storage/db.ts";

export interface MainAccount {
  readonly id: string;
  readonly name: string;
}

interface Initialized {
  readonly account: MainAccount;
  /** The admin key in plain text. Only its hash is stored. */
  readonly key: string;
}

/** Returns the oldest account without a parent: the operator's own. */
export function mainAccount(db: Db): MainAccount | undefined {
  return row<MainAccount>(db, "SELECT id, name FROM accounts WHERE parent_id IS NULL ORDER BY created_at, id LIMIT 1");
}

/**
 * Creates the first account with its default region and an admin key. Returns undefined if the database has an account.
 */
export function initialize(db: Db, { name, now }: { name: string; now: number }): Initialized | undefined {
  return inTransaction(db, () => {
    if (mainAccount(db) !== undefined) return undefined;
    const account = { id: randomUUID(), name };
    run(db, "INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)", account.id, name, now);
    const region = "INSERT INTO regions (id, account_id, name, is_default) VALUES (?, ?, 'Default', 1)";
    run(db, region, randomUUID(), account.id);
    return { account, key: newAdminKey(db, account, now) };
  });
}

/** Stores a new admin key of the account and returns its plain text. */
export function newAdminKey(db: Db, account: MainAccount, now: number): string {
  const key = randomBytes(32).toString("base64url");
  const stored = { account_id: account.id, name: "booth-sim service init", hash: hashOf(key), scope: "admin" } as const;
  addKey(db, { ...stored, prefix: key.slice(0, 4) }, now);
  return key;
}
