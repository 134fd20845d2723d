import type { Text } from "../domain/message.ts";
import type { NoticeOutcome } from "../domain/notice.ts";
import { serverAdviceFor } from "../domain/server-advice.ts";

/** Returns the outcome of a failed try, which is retried after the backoff, with advice for its fault. */
export function failure<K extends "not_delivered" | "unknown">(
  kind: K,
  fault: Parameters<typeof serverAdviceFor>[0],
  reason: Text,
): Exclude<NoticeOutcome, { readonly kind: "delivered" }> & { readonly kind: K } {
  return { kind, reason, advice: serverAdviceFor(fault), isPermanent: false, again_ms: null };
}
