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
/** Some servers delay the greeting of unknown clients by half a minute (RFC 5321, 4.5.3.2.1, allows five). */
const GREETING_MS: Milliseconds = 60_000;
/** Time between two answers: some servers scan a mail first. */
const ANSWER_MS: Milliseconds = 60_000;
/** Time of the whole exchange: a server that sends a byte a minute must not block the notice. */
const TOTAL_MS: Milliseconds = 180_000;
/** Bytes of one reply. */
const MAX_RESPONSE_BYTES = 16_384;

/** Sends notices by SMTP, each over a connection of its own: they are few, and a server closes an idle connection. */
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

/** Reads the files at each message: a new password needs no restart. */
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
    // The same at each retry, so that a duplicate can be recognised.
    messageId: `<${id}@${domain}>`,
    // Suppresses automatic replies (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated", "X-Booth-Gateway": gateway },
  };
}

/** Returns the outcome by the server's last reply, or by how the connection failed. If neither is clear, the mail may have been delivered. */
function failed(error: unknown): NoticeOutcome {
  const known: NodemailerError = error instanceof Error ? error : new Error(String(error));
  const { code, responseCode = 0, response, permanent = false, command } = known;
  // A reply to STARTTLS is not about the mail.
  if (responseCode >= 400 && code !== "ETLS") {
    const fault = !permanent ? "later" : code === "EAUTH" ? "credential" : "refused";
    const step = command === undefined ? "" : ` (${command})`;
    const reason = message("notice.server_says", { answer: `${response ?? known.message}${step}` });
    return { ...failure("not_delivered", fault, reason), lasting: permanent };
  }
  const fault = faultOf(known);
  const reason = tlsReason(error) ?? systemErrorText(known);
  return fault === null ? failure("unknown", "closed", reason) : failure("not_delivered", fault, reason);
}

/** Returns null if the error does not tell whether the mail was delivered. */
function faultOf(error: NodemailerError): ServiceLinkFault | null {
  const { code, originalCode = "", timeoutType } = error;
  if (error instanceof FileError) return "file";
  if (code === "EDNS") return "unknown_host";
  if (code === "EAUTH") return "credential";
  if (code === "ETIMEDOUT") return timeoutType === "SOCKET_TIMEOUT" ? null : "unreachable";
  const known = tlsFaultOf(error) ?? faultOfCode(originalCode);
  // A connection that broke off may have done so after the mail was sent.
  if (known !== null && known !== "closed" && originalCode !== "ECONNRESET") return known;
  return code === "ETLS" ? "tls" : null;
}
