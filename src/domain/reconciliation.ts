import type { Text } from "./message.ts";
import type { EpochMs } from "./units.ts";

/** A figure that differs between gateway and service; null: that side has no value. */
export interface FigureDifference {
  /** Name of the figure, e.g. duration_by_mode.Spray Mode.duration. */
  readonly figure: string;
  readonly gateway: number | string | null;
  readonly service: number | string | null;
}

/** A comparison of one day's figures with the service's. */
export type Reconciliation = {
  /** Id of the comparison, by which the caller requests its state. */
  readonly id: string;
  /** Local day as YYYY-MM-DD. */
  readonly day: string;
} & (
  | { readonly kind: "running" }
  | { readonly kind: "failed"; readonly at: EpochMs; readonly reason: Text }
  | {
      readonly kind: "done";
      readonly at: EpochMs;
      readonly start: EpochMs;
      readonly end: EpochMs;
      /** Number of figures compared. */
      readonly compared: number;
      /** Number of figures that differed at first. */
      readonly differed: number;
      /** Number of ranges of records, each at most an hour, that differed and were sent again. */
      readonly hours: number;
      readonly resent: number;
      /** Up to a hundred figures that still differ. */
      readonly remaining: readonly FigureDifference[];
      /** Number of all figures that still differ; the target is 0. */
      readonly remaining_count: number;
      /** Whether both sides have the same records but compute other figures. This is never patched: a person must investigate. */
      readonly algorithm: boolean;
    }
);
