import { type BoothSetup, type PolledBooth, createPollWatch } from "../acquisition/link.ts";
import { openClock } from "../acquisition/clock.ts";
import { inForce } from "../acquisition/rules/parameters-in-force.ts";
import { createIntake, type Intake } from "../acquisition/intake.ts";
import type { Tail } from "../acquisition/port.ts";
import { expectedSerial, serialTagOf } from "../acquisition/rules/link.ts";
import { newDelivery, type DeliveredBooth } from "../delivery/context.ts";
import { FILTER_TYPES } from "../domain/booth.ts";
import type { LinkState, LogReach, LogState } from "../domain/booth-state.ts";
import { linkDown } from "../domain/link-status.ts";
import type { Parameters } from "../domain/parameters.ts";
import type { Serial, BoothId, EpochMs, Milliseconds, TakeNumber } from "../domain/units.ts";
import { openBinding } from "../provisioning/binding.ts";
import type { BoundBooth } from "../provisioning/context.ts";
import type { Gateway } from "./gateway.ts";
import { type Committer, createCommitter, type Leftover, leftoverOf } from "../acquisition/committer.ts";
import type { CounterOffsets } from "../acquisition/rules/change-filter.ts";
import { factText } from "../acquisition/rules/fact-text.ts";
import { correctedNow, endOf, reachedTime, syncedOffset } from "../derivation/clock.ts";
import { counterOffsets, entriesOf, seqOfEntry } from "../derivation/filters/changes.ts";
import type { DeriveState } from "../derivation/state.ts";
import type { TakenEntry } from "../domain/taken.ts";
import type { Logger } from "../domain/machine.ts";
import { KIND, type Fact } from "../domain/record.ts";
import type { Signals } from "../domain/signal.ts";
import { missingText, type StorageStatus } from "../domain/status.ts";
import type { BoothSummary } from "../domain/summary.ts";
import { summaryOf } from "../reports/summary.ts";
import type { Ingested, StreamInfo } from "../store/port.ts";
import { say } from "../domain/sentences.ts";

/** A running booth: what its loops share, each part with its owner. */
export interface Booth extends PolledBooth, DeliveredBooth, BoundBooth {
  readonly log: BoothLog;
  /** Logs the parameters now in force where they differ from the last logged ones. */
  logParameters(): void;
  /**
   * It is read by another configuration from now on: link, profile, time zone. Log, binding and delivery go on untouched. Its link's
   * loop must have ended.
   */
  readBy(setup: BoothSetup): void;
  /** It isn't configured any more: nobody waits for its news. */
  leave(): void;
}

/** A booth as one configuration has it read; another takes its place without the booth's end. */
type Reading = Pick<Booth, "setup" | "intake" | "watch" | "parameters">;

/** Opens a booth: its stream, what a crash left in the tail, its provisioning row; then logs clock and parameters. */
export async function openBooth(
  gateway: Gateway,
  setup: BoothSetup,
  bound: Pick<BoundBooth, "gateway" | "all">,
): Promise<Booth> {
  const { clock, store, tail } = gateway;
  const booth = setup.config.id;
  const { leave, ...signals } = gateway.own();
  const opened = await store.openStream(booth);
  const binding = await openBinding(gateway, opened);
  // Acks are stored with the next commit, a new name at once: what goes under it isn't begun before all in front of it was acked.
  const info = await store.ack(opened.stream, (binding.row.stream?.from_seq ?? 1) - 1);
  const link: LinkState = { plc: linkDown(clock.wall(), say("plc.not_yet")), answered: 0, shows_serial: null };
  const delivery = newDelivery(info, await store.refused(info.stream));
  const { log, leftover } = await openLog(gateway, { groups: () => now.setup.parameters.groups, signals, info });
  const read = (by: BoothSetup, last_take: TakeNumber): Reading =>
    readingBy(by, { clock, tail, info, log, link, binding, last_take });
  let now = read(setup, Math.max(info.last_take, leftover.last_take));
  const record: Intake["record"] = (make) => now.intake.record(make);
  const logParameters = parameterLogger(log, record, () => now.parameters());
  const booth_clock = openClock(clock, { log, intake: { record }, leftover: leftover.clock });
  logParameters();
  tellDamagedTail(tail, record);
  return {
    ...bound,
    link,
    log,
    delivery,
    binding,
    leave,
    logParameters,
    get setup() {
      return now.setup;
    },
    get intake() {
      return now.intake;
    },
    get watch() {
      return now.watch;
    },
    get device() {
      return now.setup.profile;
    },
    get own_tz() {
      return now.setup.parameters.tz;
    },
    parameters: () => now.parameters(),
    state: {
      booth,
      ...signals,
      link,
      log,
      delivery,
      binding,
      get address() {
        return now.setup.address;
      },
    },
    clock: booth_clock,
    tell: (event, detail) => tellEvent(record, { event, detail }),
    readBy(next) {
      now = read(next, now.intake.last());
      Object.assign(link, { plc: linkDown(clock.wall(), say("plc.not_yet")), shows_serial: null, notes: [] });
      logParameters();
      signals.news.raise();
    },
  };
}

/** Returns a function that logs the booth's parameters if they differ from those logged last. */
function parameterLogger(
  log: Pick<Booth["log"], "parameters">,
  record: Intake["record"],
  inUse: Booth["parameters"],
): () => void {
  let logged = log.parameters();
  return () => {
    const value = inUse();
    if (JSON.stringify(value) === JSON.stringify(logged)) return;
    logged = value;
    record((when) => ({ kind: KIND.parameters, ...when, tag: "", value, quality: "good" }));
  };
}

/** What of a booth stays whatever its configuration says, and the number of the take before the next. */
interface Read extends Pick<Gateway, "clock" | "tail">, Pick<Booth, "log" | "link" | "binding"> {
  readonly info: StreamInfo;
  readonly last_take: TakeNumber;
}

/** What was logged last isn't known to it: each tag's first value is logged. */
function readingBy(setup: BoothSetup, { clock, tail, info, log, link, binding, last_take }: Read): Reading {
  const { config, profile } = setup;
  const parameters = inForce(setup.parameters, binding);
  const serial = serialTagOf(profile);
  const expected = (): Serial | null => expectedSerial(binding.row, config.serial ?? null);
  const intake = createIntake(
    {
      clock,
      tail,
      stream: info,
      parameters,
      offsets: () => log.offsets,
      identity: serial === null ? null : { ...serial, expected, shown: (text) => (link.shows_serial = text) },
      taken: (entry, urgent) => log.take(entry, urgent),
      isFull: () => log.committer.isFull(),
    },
    last_take,
  );
  return { setup, intake, parameters, watch: createPollWatch(profile) };
}

function tellEvent(record: Intake["record"], value: { readonly event: string; readonly detail: string }): void {
  record((when) => ({ kind: KIND.event, ...when, tag: "", value, quality: "good" }));
}

/** Readings that were taken and are in no log: whoever looks at this time must know. */
function tellDamagedTail(tail: Tail, record: Intake["record"]): void {
  const damaged = tail.damaged?.() ?? 0;
  if (damaged === 0) return;
  const detail = say("incident.tail_damaged", { count: damaged });
  tellEvent(record, { event: "tail_damaged", detail });
}

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
async function openLog(
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
    const { parameters = fields.state.parameters } = present;
    const state = { ...present, parameters };
    Object.assign(fields, {
      reach: { ...fields.reach, newest_seq, sendable_seq, oldest_seq, renew_from },
      state,
      storage,
      commit_ms,
      offsets: kept(fields.offsets, counterOffsets(state)),
      summary: shown(state, correctedNow(state, clock)),
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
