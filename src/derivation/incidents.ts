import { KIND, type EventRecord } from "../domain/record.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import { type DeriveState, type Fold, type Incident, type IncidentState, writeFact } from "./state.ts";

/** An incident is resolved this long after its last occurrence. */
const RESOLVED_AFTER_MS: Milliseconds = 600_000;
/** An incident is resolved after this many consecutive evaluations that found nothing wrong. */
const RESOLVED_AFTER_GOOD = 10;
/** Open incidents that the state keeps, so that a faulty PLC cannot fill it. The oldest ones are resolved first. */
const MAX_OPEN = 100;

/** Opens an incident, or continues the open one of the same tag and check. `at`: the instant it was due, if before the present one. */
export function report(fold: Fold, incident: Incident, at: EpochMs = fold.state.clock.now): void {
  const { tag_name, check, logic, reason, severity = "warning" } = incident;
  const { incidents } = fold.state;
  const key = keyOf(check, tag_name);
  const known = incidents[key];
  if (known !== undefined) {
    known.last_seen_at = Math.max(known.last_seen_at, at);
    known.good = 0;
    return;
  }
  const [oldest, ...others] = Object.keys(incidents);
  if (oldest !== undefined && others.length + 1 >= MAX_OPEN) resolve(fold, oldest);
  const opened = { tag_name, check, logic, reason, severity, first_seen_at: at, last_seen_at: at, good: 0 };
  fold.state.incidents[key] = opened;
  writeIncident(fold, opened, null);
}

/** Notes the result of a check. */
export function judge(fold: Fold, isWrong: boolean, incident: Incident): void {
  if (isWrong) report(fold, incident);
  else reportRight(fold, incident.check, incident.tag_name);
}

/** Counts a good evaluation of an open incident. */
export function reportRight(fold: Fold, check: string, tag: TagName): void {
  const key = openKey(fold.state, check, tag);
  const incident = fold.state.incidents[key ?? ""];
  if (key === undefined || incident === undefined) return;
  incident.good += 1;
  if (incident.good >= RESOLVED_AFTER_GOOD) resolve(fold, key);
}

/** Resolves an open incident at once: a single reading proves that it is over. */
export function reportOver(fold: Fold, check: string, tag: TagName): void {
  const key = openKey(fold.state, check, tag);
  if (key !== undefined) resolve(fold, key);
}

/** Finds an open incident. Each reading asks for it and few incidents are open, so a search is cheaper than a key. */
function openKey({ incidents }: DeriveState, check: string, tag: TagName): string | undefined {
  for (const key in incidents) {
    const incident = incidents[key];
    if (incident?.tag_name === tag && incident.check === check) return key;
  }
  return undefined;
}

/** Opens the incident of an event that only acquisition sees. */
export function reportEvent(fold: Fold, { value: { event: check, detail: reason, tag = "" } }: EventRecord): void {
  // Data of another booth is worse than a faulty sensor.
  const severity = check === "identity" ? "error" : "warning";
  report(fold, { tag_name: tag, check, logic: { op: check }, reason, severity });
}

/** Resolves the incidents that did not occur again for long enough. */
export function resolveExpired(fold: Fold): void {
  const { incidents, clock } = fold.state;
  for (const key in incidents) {
    if (clock.now - (incidents[key]?.last_seen_at ?? clock.now) >= RESOLVED_AFTER_MS) resolve(fold, key);
  }
}

/** Returns whether an incident of that check and tag is open and was first seen after `since`. */
export function isOpenSince(
  { incidents }: DeriveState,
  { check, tag_name }: Pick<Incident, "check" | "tag_name">,
  since: EpochMs,
): boolean {
  return (incidents[keyOf(check, tag_name)]?.first_seen_at ?? -Infinity) > since;
}

function keyOf(check: string, tag: TagName): string {
  return `${check} ${tag}`;
}

function resolve(fold: Fold, key: string): void {
  // A copy without the key: iterating an object after `delete` is slow, and each instant iterates this one.
  const { [key]: incident, ...others } = fold.state.incidents;
  if (incident === undefined) return;
  fold.state.incidents = others;
  writeIncident(fold, incident, Math.min(fold.state.clock.now, incident.last_seen_at + RESOLVED_AFTER_MS));
}

function writeIncident(fold: Fold, incident: IncidentState, resolved_at: number | null): void {
  const { good: _, ...value } = incident;
  writeFact(fold, { kind: KIND.incident, value: { ...value, resolved_at }, quality: "good" });
}
