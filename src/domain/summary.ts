import type { Text } from "./message.ts";
import type { FilterType, Mode } from "./booth.ts";
import type { FilterEntry } from "./entry.ts";
import type { DeviceFields } from "./service.ts";
import type { EpochMs, TagName } from "./units.ts";

export interface FilterSummary {
  /** null: not known. */
  readonly minutes: number | null;
  readonly limit_minutes: number | null;
  /** Percentage of the limit; over 100 in overuse. */
  readonly percent: number | null;
  readonly overuse_since: EpochMs | null;
  /** It was in when the gateway first looked: since when isn't known. */
  readonly assumed: boolean;
  /** Used share of the filter's life, by the nearest limit; warning: from 80 % on; null: its use is not known. */
  readonly state: "good" | "warning" | "overuse" | null;
}

/** The derived state of a booth at a moment. The time of an update is null while only the version of the first contact is known. */
export interface BoothSummary extends Omit<DeviceFields, "serial_number" | "last_active_mode"> {
  /** no_data where nothing was ever read, or the last good reading is over the bridge ago. */
  readonly mode: Mode;
  readonly since: EpochMs | null;
  /** The PLC's own mode code; null: none is valid. */
  readonly raw: string | null;
  /** Count of the local day: the PLC's if it has a counter, otherwise derived cycles that count. */
  readonly cycles_today: number;
  /** The PLC's own counter; null: it has none. */
  readonly cycles_total: number | null;
  readonly run_open: boolean;
  /** People's entries of filter changes, oldest first. */
  readonly filter_entries: readonly FilterEntry[];
  /** Validation incidents that aren't resolved. */
  readonly open_incidents: number;
  /** Tags whose unit does not fit their role, so that a figure is missing; absent: none. */
  readonly unfit_units?: readonly { readonly tag: TagName; readonly reason: Text }[];
  readonly filters: Readonly<Partial<Record<FilterType, FilterSummary>>>;
  /** The last stage in the run set; null: none yet. */
  readonly last_active_mode: Mode | null;
  /** The serial number that the PLC shows; null: none. */
  readonly plc_serial: string | null;
  /** Last instant at which the mode was known. */
  readonly last_good_at: EpochMs | null;
  readonly in_gap: boolean;
  /** The versions read last. A version is valid, and reported, once it was read unchanged for a minute. */
  readonly read: VersionsRead;
}

export type VersionsRead = Pick<DeviceFields, "firmware_version" | "plc_program" | "plc_program_revision">;

/** Returns the versions that people are shown: those that count, or else those that were read last. */
export function shownVersions(now: BoothSummary | null): VersionsRead {
  if (now === null) return { firmware_version: null, plc_program: null, plc_program_revision: null };
  const program = now.plc_program === null ? now.read : now;
  return {
    firmware_version: now.firmware_version ?? now.read.firmware_version,
    plc_program: program.plc_program,
    plc_program_revision: program.plc_program_revision,
  };
}
