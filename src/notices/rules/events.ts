import type { NoticeConfig } from "../../config/port.ts";
import type { OpenIncident } from "../../domain/booth-state.ts";
import type { BoothSummary } from "../../domain/summary.ts";
import type { NoticeClass } from "../../domain/notice.ts";
import { FILTER_TYPES } from "../../domain/booth.ts";
import { KIND, type Placed } from "../../domain/record.ts";
import type { LinkStatus, StorageStatus } from "../../domain/status.ts";
import type { EpochMs } from "../../domain/units.ts";
import { MINUTE_MS } from "../../domain/time.ts";

/** What is there to be told of a booth: as it is at a moment, and as its log has it. */

/** One thing that can be so or not. */
export interface Look {
  /** Names it within the booth. */
  readonly key: string;
  readonly class: NoticeClass;
  readonly what: string;
  /** unsure: what is known doesn't tell, so that whatever was told holds. */
  readonly is: "on" | "off" | "unsure";
  /** When it became so. */
  readonly since: EpochMs;
}

/** What the log says of something that begins and ends. */
export type Change =
  | {
      readonly kind: "began";
      readonly key: string;
      readonly class: NoticeClass;
      readonly what: string;
      readonly at: EpochMs;
    }
  | { readonly kind: "ended"; readonly key: string; readonly at: EpochMs }
  /** Both; whoever saw it begin hears of its end. */
  | {
      readonly kind: "passed";
      readonly key: string;
      readonly class: NoticeClass;
      readonly what: string;
      readonly began: EpochMs;
      readonly ended: EpochMs;
    };
const HOURS_TO_FULL = 24;
export const INCIDENT = "incident";
const ALARM_MODES = { estop: "E-stop", fault: "fault" } as const;

type Thresholds = Pick<NoticeConfig, "link_minutes" | "service_minutes" | "mode_minutes">;

/** A booth as it is. `now`: the wall's; `time`: corrected, as the summary's instants are. */
export function looksAt(
  booth: {
    readonly summary: BoothSummary | null;
    readonly plc: LinkStatus;
    readonly storage: StorageStatus | null;
    readonly trouble: string;
  },
  thresholds: Thresholds,
  { now, time }: { readonly now: EpochMs; readonly time: EpochMs },
): readonly Look[] {
  const { summary, plc, storage, trouble } = booth;
  return [
    ...modeLooks(summary, thresholds, time),
    ...(summary === null ? [] : filterLooks(summary, time)),
    linkLook("link", plc, { minutes: thresholds.link_minutes, now, what: "the PLC doesn't answer" }),
    storageLook(storage, trouble, now),
  ];
}

/**
 * Looks for open incidents, for as long as the log doesn't tell of them: facts wait for a confirmed clock, and alarms do not. Keys are those
 * of the log's facts.
 */
export function incidentLooks(incidents: readonly OpenIncident[]): readonly Look[] {
  return incidents.flatMap(({ check, tag_name, reason, severity, first_seen_at }): Look[] => {
    if (severity === "info") return [];
    const named = { key: incidentKey(check, tag_name), class: INCIDENT } as const;
    return [{ ...named, what: incidentText(tag_name, reason), is: "on", since: first_seen_at }];
  });
}

function incidentKey(check: string, tag_name: string): string {
  return `${INCIDENT} ${check} ${tag_name}`;
}

function incidentText(tag_name: string, reason: string): string {
  return tag_name === "" ? reason : `${tag_name}: ${reason}`;
}

/** null: nothing is wanted of it. */
export function serviceLook(link: LinkStatus | null, { service_minutes }: Thresholds, now: EpochMs): Look {
  const wanted = link ?? { kind: "up", since: now };
  return linkLook("service", wanted, { minutes: service_minutes, now, what: "the service can't be reached" });
}

