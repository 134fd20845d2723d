import type { Fact } from "../domain/record.ts";
import type { Seq, Milliseconds } from "../domain/units.ts";
import { emptyChecks, type ChecksState } from "./checks/state.ts";
import { emptyFilters } from "./filters/filters.ts";
import { emptyHours, type HoursState, emptyRecent, type RecentState } from "./hours.ts";
import { emptyIncidents, type IncidentsState } from "./incidents.ts";
import type { FiltersState } from "./filters/installation.ts";
import { emptyRevisions, type RevisionsState } from "./revisions.ts";
import type { RulesState } from "./rules.ts";
import { emptyTimeline, type TimelineState } from "./timeline/state.ts";
import { WRONG_MS } from "./clock.ts";
import { HOUR_MS } from "../domain/time.ts";

/** A fact before the store has given it its seq. */
export type FactDraft = Fact;

/** Shape of the state. A saved one of another version is not used: the log is folded again. */
export const STATE_VERSION = 2;

/**
 * Everything the fold remembers: plain JSON. The timeline's part and each slice's are named fields of it, which they alone write. Its
 * shape belongs to derivation; others go through summaries.
 */
export interface DeriveState
  extends
    TimelineState,
    RecentState,
    FiltersState,
    HoursState,
    ChecksState,
    RevisionsState,
    RulesState,
    IncidentsState {
  version: typeof STATE_VERSION;
  seq: Seq;
}

/** The state before the first record. Its text is compared with that of saved ones, so fields keep their order. */
export function emptyState(): DeriveState {
  const { filters, samples } = emptyFilters();
  return {
    version: STATE_VERSION,
    seq: 0,
    ...emptyTimeline(),
    filters,
    ...emptyRevisions(),
    ...emptyHours(),
    ...emptyRecent(),
    ...emptyIncidents(),
    ...emptyChecks(),
    samples,
  };
}

/**
 * A state that was kept while the time was wrong, where no older one is left: every instant in it that lies behind the right time, of which
 * nothing can be known yet, is put back by as much as the time is wrong. What isn't an instant is far smaller.
 * @param right mono + this is the right time of the state's boot
 */
export function putBack(state: DeriveState, right: Milliseconds): DeriveState {
  const limit = state.clock.mono + right;
  const by = state.clock.now - limit;
  if (by <= WRONG_MS) return state;
  const moved = JSON.parse(JSON.stringify(state), (_, value: unknown) =>
    typeof value === "number" && value > limit ? value - by : value,
  ) as DeriveState;
  moved.clock.offset = right;
  moved.hours = Object.fromEntries(Object.entries(state.hours).filter(([hour]) => Number(hour) <= limit));
  const hour = Math.floor(limit / HOUR_MS) * HOUR_MS;
  if (moved.hour_next !== null) moved.hour_next = Math.min(state.hour_next ?? hour, hour);
  return moved;
}
