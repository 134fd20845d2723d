import { KIND, type EventRecord } from "../domain/record.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import { type DeriveState, type Fold, type Incident, type IncidentState, writeFact } from "./state.ts";

/** Time after the last occurrence at which an incident is resolved. */
const RESOLVED_AFTER_MS: Milliseconds = 600_000;
/** Number of consecutive checks without a fault after which an incident is resolved. */
const RESOLVED_AFTER_GOOD = 10;
/** Maximum number of open incidents in the state, in case of a faulty PLC. Beyond it, the oldest incidents are resolved. */
const MAX_OPEN = 100;

/**
 * Opens an incident, or continues the open one with the same tag and check. `at`: the instant at which it was due, if that is in the past.
 */
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

/** Notes the result of a check: an occurrence of the incident, or a check without a fault. */
export function judge(fold: Fold, isWrong: boolean, incident: Incident): void {
  if (isWrong) report(fold, incident);
  else reportRight(fold, incident.check, incident.tag_name);
}

/** Counts a check without a fault for an open incident. */
export function reportRight(fold: Fold, check: string, tag: TagName): void {
  const key = openKey(fold.state, check, tag);
  const incident = fold.state.incidents[key ?? ""];
  if (key === undefined || incident === undefined) return;
  incident.good += 1;
  if (incident.good >= RESOLVED_AFTER_GOOD) resolve(fold, key);
}

/** Resolves an open incident immediately, because a single reading proves that it is over. */
export function reportOver(fold: Fold, check: string, tag: TagName): void {
  const key = openKey(fold.state, check, tag);
  if (key !== undefined) resolve(fold, key);
}

/** Finds an open incident. Each reading needs this, but few incidents are open, so a search is cheaper than building a key. */
function openKey({ incidents }: DeriveState, check: string, tag: TagName): string | undefined {
  for (const key in incidents) {
    const incident = incidents[key];
    if (incident?.tag_name === tag && incident.check === check) return key;
  }
  return undefined;
}

/** Opens the incident for an event that only acquisition can observe. */
export function reportEvent(fold: Fold, { value: { event: check, detail: reason, tag = "" } }: EventRecord): void {
  // Rates data from another booth as worse than data from a faulty sensor.
  const severity = check === "identity" ? "error" : "warning";
  report(fold, { tag_name: tag, check, logic: { op: check }, reason, severity });
}

/** Resolves the incidents that haven't occurred again for long enough. */
export function resolveExpired(fold: Fold): void {
  const { incidents, clock } = fold.state;
  for (const key in incidents) {
    if (clock.now - (incidents[key]?.last_seen_at ?? clock.now) >= RESOLVED_AFTER_MS) resolve(fold, key);
  }
}

/** Returns whether an incident with that check and tag is open and was first seen after `since`. */
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
  // Makes a copy without the key. Iterating an object after `delete` is slow, and each instant iterates the incidents.
  const { [key]: incident, ...others } = fold.state.incidents;
  if (incident === undefined) return;
  fold.state.incidents = others;
  writeIncident(fold, incident, Math.min(fold.state.clock.now, incident.last_seen_at + RESOLVED_AFTER_MS));
}

function writeIncident(fold: Fold, incident: IncidentState, resolved_at: number | null): void {
  const { good: _, ...value } = incident;
  writeFact(fold, { kind: KIND.incident, value: { ...value, resolved_at }, quality: "good" });
}
