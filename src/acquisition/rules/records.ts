import { type Kind, KIND, type LogRecord } from "../../domain/record.ts";
import type { TakenEntry, TakenPoll } from "../../domain/taken.ts";
import type { BootId, Milliseconds, TakeNumber } from "../../domain/units.ts";

/** Interval of the records that show passing time while a group gets no answer. More records would only wear the flash. */
const SILENCE_SPACING_MS = 60_000;

/** A record with the fields that determine the order in which state is derived. */
interface Placed {
  readonly boot: number;
  readonly rank: number;
  readonly take: TakeNumber;
  readonly record: LogRecord;
}

interface OpenCoverage {
  readonly first: TakenPoll;
  to: Milliseconds;
  polls: number;
  max_interval_ms: Milliseconds;
}

/**
 * Converts the taken entries of a booth's log (numbered polls and records) to log records, in the order in which state is derived from
 * them. Boots have the order of their first entries. Within a boot, records are sorted by monotonic time; a coverage record counts at its
 * `from`. At equal times, clock, parameter and coverage records come first, then the order is that of the take numbers. Repeated take
 * numbers are skipped.
 *
 * Answered polls of a group share one coverage record if each follows within the bridge: the longest interval that counts as unbroken. An
 * unanswered poll becomes a coverage record with polls 0, at most one per minute and group.
 * @param bridgeMs returns the bridge of a group, ms
 */
export function recordsOf(entries: readonly TakenEntry[], bridgeMs: (group: string) => Milliseconds): LogRecord[] {
  const placed: Placed[] = [];
  const boots: BootId[] = [];
  const coverage = new Map<string, OpenCoverage>();
  const silence = new Map<string, Milliseconds>();
  const seen = new Set<TakeNumber>();
  const place = (record: LogRecord, take: TakeNumber): void => {
    const rank = FIRST.indexOf(record.kind);
    placed.push({ boot: boots.indexOf(record.boot), rank: rank >= 0 ? rank : FIRST.length, take, record });
  };
  const addAnswered = (poll: TakenPoll): void => {
    const { boot, mono, at, group } = poll;
    const open = coverage.get(group);
    if (open === undefined || !extend(open, poll, bridgeMs(group))) {
      if (open !== undefined) place(coverageOf(open), open.first.take);
      coverage.set(group, { first: poll, to: mono, polls: 1, max_interval_ms: 0 });
    }
    silence.delete(group);
    for (const [tag, value, quality, source_at] of poll.changes) {
      const source = source_at === undefined ? {} : { source_at };
      place({ kind: KIND.reading, boot, mono, at, tag, value, quality, ...source }, poll.take);
    }
  };
  const addUnanswered = (poll: TakenPoll): void => {
    const { group, mono } = poll;
    const last = silence.get(group);
    if (last !== undefined && mono >= last && mono - last < SILENCE_SPACING_MS) return;
    silence.set(group, mono);
    place(coverageOf({ first: poll, to: mono, polls: 0, max_interval_ms: 0 }), poll.take);
  };
  for (const entry of entries) {
    if (seen.has(entry.take)) continue;
    seen.add(entry.take);
    // Orders boots by the entries, not by the records.
    const { boot } = entry.kind === "poll" ? entry : entry.record;
    if (!boots.includes(boot)) boots.push(boot);
    if (entry.kind === "record") place(entry.record, entry.take);
    else if (entry.answered) addAnswered(entry);
    else addUnanswered(entry);
  }
  for (const open of coverage.values()) place(coverageOf(open), open.first.take);
  return placed.sort(byOrder).map(({ record }) => record);
}

function extend(open: OpenCoverage, poll: TakenPoll, bridge: Milliseconds): boolean {
  const spacing = poll.mono - open.to;
  if (open.first.boot !== poll.boot || spacing > bridge) return false;
  open.polls += 1;
  open.max_interval_ms = Math.max(open.max_interval_ms, spacing);
  open.to = Math.max(open.to, poll.mono);
  return true;
}

function coverageOf({ first, to, polls, max_interval_ms }: OpenCoverage): LogRecord {
  const { boot, mono, at, group } = first;
  const value = { group, from: mono, to, polls, max_interval_ms };
  return { kind: KIND.coverage, boot, mono, at, tag: group, value, quality: "good" };
}

const FIRST: readonly Kind[] = [KIND.clock, KIND.parameters, KIND.coverage];

function byOrder(a: Placed, b: Placed): number {
  return a.boot - b.boot || a.record.mono - b.record.mono || a.rank - b.rank || a.take - b.take;
}
