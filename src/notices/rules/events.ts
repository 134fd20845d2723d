import { render } from "../../domain/messages/render.ts";
import { type Text, message } from "../../domain/message.ts";
import type { NoticeConfig } from "../../config/port.ts";
import { FILTER_TYPES } from "../../domain/booth.ts";
import type { OpenIncident } from "../../domain/booth-state.ts";
import type { NoticeClass } from "../../domain/notice.ts";
import { KIND, type Placed } from "../../domain/record.ts";
import type { LinkStatus, StorageStatus } from "../../domain/status.ts";
import type { BoothSummary } from "../../domain/summary.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { EpochMs } from "../../domain/units.ts";

/** The subject of an event or a condition. `key` identifies the subject within the booth. */
export interface Subject {
  readonly key: string;
  readonly class: NoticeClass;
  readonly what: string;
}

/** A state of a booth or the gateway that notices report, at an instant. */
export interface Condition extends Subject {
  /** The state. unsure: the present data doesn't show the state, so the last known state holds. */
  readonly is: "on" | "off" | "unsure";
  /** The time since when the condition is in this state. */
  readonly since: EpochMs;
}

/** A change of a subject, as a record of the log shows it. passed: the subject began and ended between two records. */
export type Change =
  | ({ readonly kind: "began"; readonly at: EpochMs } & Subject)
  | { readonly kind: "ended"; readonly key: string; readonly at: EpochMs }
  | ({ readonly kind: "passed"; readonly began: EpochMs; readonly ended: EpochMs } & Subject);

const HOURS_TO_FULL = 24;
export const INCIDENT = "incident";
const ALARM_MODES = { estop: "E-stop", fault: "fault" } as const;

type Thresholds = Pick<NoticeConfig, "link_minutes" | "service_minutes" | "mode_minutes">;

/**
 * Returns the conditions of a booth: states that notices report, such as an alarm mode or a full store. `now` is the wall clock; `time` is
 * the corrected time, as in the summary.
 */
export function conditionsOf(
  {
    summary,
    plc,
    storage,
    trouble,
  }: {
    readonly summary: BoothSummary | null;
    readonly plc: LinkStatus;
    readonly storage: StorageStatus | null;
    readonly trouble: Text;
  },
  thresholds: Thresholds,
  { now, time }: { readonly now: EpochMs; readonly time: EpochMs },
): readonly Condition[] {
  return [
    ...modeConditions(summary, thresholds, time),
    ...(summary === null ? [] : filterConditions(summary, time)),
    linkCondition("link", plc, { minutes: thresholds.link_minutes, now, what: "the PLC doesn't answer" }),
    storageCondition(storage, trouble, now),
  ];
}

/**
 * Returns a condition for each open incident, with the same keys as in the log. Used while the log's facts (records derived from readings)
 * wait for a confirmed clock, because alarms don't wait.
 */
export function incidentConditions(incidents: readonly OpenIncident[]): readonly Condition[] {
  return incidents
    .filter(({ severity }) => severity !== "info")
    .map((one) => ({ ...incidentSubject(one), is: "on", since: one.first_seen_at }));
}

function incidentSubject({ check, tag_name, reason }: Pick<OpenIncident, "check" | "tag_name" | "reason">): Subject {
  const what = tag_name === "" ? reason : `${tag_name}: ${reason}`;
  return { key: `${INCIDENT} ${check} ${tag_name}`, class: INCIDENT, what };
}

/** Returns the condition of the link to the service; null if no link is configured. */
export function serviceCondition(
  link: LinkStatus | null,
  { service_minutes: minutes }: Thresholds,
  now: EpochMs,
): Condition {
  const wanted = link ?? { kind: "up", since: now };
  return linkCondition("service", wanted, { minutes, now, what: "the service can't be reached" });
}

