import type { ServiceLinkFault } from "../domain/link-error.ts";
import { say } from "../domain/sentences.ts";

/** later, refused: by the server's own word. topic: refused by a broker's access rules. */
export type NoticeFault = ServiceLinkFault | "later" | "refused" | "topic";

/** The advice of a fault, by the last part of its sentence's name. */
const ADVICE = {
  unknown_host: "unknown_host",
  unreachable: "unreachable",
  unanswered: "unreachable",
  certificate_expired: "certificate_time",
  certificate_not_yet_valid: "certificate_time",
  certificate_name: "certificate_name",
  certificate_authority: "certificate_authority",
  certificate_chain: "certificate_chain",
  certificate_refused: "certificate_refused",
  certificate_wanted: "tls",
  tls: "tls",
  not_tls: "not_tls",
  credential: "credential",
  not_allowed: "credential",
  topic: "topic",
  limit: "limit",
  refused: "refused",
  later: "later",
  file: "file",
  taken_over: "closed",
  protocol: "closed",
  closed: "closed",
  no_ack: "closed",
} as const satisfies Readonly<Record<NoticeFault, string>>;

export function adviceOf(fault: NoticeFault): string {
  return say(`notice.check.${ADVICE[fault]}`);
}
