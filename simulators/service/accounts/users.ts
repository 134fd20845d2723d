import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { type Db, row, run } from "../storage/db.ts";
import { hashOf } from "./keys.ts";
import { sendMail } from "./mail.ts";

/** Validity of an invitation's link: a week. */
const INVITATION_MS = 7 * 86_400_000;
const HASH_BYTES = 32;

/** Runs in a separate thread, because it deliberately takes tens of milliseconds. */
const derive = promisify<string, Buffer, number, Buffer>(scrypt);

export interface UserRow {
  readonly id: string;
  readonly account_id: string;
  readonly user_name: string;
  readonly email: string;
  readonly role: "admin" | "user";
  /** Salt and scrypt hash in hex, separated by a colon; null: never set. */
  readonly password: string | null;
  readonly invitation_sent_at: number | null;
}

export async function hashPassword(password: string, salt: Buffer = randomBytes(16)): Promise<string> {
  return `${salt.toString("hex")}:${(await derive(password, salt, HASH_BYTES)).toString("hex")}`;
}

/** Checks a password. A user without a password takes as long, so that the time doesn't tell which users exist. */
export async function isPassword(stored: string | null | undefined, password: string): Promise<boolean> {
  const [salt = "", hash = ""] = (stored ?? "").split(":");
  const found = await derive(password, Buffer.from(salt, "hex"), HASH_BYTES);
  const expected = Buffer.from(hash, "hex");
  return expected.length === HASH_BYTES && timingSafeEqual(found, expected);
}

/** Sends a new link. All older links of the user end. */
export function invite(db: Db, user: { readonly id: string; readonly email: string }, now: number): void {
  const token = randomBytes(32).toString("base64url");
  run(db, "DELETE FROM user_tokens WHERE user_id = ?", user.id);
  const sql = "INSERT INTO user_tokens (hash, user_id, expires_at) VALUES (?, ?, ?)";
  run(db, sql, hashOf(token), user.id, now + INVITATION_MS);
  run(db, "UPDATE users SET invitation_sent_at = ? WHERE id = ?", now, user.id);
  const text = `You are invited. Set your password within a week, with this link:\n\n/set_password?token=${token}`;
  sendMail(db, { id: `invitation-${hashOf(token).slice(0, 16)}`, to: user.email, subject: "Invitation", text }, now);
}

/** Returns the user of a link that is neither used nor expired. */
export function userOfToken(db: Db, token: string, now: number): UserRow | undefined {
  const sql = `SELECT u.* FROM user_tokens t JOIN users u ON u.id = t.user_id
    WHERE t.hash = ? AND t.used_at IS NULL AND t.expires_at > ?`;
  return row<UserRow>(db, sql, hashOf(token), now);
}

/** Sets a password by its hash. Earlier links and sessions end. */
export function setPassword(db: Db, userId: string, { hash, now }: { hash: string; now: number }): void {
  run(db, "UPDATE users SET password = ? WHERE id = ?", hash, userId);
  run(db, "UPDATE user_tokens SET used_at = ? WHERE user_id = ? AND used_at IS NULL", now, userId);
  run(db, "DELETE FROM user_sessions WHERE user_id = ?", userId);
}
