import type { EventRecord, IncidentFact } from "../types/record.ts";
import type { Milliseconds } from "../types/units.ts";
import { modeOf } from "./modes.ts";
import type { Fold, IncidentState } from "./state.ts";
import { stamp } from "./state.ts";

/** Without a further occurrence an incident is resolved after this. */
const RESOLVED_AFTER_MS: Milliseconds = 600_000;
/** A booth whose PLC raves must not fill the state; the oldest ones are resolved first. */
const MAX_OPEN = 100;

export type Incident = Pick<IncidentState, "tag_name" | "check" | "logic" | "reason" | "severity">;

/** Something that shouldn't be: opens an incident, or goes on with the open one of the same tag and check. */
export function report(fold: Fold, incident: Incident): void {
  const { incidents, clock } = fold.state;
  const key = `${incident.check} ${incident.tag_name}`;
  const open = incidents[key];
  if (open !== undefined) {
    open.last_seen_at = clock.now;
    return;
  }
  const keys = Object.keys(incidents);
  if (keys[0] !== undefined && keys.length >= MAX_OPEN) resolve(fold, keys[0]);
  incidents[key] = { ...incident, first_seen_at: clock.now, last_seen_at: clock.now };
  push(fold, incidents[key], null);
}

/** What only acquisition saw becomes an incident of that name. */
export function reportEvent(fold: Fold, { value }: EventRecord): void {
  const { event: check, detail: reason, tag } = value;
  report(fold, { tag_name: tag ?? "", check, logic: { op: check }, reason, severity: "warning" });
}

/** Time has passed: what hasn't been seen again is resolved, at the instant it fell due. */
export function passIncidentTime(fold: Fold): void {
  const { incidents, clock, bays, parameters } = fold.state;
  for (const key in incidents) {
    const incident = incidents[key];
    if (incident === undefined) continue;
    const bay = bays.find(({ tag }) => tag === incident.tag_name);
    const lasts = incident.check === "unmapped" && parameters !== null && bay?.live === true && bay.raw !== null;
    if (lasts && modeOf(parameters, bay.raw ?? "") === "unknown") incident.last_seen_at = clock.now;
    else if (clock.now - incident.last_seen_at >= RESOLVED_AFTER_MS) resolve(fold, key);
  }
}

function resolve(fold: Fold, key: string): void {
  const incident = fold.state.incidents[key];
  if (incident === undefined) return;
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the open incidents are a map that is saved as JSON
  delete fold.state.incidents[key];
  push(fold, incident, Math.min(fold.state.clock.now, incident.last_seen_at + RESOLVED_AFTER_MS));
}

function push(fold: Fold, incident: IncidentState, resolved_at: number | null): void {
  const value: IncidentFact["value"] = { ...incident, resolved_at };
  fold.facts.push({ kind: "i", ...stamp(fold), value, quality: "good" });
}
