import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { type Db, row, run } from "../storage/db.ts";
import { hashOf } from "./keys.ts";
import { type Mail, writeToOutbox } from "./mail.ts";

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

/** An invitation, or a link with which a user sets a new password. */
export type LinkKind = "invitation" | "reset";

/** The database and settings for sending mails. */
export interface Mailing {
  readonly db: Db;
  /** URL under which people reach the service, for links; "": unknown. */
  readonly publicUrl: string;
  /** Whether mails wait for the process that sends them by SMTP. Otherwise they are written to files at once. */
  readonly queuesMails: boolean;
}

interface Invited {
  readonly id: string;
  readonly email: string;
}

/** Sends a new link, or asks the sending process to. All older links of the user end. */
export function invite(mailing: Mailing, user: Invited, { kind, now }: { kind: LinkKind; now: number }): void {
  const { db } = mailing;
  run(db, "DELETE FROM user_tokens WHERE user_id = ?", user.id);
  if (mailing.queuesMails) {
    const sql = `INSERT INTO link_mails (user_id, kind, asked_at, due_at) VALUES (?, ?, ?, ?) ON CONFLICT (user_id)
      DO UPDATE SET kind = excluded.kind, asked_at = excluded.asked_at, due_at = excluded.due_at`;
    run(db, sql, user.id, kind, now, now);
    return;
  }
  writeToOutbox(db, linkMail(mailing, user, { kind, now }), now);
  run(db, "UPDATE users SET invitation_sent_at = ? WHERE id = ?", now, user.id);
}

/** Returns a mail with a new link. The link is only in the mail: the database has its hash. */
export function linkMail(
  { db, publicUrl }: Pick<Mailing, "db" | "publicUrl">,
  user: Invited,
  { kind, now }: { kind: LinkKind; now: number },
): Mail {
  const token = randomBytes(32).toString("base64url");
  const sql = "INSERT INTO user_tokens (hash, user_id, expires_at) VALUES (?, ?, ?)";
  run(db, sql, hashOf(token), user.id, now + INVITATION_MS);
  // Browsers don't send the part after #, so that the token is in no log of a proxy.
  const link = `${publicUrl}/owner/#token=${token}`;
  const [subject, reason] = LINK_TEXTS[kind];
  const text = `${reason}\n\n${link}\n\nThe link works once, for a week.`;
  return { id: `${kind}-${hashOf(token).slice(0, 16)}`, to: user.email, subject, text };
}

const LINK_TEXTS: Readonly<Record<LinkKind, readonly [subject: string, text: string]>> = {
  invitation: ["Invitation", "You are invited to the booth monitoring service. Set your password here:"],
  reset: [
    "New password",
    "A new password was requested for this account. Set it here, or ignore this mail to keep the old one:",
  ],
};

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
