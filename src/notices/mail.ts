import { createTransport, type NodemailerError } from "nodemailer";
import type { NoticeConfig } from "../config/port.ts";
import { FileError } from "../credential-files.ts";
import { tlsReason, trustInFile } from "../delivery/tls.ts";
import { faultOfCode, tlsFaultOf } from "../domain/link-error.ts";
import type { NoticeOutcome } from "../domain/notice.ts";
import { say } from "../domain/sentences.ts";
import type { Milliseconds } from "../domain/units.ts";
import { adviceOf, type NoticeFault } from "./advice.ts";
import type { Channel, NoticeMessage, OpenChannel } from "./port.ts";

/** By SMTP. A connection for each message: there are few, and a server closes one that waits. */

type MailConfig = NonNullable<NoticeConfig["mail"]>;

const CONNECT_MS: Milliseconds = 10_000;
/** Servers that make strangers wait before they greet do so for half a minute (RFC 5321, 4.5.3.2.1, allows five). */
const GREETING_MS: Milliseconds = 60_000;
/** Between two answers; servers that look through a mail take their time. */
const ANSWER_MS: Milliseconds = 60_000;
/** All of it: one that answers a byte a minute holds nobody up for ever. */
const TOTAL_MS: Milliseconds = 180_000;
/** Of what the server says; more is no reply. */
const MAX_RESPONSE_BYTES = 16_384;

export const openMail: OpenChannel = (machine, config): Channel => {
  const { mail } = config;
  if (mail === undefined) throw new Error("a notice without mail is none by mail");
  return async (message, signal) => {
    try {
      const transport = createTransport(optionsOf(mail, machine.secret));
      const info = await transport.sendMail({
        ...mailOf(message, mail, machine.gateway_id),
        signal: AbortSignal.any([signal, AbortSignal.timeout(TOTAL_MS)]),
      });
      const refused = info.rejected.length === 0 ? "" : `; refused for ${info.rejected.join(", ")}`;
      return { kind: "delivered", answer: `${info.response}${refused}` };
    } catch (error) {
      return failed(error);
    }
  };
};

/** Files are read anew each time: a new password needs no restart. */
function optionsOf({ host, port, tls, user, password_file, ca_file }: MailConfig, secret: (path: string) => string) {
  const auth = user === undefined || password_file === undefined ? {} : { auth: { user, pass: secret(password_file) } };
  return {
    host,
    port,
    ...auth,
    secure: tls === "tls",
    requireTLS: tls === "starttls",
    ignoreTLS: tls === "none",
    tls: {
      rejectUnauthorized: true,
      minVersion: "TLSv1.2",
      ...(ca_file === undefined ? {} : trustInFile(ca_file)),
    },

    connectionTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: ANSWER_MS,
    maxResponseSize: MAX_RESPONSE_BYTES,
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const;
}

function mailOf({ id, subject, text }: NoticeMessage, { from, to }: MailConfig, gateway: string) {
  const domain = from.replace(/^.*@/, "").replace(/>$/, "");
  return {
    from,
    to: [...to],
    subject,
    text,
    // The same at each try: what is delivered twice can be told.
    messageId: `<${id}@${domain}>`,
    // No holiday notes come back (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated", "X-Booth-Gateway": gateway },
  };
}

/** By the server's last word, or by how the connection failed. Where neither says that the mail isn't there, it may be. */
function failed(error: unknown): NoticeOutcome {
  const known: NodemailerError = error instanceof Error ? error : new Error(String(error));
  const { code, responseCode = 0, response, permanent = false, command, message } = known;
  const says = { reason: tlsReason(error) ?? message, again_ms: null };
  // What it says to STARTTLS is no word about the mail.
  if (responseCode >= 400 && code !== "ETLS") {
    const fault = code === "EAUTH" && permanent ? "credential" : permanent ? "refused" : "later";
    const step = command === undefined ? "" : ` (${command})`;
    const reason = say("notice.server_says", { answer: `${response ?? message}${step}` });
    return { ...says, kind: "not_delivered", reason, advice: adviceOf(fault), lasting: permanent };
  }
  const fault = faultOf(known);
  if (fault !== null) return { ...says, kind: "not_delivered", advice: adviceOf(fault), lasting: false };
  return { ...says, kind: "unknown", advice: adviceOf("closed"), lasting: false };
}

/** null: it says nothing of whether the mail is there. */
function faultOf(error: NodemailerError): NoticeFault | null {
  const { code, originalCode = "", timeoutType } = error;
  if (error instanceof FileError) return "file";
  if (code === "EDNS") return "unknown_host";
  if (code === "EAUTH") return "credential";
  if (code === "ETIMEDOUT") return timeoutType === "SOCKET_TIMEOUT" ? null : "unreachable";
  const known = tlsFaultOf(error) ?? faultOfCode(originalCode);
  // A connection that broke off may have done so after the mail.
  if (known !== null && known !== "closed" && originalCode !== "ECONNRESET") return known;
  return code === "ETLS" ? "tls" : null;
}
