import type { ServiceLinkFault } from "./link-error.ts";
import { message, type MessageCode, type Text } from "./message.ts";

/** Failures of a server of notices or outputs. later, refused: its own answer. topic: refused by a broker's access rules. */
export type ServerFault = ServiceLinkFault | "later" | "refused" | "topic";

/** Faults that share the advice of another one. */
const SHARED: Partial<Record<ServerFault, ServerFault | "certificate_time">> = {
  unanswered: "unreachable",
  certificate_expired: "certificate_time",
  certificate_not_yet_valid: "certificate_time",
  certificate_wanted: "tls",
  not_allowed: "credential",
};

/** Returns what to do about a fault of a server for notices or figures. */
export function serverAdviceFor(fault: ServerFault): Text {
  const known = SHARED[fault] ?? fault;
  return message(known in SHARED ? "notice.check.closed" : (`notice.check.${known}` as MessageCode));
}
