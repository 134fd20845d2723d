import type { EventRecord } from "../domain/record.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import { type DeriveState, type Fold, type IncidentState, stamp } from "./state.ts";

/** Without a further occurrence an incident is resolved after this. */
export const RESOLVED_AFTER_MS: Milliseconds = 600_000;
/** Or after this many evaluations in a row that found nothing wrong. */
const RESOLVED_AFTER_GOOD = 10;
/** A booth whose PLC raves must not fill the state; the oldest ones are resolved first. */
const MAX_OPEN = 100;

export type Incident = Pick<IncidentState, "tag_name" | "check" | "logic" | "reason" | "severity">;

/**
 * Something that shouldn't be: opens an incident, or goes on with the open one of the same tag and check. `at`: when it
 * fell due, where that was before the present instant.
 */
export function report(fold: Fold, incident: Incident, at = fold.state.clock.now): void {
  const { incidents } = fold.state;
  const key = keyOf(incident.check, incident.tag_name);
  const open = incidents[key];
  if (open !== undefined) {
    open.last_seen_at = Math.max(open.last_seen_at, at);
    open.good = 0;
    return;
  }
  const keys = Object.keys(incidents);
  if (keys[0] !== undefined && keys.length >= MAX_OPEN) resolve(fold, keys[0]);
  incidents[key] = { ...incident, first_seen_at: at, last_seen_at: at, good: 0 };
  push(fold, incidents[key], null);
}

/** Whether an incident of that check and tag was first seen after `since`, and is open. */
export function isOpenSince(
  { incidents }: DeriveState,
  { check, tag_name }: Pick<Incident, "check" | "tag_name">,
  since: EpochMs,
): boolean {
  const open = incidents[keyOf(check, tag_name)];
  return open !== undefined && open.first_seen_at > since;
}

/** The check was made and found nothing wrong. */
export function pass(fold: Fold, check: string, tag_name: TagName): void {
  const key = keyOf(check, tag_name);
  const open = fold.state.incidents[key];
  if (open === undefined) return;
  open.good += 1;
  if (open.good >= RESOLVED_AFTER_GOOD) resolve(fold, key);
}

/** One reading is proof enough: resolved now. */
export function clear(fold: Fold, check: string, tag_name: TagName): void {
  resolve(fold, keyOf(check, tag_name));
}

/** Reports or passes. `incident` is made only where it is needed. */
export function judge(fold: Fold, wrong: boolean, incident: Incident): void {
  if (wrong) report(fold, incident);
  else pass(fold, incident.check, incident.tag_name);
}

/** What only acquisition saw becomes an incident of that name. */
export function reportEvent(fold: Fold, { value }: EventRecord): void {
  const { event: check, detail: reason, tag } = value;
  // Data that may be another booth's is worse than a sensor's whim.
  const severity = check === "identity" ? "error" : "warning";
  report(fold, { tag_name: tag ?? "", check, logic: { op: check }, reason, severity });
}

/** Time has passed: what hasn't been seen again is resolved, at the instant it fell due. */
export function passIncidentTime(fold: Fold, lasts: (fold: Fold, incident: IncidentState) => boolean): void {
  const { incidents, clock } = fold.state;
  for (const key in incidents) {
    const incident = incidents[key];
    if (incident === undefined) continue;
    if (lasts(fold, incident)) incident.last_seen_at = clock.now;
    else if (clock.now - incident.last_seen_at >= RESOLVED_AFTER_MS) resolve(fold, key);
  }
}

function keyOf(check: string, tag: TagName): string {
  return `${check} ${tag}`;
}

function resolve(fold: Fold, key: string): void {
  const incident = fold.state.incidents[key];
  if (incident === undefined) return;
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the open incidents are a map that is saved as JSON
  delete fold.state.incidents[key];
  push(fold, incident, Math.min(fold.state.clock.now, incident.last_seen_at + RESOLVED_AFTER_MS));
}

function push(fold: Fold, incident: IncidentState, resolved_at: number | null): void {
  const { tag_name, check, logic, reason, severity, first_seen_at, last_seen_at } = incident;
  const value = { tag_name, check, logic, reason, severity, first_seen_at, last_seen_at, resolved_at };
  fold.facts.push({ kind: "i", ...stamp(fold), value, quality: "good" });
}
