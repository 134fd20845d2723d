import { FILTER_TYPES } from "../domain/booth.ts";
import type { LogReach, LogState } from "../domain/booth-state.ts";
import type { Parameters } from "../domain/parameters.ts";
import type { BoothId, EpochMs, Milliseconds } from "../domain/units.ts";
import type { Gateway } from "./gateway.ts";
import { type Committer, createCommitter, type Leftover, leftoverOf } from "../acquisition/committer.ts";
import type { CounterOffsets } from "../acquisition/rules/change-filter.ts";
import { factText } from "../acquisition/rules/fact-text.ts";
import { correctedNow, endOf, reachedTime, syncedOffset } from "../derivation/clock.ts";
import { counterOffsets } from "../derivation/filters/changes.ts";
import { entriesOf, seqOfEntry } from "../derivation/filters/entries.ts";
import type { DeriveState } from "../derivation/state.ts";
import type { TakenEntry } from "../domain/taken.ts";
import type { Logger } from "../domain/machine.ts";
import type { Fact } from "../domain/record.ts";
import type { Signals } from "../domain/signal.ts";
import { missingText, type StorageStatus } from "../domain/status.ts";
import type { BoothSummary } from "../domain/summary.ts";
import { summaryOf } from "../reports/summary.ts";
import type { Ingested, StreamInfo } from "../store/port.ts";

/** Warns of records that are missing in a booth's store: at the first commit after a start, and again whenever more are found. */
export function missingNews(log: Logger, booth: string): (storage: StorageStatus) => void {
  let told = 0;
  return (storage) => {
    const { quarantined, health, missing = [] } = storage;
    const text = missingText(storage);
    const isMore = quarantined > told;
    told = quarantined;
    if (!isMore || text === null) return;
    const kept =
      health.damaged_files.length === 0 ? "" : `; the damaged file is kept: ${health.damaged_files.join(", ")}`;
    log.warn({ event: "records_missing", booth, count: quarantined, seqs: missing }, `${booth}: ${text}${kept}`);
  };
}

/** How a booth's log does, and what its commits brought. */
interface LogFields {
  reach: LogReach;
  /** The fold's. */
  state: DeriveState;
  summary: BoothSummary | null;
  storage: StorageStatus | null;
  /** What filters' counters don't show; another object only when it changed. */
  offsets: CounterOffsets;
  /** Since the start, as `commits`. */
  taken: number;
  commits: number;
  pending: number;
  last_commit_at: EpochMs | null;
  commit_ms: Milliseconds | null;
  /** Why the store can't commit; "": it can. */
  trouble: string;
}

/** A booth's log: what was taken goes in, and who asks what the fold makes of it is answered by its state after the last commit. */
export interface BoothLog extends Readonly<Omit<LogFields, "state">>, LogState {
  summaryAt(now: EpochMs): BoothSummary | null;
  take(entry: TakenEntry, urgent: boolean): void;
  readonly committer: Committer;
}

interface LogParts {
  readonly groups: () => Parameters["groups"];
  readonly signals: Signals;
  readonly info: StreamInfo;
}

/** A gap up to three polls, 15 s at least, is bridged. */
const LEAST_BRIDGE_MS = 15_000;

