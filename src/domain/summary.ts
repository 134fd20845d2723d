import type { Text } from "./message.ts";
import type { FilterType, Mode } from "./booth.ts";
import type { FilterEntry } from "./entry.ts";
import type { DeviceFields } from "./service.ts";
import type { EpochMs, TagName } from "./units.ts";

export interface FilterSummary {
  /** Minutes of use; null: not known. */
  readonly minutes: number | null;
  readonly limit_minutes: number | null;
  /** Use as a percentage of the limit; above 100 in overuse. */
  readonly percent: number | null;
  readonly overuse_since: EpochMs | null;
  /** Whether the filter was already in at first contact. The time of its installation is then unknown. */
  readonly assumed: boolean;
  /** State by the used share of the filter's life, for the nearest limit. warning: 80 % or more. null: the use isn't known. */
  readonly state: "good" | "warning" | "overuse" | null;
}

/** The derived state of a booth at a moment. The time of an update is null while only the version at first contact is known. */
export interface BoothSummary extends Omit<DeviceFields, "serial_number" | "last_active_mode"> {
  /** The mode; no_data: nothing was ever read, or the last good reading is older than the gap over which a value stays valid. */
  readonly mode: Mode;
  readonly since: EpochMs | null;
  /** The PLC's own mode code; null: no valid code. */
  readonly raw: string | null;
  /** Cycles of the local day, from the PLC's counter or else from derived cycles that count. */
  readonly cycles_today: number;
  /** The PLC's total number of cycles; null: it has no counter. */
  readonly cycles_total: number | null;
  readonly run_open: boolean;
  /** Entries of filter changes by people, oldest first. */
  readonly filter_entries: readonly FilterEntry[];
  /** Number of unresolved validation incidents. */
  readonly open_incidents: number;
  /** Tags whose unit doesn't fit their role, so that a figure is missing; absent: none. */
  readonly unfit_units?: readonly { readonly tag: TagName; readonly reason: Text }[];
  readonly filters: Readonly<Partial<Record<FilterType, FilterSummary>>>;
  /** Mode of the last stage in the run set (modes that count as a run); null: none yet. */
  readonly last_active_mode: Mode | null;
  /** The serial number that the PLC shows; null: none. */
  readonly plc_serial: string | null;
  /** Last instant at which the mode was known. */
  readonly last_good_at: EpochMs | null;
  readonly in_gap: boolean;
  /** Versions that were read last. A version counts, and is reported, once it was read unchanged for a minute. */
  readonly read: VersionsRead;
}

export type VersionsRead = Pick<DeviceFields, "firmware_version" | "plc_program" | "plc_program_revision">;

/** Returns the versions to show: the valid versions, or else the versions that were read last. */
export function shownVersions(now: BoothSummary | null): VersionsRead {
  if (now === null) return { firmware_version: null, plc_program: null, plc_program_revision: null };
  const program = now.plc_program === null ? now.read : now;
  return {
    firmware_version: now.firmware_version ?? now.read.firmware_version,
    plc_program: program.plc_program,
    plc_program_revision: program.plc_program_revision,
  };
}
