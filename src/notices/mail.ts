import { message } from "../domain/message.ts";
import { systemErrorText } from "../domain/system-error.ts";
import { createTransport, type NodemailerError } from "nodemailer";
import type { NoticeConfig } from "../config/port.ts";
import { FileError } from "../credential-files.ts";
import { tlsReason, trustInFile } from "../delivery/tls.ts";
import { faultOfCode, type ServiceLinkFault, tlsFaultOf } from "../domain/link-error.ts";
import type { NoticeOutcome } from "../domain/notice.ts";
import type { Milliseconds } from "../domain/units.ts";
import { failure } from "./failure.ts";
import type { NoticeMessage, OpenChannel } from "./port.ts";

type MailConfig = NonNullable<NoticeConfig["mail"]>;

const CONNECT_MS: Milliseconds = 10_000;
/** The time limit for the server's greeting. Some servers delay unknown clients by half a minute (RFC 5321, 4.5.3.2.1, allows five). */
const GREETING_MS: Milliseconds = 60_000;
/** The time limit for each answer, because some servers scan a mail first. */
const ANSWER_MS: Milliseconds = 60_000;
/** The time limit for the whole exchange, so that a server that sends a byte a minute can't block the notice. */
const TOTAL_MS: Milliseconds = 180_000;
/** The maximum size of a reply in bytes. */
const MAX_RESPONSE_BYTES = 16_384;

/** Sends notices by SMTP over a new connection each time, because notices are few and a server closes an idle connection. */
export const openMail: OpenChannel = (machine, { mail }) => {
  if (mail === undefined) throw new Error("a notice without mail is none by mail");
  return async (notice, signal) => {
    try {
      const transport = createTransport(optionsOf(mail, machine.secret));
      const info = await transport.sendMail({
        ...mailOf(notice, mail, machine.gateway_id),
        signal: AbortSignal.any([signal, AbortSignal.timeout(TOTAL_MS)]),
      });
      const { response: text, rejected } = info;
      const todo = message("notice.refused_for", { addresses: rejected.join(", ") });
      return { kind: "delivered", answer: rejected.length === 0 ? text : message("text.todo", { text, todo }) };
    } catch (error) {
      return failed(error);
    }
  };
};

/** Returns the connection's options. Reads the files for each message, so a new password needs no restart. */
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
    // Uses the same message id at each retry, so that a duplicate can be recognized.
    messageId: `<${id}@${domain}>`,
    // Suppresses automatic replies (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated", "X-Booth-Gateway": gateway },
  };
}

/**
 * Returns the outcome, according to the server's last reply or the connection's failure. If neither is clear, the mail may have been
 * delivered.
 */
function failed(error: unknown): NoticeOutcome {
  const known: NodemailerError = error instanceof Error ? error : new Error(String(error));
  const { code, responseCode = 0, response, permanent = false, command } = known;
  // Ignores a reply to STARTTLS, because it is not about the mail.
  if (responseCode >= 400 && code !== "ETLS") {
    const fault = !permanent ? "later" : code === "EAUTH" ? "credential" : "refused";
    const step = command === undefined ? "" : ` (${command})`;
    const reason = message("notice.server_says", { answer: `${response ?? known.message}${step}` });
    return { ...failure("not_delivered", fault, reason), isPermanent: permanent };
  }
  const fault = faultOf(known);
  const reason = tlsReason(error) ?? systemErrorText(known);
  return fault === null ? failure("unknown", "closed", reason) : failure("not_delivered", fault, reason);
}

/** Returns the fault; null if the error does not tell whether the mail was delivered. */
function faultOf(error: NodemailerError): ServiceLinkFault | null {
  const { code, originalCode = "", timeoutType } = error;
  if (error instanceof FileError) return "file";
  if (code === "EDNS") return "unknown_host";
  if (code === "EAUTH") return "credential";
  if (code === "ETIMEDOUT") return timeoutType === "SOCKET_TIMEOUT" ? null : "unreachable";
  const known = tlsFaultOf(error) ?? faultOfCode(originalCode);
  // Excludes connections that broke off, because that may have happened after the mail was sent.
  if (known !== null && known !== "closed" && originalCode !== "ECONNRESET") return known;
  return code === "ETLS" ? "tls" : null;
}
