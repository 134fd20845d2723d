import type { FilterType, TagValue } from "../../domain/booth.ts";
import type { EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import type { FiltersState } from "../filters/installation.ts";
import type { IncidentsState } from "../incidents.ts";
import type { Machine } from "../parameters.ts";
import type { SliceFold } from "../timeline/events.ts";

export interface ChecksState {
  checks: Checks;
}

/** What the checks' slice works on: it looks at the filters, and at what is open already. */
export type ChecksFold = SliceFold<ChecksState, FiltersState & IncidentsState>;

/** An analog tag's value as long as it stays exactly the same. */
export interface Unchanged {
  value: TagValue;
  /** Time in use, as `in_use_ms` counts it, when the value came. */
  since_ms: Milliseconds;
}

/** Our own time in use of a filter, ms, and the PLC's minutes, with the installation that they belong to. */
export interface FilterMarks {
  installed_at: EpochMs;
  own: Milliseconds;
  plc: number;
}

/** Both counts of a local day at its start. */
export interface DayMarks {
  /** When the day is compared, and the next one begins. */
  end: EpochMs;
  /** When it began. */
  begin: EpochMs;
  cycles: number;
  runtime_ms: Milliseconds;
  /** Attributed steps of counters by tag. */
  steps: Record<TagName, number>;
  filters: Partial<Record<FilterType, FilterMarks>>;
  /** Estimated work since then, with the time that it was seen for, of machines with a meter. */
  estimates?: Partial<Record<Machine, { work: number; ms: Milliseconds }>>;
}

/** What the validation checks remember. */
export interface Checks {
  /** Tags by their part in the checks, so that no record has to look for them. */
  tags: { analog: TagName[]; air: TagName | null; fan: TagName | null; burner: TagName | null; door: TagName | null };
  /** Whether the parameters' time zone is known; asked once per change. */
  tz_known: boolean;
  /** Settled time in use since ever. */
  in_use_ms: Milliseconds;
  runtime_ms: Milliseconds;
  /** Derived cycles that count, since ever. */
  cycles: number;
  unchanged: Record<TagName, Unchanged>;
  /** Since when two readings have contradicted each other, or the mode, by the tag that is told of. */
  conflicts: Record<string, EpochMs>;
  day: DayMarks | null;
}

export function emptyChecks(): ChecksState {
  const tags = { analog: [], air: null, fan: null, burner: null, door: null };
  const day = null;
  const checks = { tags, tz_known: true, in_use_ms: 0, runtime_ms: 0, cycles: 0, unchanged: {}, conflicts: {}, day };
  return { checks };
}