function modeConditions(
  summary: BoothSummary | null,
  { mode_minutes }: Thresholds,
  time: EpochMs,
): readonly Condition[] {
  // Sets the mode to null (unknown) if the booth isn't read.
  const mode = summary === null || summary.in_gap || summary.mode === "no_data" ? null : summary.mode;
  const since = summary?.since ?? time;
  const stateOf = (of: string, isLong: boolean): Pick<Condition, "is" | "since"> => {
    if (mode === null) return { is: "unsure", since };
    return { is: mode === of && isLong ? "on" : "off", since };
  };
  const alarms = Object.entries(ALARM_MODES) as [keyof typeof ALARM_MODES, string][];
  return [
    ...alarms.map(([alarm, what]): Condition => ({ key: alarm, class: alarm, what, ...stateOf(alarm, true) })),
    ...Object.entries(mode_minutes).map(([of, minutes]): Condition => {
      const what = `in ${of.replaceAll("_", " ")} for over ${minutes} min`;
      return { key: `mode ${of}`, class: "mode", what, ...stateOf(of, time - since >= minutes * MINUTE_MS) };
    }),
  ];
}

function filterConditions({ filters }: BoothSummary, time: EpochMs): readonly Condition[] {
  return FILTER_TYPES.flatMap((type): Condition[] => {
    const filter = filters[type];
    if (filter === undefined) return [];
    const name = type.replace("_", " ");
    const { state, overuse_since } = filter;
    const is = (on: boolean): Condition["is"] => (state === null ? "unsure" : on ? "on" : "off");
    const over = { key: `filter ${type}`, class: "filter" } as const;
    const near = { key: `filter_warning ${type}`, class: "filter_warning" } as const;
    return [
      { ...over, what: `${name} is used beyond its limit`, is: is(state === "overuse"), since: overuse_since ?? time },
      // Keeps the warning on for a filter beyond its limit.
      { ...near, what: `${name} has used 80 % of its life`, is: is(state !== "good"), since: time },
    ];
  });
}

function linkCondition(
  name: "link" | "service",
  link: LinkStatus,
  { minutes, now, what }: { readonly minutes: number; readonly now: EpochMs; readonly what: string },
): Condition {
  const named = { key: name, class: name, since: link.since } as const;
  if (link.kind !== "down") return { ...named, what, is: "off" };
  // Reports "unsure" for a short downtime: if the link was never up since the start, the downtime may have begun earlier.
  const isLong = now - link.since >= minutes * MINUTE_MS;
  return {
    ...named,
    what: render(message("text.at", { place: what, text: link.reason })),
    is: isLong ? "on" : "unsure",
  };
}

function storageCondition(storage: StorageStatus | null, trouble: Text, since: EpochMs): Condition {
  const named = { key: "storage", class: "storage", since } as const;
  if (trouble !== "") return { ...named, what: `the store can't commit: ${render(trouble)}`, is: "on" };
  if (storage === null) return { ...named, what: "", is: "unsure" };
  const { hours_to_full, health } = storage;
  if (health.low) return { ...named, what: "the disk is nearly full of other things", is: "on" };
  const isFull = hours_to_full !== null && hours_to_full < HOURS_TO_FULL;
  const what = `the oldest readings go within ${HOURS_TO_FULL} h unless the service takes them`;
  return { ...named, what, is: isFull ? "on" : "off" };
}

/**
 * Returns the changes that the records of a booth's log show, in their order: incidents, and every stage of an alarm mode. Even short
 * stages are included, because the conditions may miss them. Corrections by a rebuild are ignored.
 */
export function changesIn(records: readonly Placed[]): readonly Change[] {
  return records.flatMap((record): Change[] => {
    if (record.kind === KIND.incident && record.value.supersedes === undefined) return incidentChange(record.value);
    if (record.kind === KIND.stage && record.value.supersedes === undefined) return stageChange(record.value);
    return [];
  });
}

function incidentChange(value: Extract<Placed, { kind: "i" }>["value"]): Change[] {
  const { severity, first_seen_at, resolved_at } = value;
  if (severity === "info") return [];
  const subject = incidentSubject(value);
  if (resolved_at !== null) return [{ kind: "ended", key: subject.key, at: resolved_at }];
  return [{ kind: "began", ...subject, at: first_seen_at }];
}

/**
 * Returns the change that a stage shows. Ignores a stage that ended with a gap in the data, because it is unknown whether the alarm is
 * over.
 */
function stageChange({ bay, mode, start, end, end_reason }: Extract<Placed, { kind: "m" }>["value"]): Change[] {
  if (bay !== 0 || end_reason === "gap" || (mode !== "estop" && mode !== "fault")) return [];
  return [{ kind: "passed", key: mode, class: mode, what: ALARM_MODES[mode], began: start, ended: end }];
}