/** Opens a booth's log, with what a crash left in the tail: that is committed first. */
export async function openLog(
  gateway: Gateway,
  { groups, signals, info }: LogParts,
): Promise<{ readonly log: BoothLog; readonly leftover: Leftover }> {
  const fields: LogFields = {
    reach: info,
    state: await gateway.store.state(info.stream),
    summary: null,
    storage: null,
    offsets: {},
    taken: 0,
    commits: 0,
    pending: 0,
    last_commit_at: null,
    commit_ms: null,
    trouble: "",
  };
  const leftover = openLeftover(gateway, info, fields.state);
  const committer = createCommitter(
    {
      clock: gateway.clock,
      random: gateway.random,
      store: gateway.store,
      tail: gateway.tail,
      stream: info,
      interval_ms: gateway.commit_interval_ms,
      turned: gateway.pulse.loop(`store of ${info.booth}`),
      bridge: (group) => Math.max(LEAST_BRIDGE_MS, 3 * (groups()[group]?.poll_interval_ms ?? 0)),
      committed: committedIn(gateway, { booth: info.booth, fields, signals, pending: () => committer.pending() }),
      trouble: (reason) => {
        fields.trouble = reason;
        tellTrouble(gateway.log, info.booth, reason);
        signals.news.raise();
      },
    },
    leftover,
  );
  const shown = gateway.summaryOf ?? summaryOf;
  const now = (): EpochMs => correctedNow(fields.state, gateway.clock);
  const log: BoothLog = Object.assign(fields, {
    committer,
    now,
    parameters: () => fields.state.parameters,
    reached: () => reachedTime(fields.state),
    syncedOffset: (boot: string) => syncedOffset(fields.state, boot),
    incidents: () => Object.values(fields.state.incidents),
    entries: () => entriesOf(fields.state, now()),
    seqOfEntry: (id: string) => seqOfEntry(fields.state, id),
    summaryAt: (at: EpochMs) => shown(fields.state, at),
    cursorMoved: (acked_seq: number) => void (fields.reach = { ...fields.reach, acked_seq }),
    take(entry: TakenEntry, urgent: boolean) {
      fields.taken += 1;
      committer.add(entry, urgent);
      fields.pending = committer.pending();
    },
  });
  return { log, leftover };
}

/** Finds what a crash left in the tail and no commit holds. */
function openLeftover({ tail, log }: Gateway, info: StreamInfo, state: DeriveState): Leftover {
  const { booth, stream, last_take } = info;
  const leftover = leftoverOf(tail, { stream, last_take, end: endOf(state) });
  const entries = leftover.count;
  if (entries > 0) {
    const text = `${booth}: ${entries} polls taken before the last stop are being committed`;
    log.info({ event: "tail_replayed", booth, entries }, text);
  }
  return leftover;
}

function committedIn(
  { clock, log, summaryOf: shown = summaryOf }: Gateway,
  { booth, fields, signals, pending }: { booth: BoothId; fields: LogFields; signals: Signals; pending: () => number },
): (result: Ingested) => void {
  const tellMissing = missingNews(log, booth);
  return ({ newest_seq, sendable_seq, oldest_seq, renew_from = 0, storage, commit_ms, facts, present }) => {
    tellMissing(storage);
    const before = newsIn(fields.summary);
    Object.assign(fields, {
      reach: { ...fields.reach, newest_seq, sendable_seq, oldest_seq, renew_from },
      state: present,
      storage,
      commit_ms,
      offsets: kept(fields.offsets, counterOffsets(present)),
      summary: shown(present, correctedNow(present, clock)),
      pending: pending(),
      commits: fields.commits + 1,
      last_commit_at: clock.wall(),
    } satisfies Partial<LogFields>);
    tellFacts(log, booth, facts);
    if (facts.length > 0 || newsIn(fields.summary) !== before) signals.news.raise();
    else signals.progress.raise();
  };
}

/** What others than those who wait for records go by. */
function newsIn(summary: BoothSummary | null): string {
  if (summary === null) return "";
  const { mode, in_gap, last_active_mode, firmware_version, plc_program, plc_program_revision, plc_serial } = summary;
  return [mode, in_gap, last_active_mode, firmware_version, plc_program, plc_program_revision, plc_serial].join(" ");
}

/** The object before where nothing changed, so that others see by it that nothing did. */
function kept(before: CounterOffsets, after: CounterOffsets): CounterOffsets {
  return FILTER_TYPES.every((type) => before[type] === after[type]) ? before : after;
}

function tellFacts(log: Logger, booth: BoothId, facts: readonly Fact[]): void {
  for (const fact of facts) {
    const text = factText(fact);
    if (text !== null) log.info({ event: "fact", booth, kind: fact.kind }, `${booth}: ${text}`);
  }
}

function tellTrouble(log: Logger, booth: BoothId, reason: string): void {
  const text = `${booth}: the store can't commit: ${reason}; readings are kept in memory and in the tail file`;
  if (reason === "") log.info({ event: "store_well", booth }, `${booth}: the store commits again`);
  else log.error({ event: "store_trouble", booth, reason }, text);
}