function modeLooks(summary: BoothSummary | null, { mode_minutes }: Thresholds, time: EpochMs): readonly Look[] {
  // Nobody knows what the booth does meanwhile.
  const mode = summary === null || summary.in_gap || summary.mode === "no_data" ? null : summary.mode;
  const since = summary?.since ?? time;
  const look = (of: string, isLong: boolean): Pick<Look, "is" | "since"> => {
    if (mode === null) return { is: "unsure", since };
    return { is: mode === of && isLong ? "on" : "off", since };
  };
  const alarms = Object.entries(ALARM_MODES) as [keyof typeof ALARM_MODES, string][];
  return [
    ...alarms.map(([alarm, what]): Look => ({ key: alarm, class: alarm, what, ...look(alarm, true) })),
    ...Object.entries(mode_minutes).map(([of, minutes]): Look => {
      const what = `in ${of.replaceAll("_", " ")} for over ${minutes} min`;
      return { key: `mode ${of}`, class: "mode", what, ...look(of, time - since >= minutes * MINUTE_MS) };
    }),
  ];
}

function filterLooks({ filters }: BoothSummary, time: EpochMs): readonly Look[] {
  return FILTER_TYPES.flatMap((type): Look[] => {
    const filter = filters[type];
    if (filter === undefined) return [];
    const name = type.replace("_", " ");
    const { state, overuse_since } = filter;
    const is = (on: boolean): Look["is"] => (state === null ? "unsure" : on ? "on" : "off");
    const over = { key: `filter ${type}`, class: "filter" } as const;
    const near = { key: `filter_warning ${type}`, class: "filter_warning" } as const;
    return [
      { ...over, what: `${name} is used beyond its limit`, is: is(state === "overuse"), since: overuse_since ?? time },
      // What is beyond its limit is near it still.
      { ...near, what: `${name} has used 80 % of its life`, is: is(state !== "good"), since: time },
    ];
  });
}

function linkLook(
  name: "link" | "service",
  link: LinkStatus,
  { minutes, now, what }: { readonly minutes: number; readonly now: EpochMs; readonly what: string },
): Look {
  const named = { key: name, class: name } as const;
  if (link.kind !== "down") return { ...named, what, is: "off", since: link.since };
  // After a start it was never up: that says nothing of before.
  const isLong = now - link.since >= minutes * MINUTE_MS;
  return { ...named, what: `${what}: ${link.reason}`, is: isLong ? "on" : "unsure", since: link.since };
}

function storageLook(storage: StorageStatus | null, trouble: string, now: EpochMs): Look {
  const named = { key: "storage", class: "storage", since: now } as const;
  if (trouble !== "") return { ...named, what: `the store can't commit: ${trouble}`, is: "on" };
  if (storage === null) return { ...named, what: "", is: "unsure" };
  const { hours_to_full, health } = storage;
  if (health.low) return { ...named, what: "the disk is nearly full of other things", is: "on" };
  const isFull = hours_to_full !== null && hours_to_full < HOURS_TO_FULL;
  const what = `the oldest readings go within ${HOURS_TO_FULL} h unless the service takes them`;
  return { ...named, what, is: isFull ? "on" : "off" };
}

/** Of the booth's own log, in its order. */
export function changesIn(records: readonly Placed[]): readonly Change[] {
  return records.flatMap((record): Change[] => {
    // What a rebuild says otherwise is no news.
    if (record.kind === KIND.incident && record.value.supersedes === undefined) return incidentChange(record.value);
    if (record.kind === KIND.stage && record.value.supersedes === undefined) return stageChange(record.value);
    return [];
  });
}

function incidentChange(value: Extract<Placed, { kind: "i" }>["value"]): Change[] {
  const { check, tag_name, reason, severity, first_seen_at, resolved_at } = value;
  if (severity === "info") return [];
  const key = incidentKey(check, tag_name);
  if (resolved_at !== null) return [{ kind: "ended", key, at: resolved_at }];
  return [{ kind: "began", key, class: INCIDENT, what: incidentText(tag_name, reason), at: first_seen_at }];
}

/** However short: a look may come too late for it. Where data ended it, nobody knows whether it is over. */
function stageChange({ bay, mode, start, end, end_reason }: Extract<Placed, { kind: "m" }>["value"]): Change[] {
  if (bay !== 0 || end_reason === "gap" || (mode !== "estop" && mode !== "fault")) return [];
  return [{ kind: "passed", key: mode, class: mode, what: ALARM_MODES[mode], began: start, ended: end }];
}
