import type { FilterType } from "../domain/booth.ts";
import { canonicalText, sha256 } from "./hash.ts";

/** The head of a printed record. */
export interface RecordHead {
  readonly document: "log_sheet" | "bake_records";
  readonly booth: string;
  readonly serial: string | null;
  readonly customer: string | null;
  readonly facility: string | null;
  readonly tz: string;
  /** First and last local day, such as "2026-03-01". */
  readonly from: string;
  readonly to: string;
  readonly version: string;
}

export interface SheetFilterBody {
  readonly filter: FilterType;
  readonly installed_at: string;
  readonly removed_at: string | null;
  readonly assumed: boolean;
  readonly use_hours: number | null;
  readonly limit_hours: number | null;
  readonly overuse_since: string | null;
  /** Whether the filter has a pressure sensor. */
  readonly sensor: boolean;
  readonly highest_pa: number | null;
  readonly median_pa: number | null;
  readonly baseline_pa: number | null;
  /** Drop above which the filter is due: the clean filter's drop plus the limit. */
  readonly limit_pa: number | null;
}

export interface SheetBody {
  readonly head: RecordHead;
  readonly digest: string;
  readonly filters: readonly FilterType[];
  readonly days: readonly {
    readonly day: string;
    readonly use_minutes: number;
    readonly spray_minutes: number;
    readonly no_data_minutes: number;
    readonly filters: readonly SheetFilterBody[];
  }[];
  readonly changes: readonly {
    readonly filter: FilterType;
    readonly at: string;
    readonly source: string;
    readonly id: string | null;
    readonly part_number: string;
    readonly note: string;
    readonly corrected: readonly { readonly part_number: string; readonly note: string }[];
    readonly removed_use_hours: number | null;
    readonly removed_overuse_days: number | null;
  }[];
}

export interface BakeSensorBody {
  readonly peak_c: number | null;
  readonly lowest_c: number | null;
  readonly deadband_c: number;
  readonly unknown_minutes: number;
  /** Lowest and highest temperature by minutes since the start; absent unless asked for. */
  readonly curve?: readonly (readonly [minute: number, low: number | null, high: number | null])[];
}

export interface BakeBody {
  readonly bay: number;
  readonly start: string;
  readonly end: string;
  readonly bake_minutes: number;
  readonly no_data_minutes: number;
  readonly end_reason: string;
  /** null: the bay has no such sensor. */
  readonly air: BakeSensorBody | null;
  readonly metal: BakeSensorBody | null;
  readonly rules: readonly {
    readonly rule: string;
    readonly sensor: "air" | "metal";
    readonly at_least_c: number | null;
    readonly minutes: number | null;
    readonly at_most_c: number | null;
    readonly verdict: string;
    readonly reason: string;
    readonly above_minutes: number | null;
    readonly longest_minutes: number | null;
    readonly over_minutes: number | null;
  }[];
}

export interface BakesBody {
  readonly head: RecordHead;
  readonly digest: string;
  readonly bakes: readonly BakeBody[];
}

/**
 * Returns the digest of a record: the first 16 hex digits of the SHA-256 over its canonical JSON, in groups of four. Curves are left out,
 * because the figures follow from them. So are version and names, which may change after the record was printed.
 */
export function recordDigest(head: RecordHead, content: object): string {
  const { document, serial, tz, from, to } = head;
  const whole = canonicalText({ document, serial, tz, from, to, ...content });
  return (sha256(whole).slice(0, 16).match(/.{4}/g) ?? []).join("-");
}
