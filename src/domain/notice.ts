import type { Text } from "./message.ts";
/** The classes of alarms that notices report for a booth. Each alarm has a start and an end. */
export const NOTICE_CLASSES = [
  /** The booth is in the mode with that name. */
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
  /** The booth has stayed in one mode for too long. */
  "mode",
  /** The service could not be reached for the configured time. */
  "service",
  /** The store can't keep readings, or soon won't be able to. */
  "storage",
] as const;
export type NoticeClass = (typeof NOTICE_CLASSES)[number];

/** The outcome of one attempt to send a notice. */
export type NoticeOutcome =
  /** The server accepted the notice. `answer`: the server's own words. */
  | { readonly kind: "delivered"; readonly answer: Text }
  | {
      /** not_delivered: the server doesn't have the notice. unknown: it may have the notice, which is sent again with the same id. */
      readonly kind: "not_delivered" | "unknown";
      readonly reason: Text;
      readonly advice: Text;
      /** Whether retries fail too until a person corrects a setting. */
      readonly isPermanent: boolean;
      /** Time to wait before the next attempt, if the server demands it, ms from now; null: no demand. */
      readonly again_ms: number | null;
    };

/** The result of a test message sent by the notice with that name. */
export interface NoticeTest {
  readonly name: string;
  readonly kind: "mail" | "webhook" | "mqtt";
  readonly where: string;
  readonly outcome: NoticeOutcome;
}
