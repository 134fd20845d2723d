import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createTransport, type NodemailerError } from "nodemailer";
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

/** The server that takes mails. */
export interface SmtpSettings {
  /** smtp://user@host:port (with STARTTLS if the server offers it) or smtps://user@host:port. */
  readonly url: string;
  readonly password: string | undefined;
  /** Address of the sender. */
  readonly from: string;
}

/** The destination of mails. none: they wait. */
export type MailWay = SmtpSettings | "files" | "none";

/** Result of sending a mail. later: a temporary refusal; never: a permanent refusal. */
export type Sent = "accepted" | "later" | "never";

export interface MailSender {
  /** Resolves once the server or the disk has the mail. Rejects if the server can't be reached. */
  readonly send: (mail: Mail, now: number) => Promise<Sent>;
  readonly close: () => void;
}

const CONNECT_MS = 10_000;
/** Some servers delay unknown clients by half a minute, or scan a mail first. */
const ANSWER_MS = 60_000;

/** Opens the way for the mails of one round. */
export function openMailSender(db: Db, way: Exclude<MailWay, "none">): MailSender {
  if (way !== "files") return smtpSender(way);
  return {
    send: (mail, now) => {
      writeToOutbox(db, mail, now);
      return Promise.resolve("accepted");
    },
    close: () => undefined,
  };
}

function smtpSender({ url, password, from }: SmtpSettings): MailSender {
  const { protocol, hostname, port, username } = new URL(url);
  const isLoopback = /^(localhost|127\..*|\[::1\])$/.test(hostname);
  const hasLogin = username !== "";
  const transport = createTransport({
    pool: true,
    maxConnections: 1,
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (protocol === "smtps:" ? 465 : 587) : Number(port),
    secure: protocol === "smtps:",
    // A password never travels in plain text to another machine.
    requireTLS: protocol === "smtp:" && hasLogin && !isLoopback,
    tls: { minVersion: "TLSv1.2", rejectUnauthorized: !isLoopback },
    ...(hasLogin ? { auth: { user: decodeURIComponent(username), pass: password ?? "" } } : {}),
    connectionTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    greetingTimeout: ANSWER_MS,
    socketTimeout: ANSWER_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = from.replace(/^.*@/, "").replace(/>$/, "");
  return {
    send: async ({ id, to, subject, text }, now) => {
      const headers = { "Auto-Submitted": "auto-generated" };
      // A repeated mail has the same id, so that a duplicate can be recognized.
      const mail = { from, to: { name: "", address: to }, subject, text, headers, messageId: `<${id}@${domain}>` };
      try {
        await transport.sendMail({ ...mail, date: new Date(now) });
        return "accepted";
      } catch (error) {
        const { responseCode = 0, code } = (error instanceof Error ? error : {}) as NodemailerError;
        // Refusals of the login or of TLS aren't about the mail.
        if (code === "EAUTH" || code === "ETLS" || responseCode < 400) throw error;
        return responseCode < 500 ? "later" : "never";
      }
    },
    close: () => transport.close(),
  };
}

/** Writes a mail as a file (RFC 5322) into the folder `outbox` next to the database. */
export function writeToOutbox(db: Db, mail: Mail, now: number): void {
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
