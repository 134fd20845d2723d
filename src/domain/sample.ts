import type { Quality, TagValue } from "./booth.ts";
import type { EpochMs, TagName } from "./units.ts";

/** What one tag said in one poll. A tag that couldn't be read has value null, quality bad and a reason. */
export interface Sample {
  readonly tag: TagName;
  readonly value: TagValue;
  readonly quality: Quality;
  readonly reason?: string;
  /** When the device says that it took the value, by its own clock. Stored beside ours; for the check of clock skew alone. */
  readonly source_at?: EpochMs;
}
