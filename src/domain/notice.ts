import type { Text } from "./message.ts";
/** The kinds of events that notices report for a booth. Each has a beginning and an end. */
export const NOTICE_CLASSES = [
  /** The booth is in the mode of that name. */
  "estop",
  "fault",
  /** The PLC has not answered for the configured time. */
  "link",
  /** A filter is used beyond its limit. */
  "filter",
  /** A filter has used 80 % of its life. */
  "filter_warning",
  /** The PLC's values contradict each other, or a limit was passed. */
  "incident",
  /** The booth has been in one mode for too long. */
  "mode",
  /** The service has not been reached for the configured time. */
  "service",
  /** The store can't keep readings, or will not be able to soon. */
  "storage",
] as const;
export type NoticeClass = (typeof NOTICE_CLASSES)[number];

/** The outcome of one try to send a notice. */
export type NoticeOutcome =
  /** It is there; `answer`: the server's own words. */
  | { readonly kind: "delivered"; readonly answer: Text }
  | {
      /** not_delivered: the server does not have it. unknown: it may have it, so it is sent again under the same id. */
      readonly kind: "not_delivered" | "unknown";
      readonly reason: Text;
      readonly advice: Text;
      /** A retry would fail too until somebody corrects a setting. */
      readonly lasting: boolean;
      /** The wait that the server demands, ms from now; null: it demands none. */
      readonly again_ms: number | null;
    };

/** The result of a test message, with the notice's name. */
export interface NoticeTest {
  readonly name: string;
  readonly kind: "mail" | "webhook" | "mqtt";
  readonly where: string;
  readonly outcome: NoticeOutcome;
}
