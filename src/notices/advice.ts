import type { ServiceLinkFault } from "../domain/link-error.ts";
import { say } from "../domain/sentences.ts";

/** later, refused: by the server's own word. topic: refused by a broker's access rules. */
export type NoticeFault = ServiceLinkFault | "later" | "refused" | "topic";

/** What to do about it. */
export function adviceOf(fault: NoticeFault): string {
  switch (fault) {
    case "unknown_host":
      return say("notice.check.unknown_host");
    case "unreachable":
    case "unanswered":
      return say("notice.check.unreachable");
    case "certificate_expired":
    case "certificate_not_yet_valid":
      return say("notice.check.certificate_time");
    case "certificate_name":
      return say("notice.check.certificate_name");
    case "certificate_authority":
      return say("notice.check.certificate_authority");
    case "certificate_chain":
      return say("notice.check.certificate_chain");
    case "certificate_refused":
      return say("notice.check.certificate_refused");
    case "not_tls":
      return say("notice.check.not_tls");
    case "certificate_wanted":
    case "tls":
      return say("notice.check.tls");
    case "credential":
    case "not_allowed":
      return say("notice.check.credential");
    case "topic":
      return say("notice.check.topic");
    case "limit":
      return say("notice.check.limit");
    case "refused":
      return say("notice.check.refused");
    case "later":
      return say("notice.check.later");
    case "file":
      return say("notice.check.file");
    case "taken_over":
    case "protocol":
    case "closed":
    case "no_ack":
      return say("notice.check.closed");
  }
}
