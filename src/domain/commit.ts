import type { LogRecord } from "./record.ts";
import type { TakenEntry, TakenPoll } from "./taken.ts";
import type { BootId, Milliseconds, TakeNumber } from "./units.ts";

/** While a group gets no answer one record a minute shows that time passes; more would only wear the flash. */
const SILENCE_SPACING_MS = 60_000;

interface Placed {
  readonly order: readonly [boot: number, mono: number, rank: number, take: number];
  readonly record: LogRecord;
}

interface OpenCoverage {
  readonly first: TakenPoll;
  to: Milliseconds;
  polls: number;
  max_interval_ms: Milliseconds;
}

interface Builder {
  readonly placed: Placed[];
  readonly boots: BootId[];
  readonly coverage: Map<string, OpenCoverage>;
  readonly silence: Map<string, Milliseconds>;
}

/**
 * Log records of one stream's taken entries, in the order in which the fold wants them: boots in order of
 * appearance; then by mono, a coverage record standing at its `from`; at equal mono t, p, h before everything else;
 * then as taken. Answered polls of a group not further apart than its bridge share one coverage record. An unanswered
 * poll gives a coverage record with polls 0, at most one a minute and group.
 *
 * Entries of one take number are one entry: a repeated one is left out.
 * @param bridgeMs longest spacing of a group's polls that counts as unbroken, ms.
 */
export function recordsOf(entries: readonly TakenEntry[], bridgeMs: (group: string) => Milliseconds): LogRecord[] {
  const builder: Builder = { placed: [], boots: [], coverage: new Map(), silence: new Map() };
  const seen = new Set<TakeNumber>();
  for (const entry of entries) {
    if (seen.has(entry.take)) continue;
    seen.add(entry.take);
    // Boots stand in the order in which they were lived through, whichever record is placed first.
    bootIndex(builder.boots, entry.kind === "poll" ? entry.boot : entry.record.boot);
    if (entry.kind === "record") place(builder, entry.record, entry.take);
    else if (entry.answered) addAnswered(builder, entry, bridgeMs(entry.group));
    else addUnanswered(builder, entry);
  }
  for (const open of builder.coverage.values()) place(builder, coverageOf(open), open.first.take);
  return builder.placed.sort(byOrder).map(({ record }) => record);
}

function addAnswered(builder: Builder, poll: TakenPoll, bridge: Milliseconds): void {
  const open = builder.coverage.get(poll.group);
  if (open === undefined || !extend(open, poll, bridge)) {
    if (open !== undefined) place(builder, coverageOf(open), open.first.take);
    builder.coverage.set(poll.group, { first: poll, to: poll.mono, polls: 1, max_interval_ms: 0 });
  }
  builder.silence.delete(poll.group);
  const { boot, mono, at } = poll;
  for (const [tag, value, quality, source_at] of poll.changes) {
    const source = source_at === undefined ? {} : { source_at };
    place(builder, { kind: "r", boot, mono, at, tag, value, quality, ...source }, poll.take);
  }
}

function addUnanswered(builder: Builder, poll: TakenPoll): void {
  const last = builder.silence.get(poll.group);
  if (last !== undefined && poll.mono >= last && poll.mono - last < SILENCE_SPACING_MS) return;
  builder.silence.set(poll.group, poll.mono);
  place(builder, coverageOf({ first: poll, to: poll.mono, polls: 0, max_interval_ms: 0 }), poll.take);
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
  return { kind: "h", boot, mono, at, tag: group, value, quality: "good" };
}

function place(builder: Builder, record: LogRecord, take: TakeNumber): void {
  builder.placed.push({ order: [bootIndex(builder.boots, record.boot), record.mono, rankOf(record), take], record });
}

function bootIndex(boots: BootId[], boot: BootId): number {
  const index = boots.indexOf(boot);
  return index >= 0 ? index : boots.push(boot) - 1;
}

function rankOf(record: LogRecord): number {
  const first = ["t", "p", "h"].indexOf(record.kind);
  return first >= 0 ? first : 3;
}

function byOrder(a: Placed, b: Placed): number {
  for (let i = 0; i < a.order.length; i += 1) {
    const difference = (a.order[i] ?? 0) - (b.order[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
