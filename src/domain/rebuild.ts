import type { Text } from "./message.ts";
import type { Milliseconds, Seq } from "./units.ts";

/** The changes that a rebuild made to facts of one kind. */
export interface RebuildChange {
  /** The letter of the kind, as in records. */
  readonly kind: string;
  readonly kept: number;
  readonly added: number;
  readonly replaced: number;
  readonly withdrawn: number;
}

/** The state of a rebuild of one stream's facts. */
export type RebuildProgress =
  | {
      readonly kind: "running";
      /** Whether today's parameters are used instead of the parameters in force at the time. */
      readonly current: boolean;
      readonly folded_seq: Seq;
      readonly newest_seq: Seq;
      readonly elapsed_ms: Milliseconds;
      /** Estimated remaining time; null: not known yet. */
      readonly left_ms: Milliseconds | null;
    }
  | {
      readonly kind: "done";
      readonly current: boolean;
      readonly records: number;
      readonly from_seq: Seq;
      readonly changes: readonly RebuildChange[];
      /** Examples of changed facts in words, at most a hundred. */
      readonly examples: readonly string[];
      /** Old versions of the facts' definitions, and the new version. */
      readonly from_versions: readonly number[];
      readonly to_version: number;
      readonly elapsed_ms: Milliseconds;
    }
  | { readonly kind: "failed"; readonly current: boolean; readonly reason: Text };

/**
 * Version of the definitions that facts are made by, stored with each fact. It is increased with every change after which the same log
 * gives other facts. `booth-gateway rebuild` updates stored facts to it.
 */
export const DERIVATION_VERSION = 10;
