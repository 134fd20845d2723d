import { findProfile } from "../../../src/config/profile.ts";
import type { Fault } from "../story.ts";
import type { Outcome, Span } from "../outcome.ts";
import type { GivenUp } from "../records.ts";
import type { OracleRow } from "./oracle.ts";
import { CLOCK_MS, spacingsOf, type Covered, type Spacing } from "./spacings.ts";
import { spanText, united, widened, without } from "./spans.ts";

/** A gap of up to three polls, or of 15 s if that is longer, is bridged. */
const LEAST_BRIDGE_MS = 15_000;
/** Time from the end of a fault until polls continue: deadlines, the longest backoff, a start. */
const SETTLE_MS = 90_000;
/** A fatal error is delayed until a call hangs, at most this long. */
const HANGS_WITHIN_MS = 20 * 60_000;
/**
 * A kill at a moment inside the agent waits for that moment. Some moments, such as a request to the service, are rare.
 */
const MOMENT_MS = 4 * 3_600_000;

/** The times at which the booth could be observed, derived from the story's faults and the polls at the service. */
export interface Sight {
  /** United spans in which the booth could not be observed. */
  readonly blind: readonly Span[];
  /** Maximum delay with which a transition is shown, unless it falls into a spacing. */
  readonly slack_ms: number;
  readonly spacings: readonly Spacing[];
  /** Spans without polls that no fault of the story explains. */
  readonly unexplained: readonly string[];
}

export function sightOf(outcome: Outcome, held: readonly OracleRow[], gaps: readonly GivenUp[]): Sight {
  const { story, window, spans, truth, unsure } = outcome;
  const bridge_ms = Math.max(LEAST_BRIDGE_MS, 3 * story.poll_ms);
  const covered = coveredSpans(outcome, held).filter(({ max_interval_ms }) => max_interval_ms <= bridge_ms);
  const unpolled = unpolledSpans(outcome, covered, bridge_ms);
  const dark = [
    ...spans.filter(({ fault }) => UNREADABLE.includes(fault.kind)).map((span) => widened(span, 0, SETTLE_MS)),
    ...truth.outages,
    ...unsure,
    ...gaps.filter((gap) => isMissing(gap, held)).map((gap) => spanOfGap(gap, held, modeTagOf(outcome)?.name)),
  ];
  const causes = [
    ...spans.flatMap((span) => (isBlinding(span.fault) ? [causeOf(span, story.commit_interval_ms + bridge_ms)] : [])),
    ...truth.outages.map((outage) => widened(outage, bridge_ms, SETTLE_MS)),
    ...unsure.map((span) => widened(span, bridge_ms, SETTLE_MS)),
    // The time before the serial number is entered, and the first start.
    { start: window.start, end: window.start + SETTLE_MS },
  ];
  const explained = united([...causes, ...dark]);
  const unexplained = unpolled
    .flatMap((span) => without(span, explained))
    .filter(({ start, end }) => end - start > bridge_ms)
    .map((span) => `${spanText(span)}: not polled, and no fault explains it`);
  const blind = united([...dark, ...unpolled].map((span) => widened(span, bridge_ms, bridge_ms)));
  const spacings = spacingsOf(covered, { poll_ms: story.poll_ms, bridge_ms });
  return { blind, slack_ms: story.poll_ms + CLOCK_MS, spacings, unexplained };
}

/** The polls are answered, but the mode or the time is unknown for a while. */
const UNREADABLE: readonly Fault["kind"][] = ["bad_tag", "wrong_type", "lossy", "clock_step", "plc_power"];

/** Whether a fault prevents reading the booth's mode, makes the time unknown, or loses readings. */
function isBlinding({ kind }: Fault): boolean {
  return ![
    "service_down",
    "latency",
    "lost_acks",
    "doubled",
    "http",
    "lying",
    "session_lost",
    "service_closes",
    "foreign",
    "plc_closes",
    "filter_change",
    "entry",
  ].includes(kind);
}

function causeOf({ fault, start, end: over }: Outcome["spans"][number], before: number): Span {
  // Without a time source, polls continue as soon as the gateway has booted.
  const end = fault.kind === "no_time" ? start : over;
  const isLate = "moment" in fault && fault.moment !== null;
  const isHanging = fault.kind === "fatal" && fault.hangs !== null;
  return widened({ start, end }, before, SETTLE_MS + (isLate ? MOMENT_MS : isHanging ? HANGS_WITHIN_MS : 0));
}

function modeTagOf({ story }: Outcome) {
  return findProfile(story.profile).tags.find(({ role }) => role === "mode");
}

/** Whether the service lacks a part of a dropped range. A gateway may lose records that the service already has. */
function isMissing({ stream, from, to }: GivenUp, held: readonly OracleRow[]): boolean {
  return held.filter((row) => row.stream === stream && from <= row.seq && row.seq <= to).length < to - from + 1;
}

/** Returns the time from the last stored record before a dropped range to the first mode reading after it. */
function spanOfGap({ stream, from, to }: GivenUp, held: readonly OracleRow[], modeTag: string | undefined): Span {
  const own = held.filter((row) => row.stream === stream);
  const before = own.findLast(({ seq }) => seq < from);
  const after = own.find(({ seq, kind, tag }) => seq > to && kind === "r" && tag === modeTag);
  return { start: before?.time ?? -Infinity, end: after?.time ?? Infinity };
}

interface Cover {
  readonly from: number;
  readonly to: number;
  readonly polls: number;
  readonly max_interval_ms: number;
}

/** Returns the coverage of the mode's group at the service, in order, for boots whose time is known. */
function coveredSpans(outcome: Outcome, held: readonly OracleRow[]): readonly Covered[] {
  const group = modeTagOf(outcome)?.group;
  const synced = new Set(
    held.flatMap(({ kind, boot, value }) =>
      kind === "t" && (value as { readonly state: string }).state !== "unsynced" ? [boot] : [],
    ),
  );
  return held
    .flatMap(({ kind, tag, boot, time, value }) => {
      if (kind !== "h" || tag !== group || !synced.has(boot)) return [];
      const { from, to, polls, max_interval_ms } = value as Cover;
      return polls > 0 ? [{ start: time, end: time + to - from, max_interval_ms }] : [];
    })
    .toSorted((a, b) => a.start - b.start);
}

/** Returns the spans in which polls of the mode's group are further apart than the bridge. */
function unpolledSpans({ story, window }: Outcome, covered: readonly Covered[], bridge_ms: number): readonly Span[] {
  const unpolled: Span[] = [];
  let seen = window.start;
  for (const { start, end } of covered) {
    if (start - seen > bridge_ms) unpolled.push({ start: seen, end: Math.min(start, window.end) });
    seen = Math.max(seen, end);
  }
  if (window.end - seen > bridge_ms + story.commit_interval_ms) unpolled.push({ start: seen, end: window.end });
  return unpolled.filter(({ start, end }) => start < end);
}
