import { KIND } from "../domain/record.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import type { Finding, Incident, Slice, SliceFold } from "./timeline/events.ts";
import type { DeepReadonly } from "./timeline/state.ts";

/** Open incidents, by check and tag. */
export interface IncidentsState {
  incidents: Record<string, IncidentState>;
}

export interface IncidentState extends Required<Incident> {
  first_seen_at: EpochMs;
  last_seen_at: EpochMs;
  /** Evaluations in a row that found nothing wrong. */
  good: number;
}

type Fold = Pick<SliceFold<IncidentsState>, "own" | "seen" | "fact">;

/** Without a further occurrence an incident is resolved after this. */
export const RESOLVED_AFTER_MS: Milliseconds = 600_000;
/** Or after this many evaluations in a row that found nothing wrong. */
const RESOLVED_AFTER_GOOD = 10;
/** A booth whose PLC raves must not fill the state; the oldest ones are resolved first. */
const MAX_OPEN = 100;

export function emptyIncidents(): IncidentsState {
  return { incidents: {} };
}

export const incidentsSlice: Slice<IncidentsState> = {
  noticed(fold, { record: { value } }) {
    const { event: check, detail: reason, tag } = value;
    // Data that may be another booth's is worse than a sensor's whim.
    const severity = check === "identity" ? "error" : "warning";
    open(fold, { tag_name: tag ?? "", check, logic: { op: check }, reason, severity }, fold.seen.clock.now);
  },
  // What hasn't been seen again is resolved, at the instant it fell due.
  due(fold) {
    const { incidents } = fold.own;
    for (const key in incidents) {
      const incident = incidents[key];
      if (incident !== undefined && fold.seen.clock.now - incident.last_seen_at >= RESOLVED_AFTER_MS)
        resolve(fold, key);
    }
  },
};

/** The one that folds what the checks find. */
export function foldFinding(fold: Fold, finding: Finding): void {
  const { now } = fold.seen.clock;
  if (finding.kind === "wrong") {
    open(fold, finding.incident, finding.at ?? now);
    return;
  }
  const { incidents } = fold.own;
  // Each reading finds that all is right, and few incidents are open: to look at those is less than to make a key.
  for (const key in incidents) {
    const incident = incidents[key];
    if (incident?.tag_name !== finding.tag_name || incident.check !== finding.check) continue;
    if (finding.kind === "lasts") incident.last_seen_at = now;
    if (finding.kind === "right") incident.good += 1;
    if (finding.kind === "over" || incident.good >= RESOLVED_AFTER_GOOD) resolve(fold, key);
    return;
  }
}

/** Opens an incident, or goes on with the open one of the same tag and check. */
function open(fold: Fold, incident: Incident, at: EpochMs): void {
  const key = keyOf(incident.check, incident.tag_name);
  const known = fold.own.incidents[key];
  if (known !== undefined) {
    known.last_seen_at = Math.max(known.last_seen_at, at);
    known.good = 0;
    return;
  }
  const keys = Object.keys(fold.own.incidents);
  if (keys[0] !== undefined && keys.length >= MAX_OPEN) resolve(fold, keys[0]);
  const { tag_name, check, logic, reason, severity = "warning" } = incident;
  const opened = { tag_name, check, logic, reason, severity, first_seen_at: at, last_seen_at: at, good: 0 };
  fold.own.incidents[key] = opened;
  push(fold, opened, null);
}

/** Whether an incident of that check and tag was first seen after `since`, and is open. */
export function isOpenSince(
  { incidents }: DeepReadonly<IncidentsState>,
  { check, tag_name }: Pick<Incident, "check" | "tag_name">,
  since: EpochMs,
): boolean {
  const known = incidents[keyOf(check, tag_name)];
  return known !== undefined && known.first_seen_at > since;
}

function keyOf(check: string, tag: TagName): string {
  return `${check} ${tag}`;
}

function resolve(fold: Fold, key: string): void {
  // Not deleted from the map: one that was deleted from is slow to go through, which is done at each instant.
  const { [key]: incident, ...others } = fold.own.incidents;
  if (incident === undefined) return;
  fold.own.incidents = others;
  push(fold, incident, Math.min(fold.seen.clock.now, incident.last_seen_at + RESOLVED_AFTER_MS));
}

function push(fold: Fold, incident: IncidentState, resolved_at: number | null): void {
  const { tag_name, check, logic, reason, severity, first_seen_at, last_seen_at } = incident;
  const value = { tag_name, check, logic, reason, severity, first_seen_at, last_seen_at, resolved_at };
  fold.fact({ kind: KIND.incident, value, quality: "good" });
}
