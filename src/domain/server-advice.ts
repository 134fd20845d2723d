import type { ServiceLinkFault } from "./link-error.ts";
import { message, type MessageCode, type Text } from "./message.ts";

/**
 * Failures of a server for notices or outputs. later, refused: the server's own answer. topic: the broker's access rules refused the topic.
 */
export type ServerFault = ServiceLinkFault | "later" | "refused" | "topic";

/** Faults for which the advice of another fault is shown. */
const SHARED: Partial<Record<ServerFault, ServerFault | "certificate_time">> = {
  unanswered: "unreachable",
  certificate_expired: "certificate_time",
  certificate_not_yet_valid: "certificate_time",
  certificate_wanted: "tls",
  not_allowed: "credential",
};

/** Returns advice for a fault of a server for notices or outputs. */
export function serverAdviceFor(fault: ServerFault): Text {
  const known = SHARED[fault] ?? fault;
  return message(known in SHARED ? "notice.check.closed" : (`notice.check.${known}` as MessageCode));
}
