import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Db } from "../storage/db.ts";

/** An outgoing mail. It may contain a link's token, so it is never logged, and only its owner can read its file. */
export interface Mail {
  /** The file's name. A mail with the same id replaces the earlier one. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Number of mails kept in memory for tests and the admin port; the oldest are dropped. */
const MAX_MAILS = 1000;

const outboxes = new WeakMap<Db, Mail[]>();

/** Writes a mail as a file (RFC 5322) into the folder `outbox` next to the database. No mail leaves the machine. */
export function sendMail(db: Db, mail: Mail, now: number): void {
  if (db.folder !== undefined) writeMail(join(db.folder, "outbox"), mail, now);
  keepMail(db, mail);
  told(mail);
}

/** Handles each mail of this thread in addition. */
let told: (mail: Mail) => void = () => undefined;

export function tellOfMails(tell: (mail: Mail) => void): void {
  told = tell;
}

/** Shows a mail that another thread has sent. */
export function keepMail(db: Db, mail: Mail): void {
  const box = (outboxes.get(db) ?? []).filter(({ id }) => id !== mail.id);
  box.push(mail);
  if (box.length > MAX_MAILS) box.shift();
  outboxes.set(db, box);
}

/** Returns the mails since the start, oldest first. */
export function outbox(db: Db): readonly Mail[] {
  return outboxes.get(db) ?? [];
}

function writeMail(folder: string, { id, to, subject, text }: Mail, now: number): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const head = [
    "From: booth-monitoring@localhost",
    `To: ${header(to)}`,
    `Subject: ${header(subject)}`,
    `Date: ${new Date(now).toUTCString().replace("GMT", "+0000")}`,
    `Message-ID: <${id}@localhost>`,
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: 8bit",
  ];
  const file = join(folder, `${id}.eml`);
  writeFileSync(`${file}.part`, `${[...head, "", text].join("\n").replaceAll("\n", "\r\n")}\r\n`, { mode: 0o600 });
  renameSync(`${file}.part`, file);
}

/** Encodes a header's value: as it is if it is ASCII, otherwise as an encoded word (RFC 2047). */
function header(value: string): string {
  const line = value.replaceAll(/[\r\n\t]+/g, " ");
  return /^[ -~]*$/.test(line) ? line : `=?utf-8?B?${Buffer.from(line).toString("base64")}?=`;
}
