import { recordText } from "../domain/record-text.ts";
import { message, type Text } from "../domain/message.ts";
import { openClock } from "../acquisition/clock.ts";
import { type Committer, createCommitter, type Leftover, leftoverOf } from "../acquisition/committer.ts";
import { createIntake, type Intake } from "../acquisition/intake.ts";
import { type BoothSetup, createPollWatch, type PolledBooth } from "../acquisition/link.ts";
import type { CounterOffsets } from "../acquisition/rules/change-filter.ts";
import { factText } from "../acquisition/rules/fact-text.ts";
import { expectedSerial, serialTagOf } from "../acquisition/rules/link.ts";
import { inForce } from "../acquisition/rules/parameters-in-force.ts";
import { type DeliveredBooth, newDelivery } from "../delivery/context.ts";
import { correctedNow, endOf, reachedTime, syncedOffset } from "../derivation/clock.ts";
import { counterOffsets } from "../derivation/filters/changes.ts";
import { entriesOf, seqOfEntry } from "../derivation/filters/entries.ts";
import type { DeriveState } from "../derivation/state.ts";
import { FILTER_TYPES } from "../domain/booth.ts";
import type { LinkState, LogReach, LogState } from "../domain/booth-state.ts";
import { linkDown } from "../domain/link-status.ts";
import type { Logger } from "../domain/machine.ts";
import { KIND } from "../domain/record.ts";
import type { Signals } from "../domain/signal.ts";
import { missingText, type StorageStatus } from "../domain/status.ts";
import type { BoothSummary } from "../domain/summary.ts";
import type { TakenEntry } from "../domain/taken.ts";
import type { EpochMs, Milliseconds, Serial, TakeNumber } from "../domain/units.ts";
import { openBinding } from "../provisioning/binding.ts";
import type { BoundBooth } from "../provisioning/context.ts";
import { summaryOf } from "../reports/summary.ts";
import type { Ingested, StreamInfo } from "../store/port.ts";
import type { Gateway } from "./gateway.ts";

/**
 * A running booth: the state that its loops share.
 *
 * A booth lives as long as it is configured. Its log, its binding and its delivery state are opened once and last for this whole
 * time. The link, the profile and the time zone may change with the configuration: `readBy` replaces the `setup`, `intake`, `watch`
 * and `parameters`, which is why they are read through getters at each use. The first poll after such a change logs every tag's value,
 * because a new intake doesn't know the values logged before.
 *
 * Each part of the state has one owner: acquisition writes `link`, the committer `log`, the sender `delivery`, provisioning `binding`.
 */
export interface Booth extends PolledBooth, DeliveredBooth, BoundBooth {
  readonly log: BoothLog;
  /** Logs the parameters in force if they differ from the ones logged last. */
  logParameters(): void;
  /** Switches to another configuration. The loop of the booth's link must have ended. */
  readBy(setup: BoothSetup): void;
  /** Releases the booth's signals. Called when the booth is no longer configured. */
  leave(): void;
}

/** The parts of a booth that depend on its configuration. */
type Reading = Pick<Booth, "setup" | "intake" | "watch" | "parameters">;

/**
 * Opens a booth: its stream, the readings that a crash left in the tail file, and its provisioning row. Logs the clock and the parameters.
 */
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
  // Records before the stream's new name count as acked. The name is stored already, but acks are stored only with the next commit.
  const info = await store.ack(opened.stream, (binding.row.stream?.from_seq ?? 1) - 1);
  const link: LinkState = { plc: linkDown(clock.wall(), message("plc.not_yet")), answered: 0, shows_serial: null };
  const delivery = newDelivery(await store.refused(info.stream));
  const { log, leftover } = await openLog(gateway, { groups: () => now.setup.parameters.groups, signals, info });
  const read = (by: BoothSetup, last_take: TakeNumber): Reading =>
    readingBy(by, { clock, tail, info, log, link, binding, last_take });
  let now = read(setup, Math.max(info.last_take, leftover.last_take));
  const record: Intake["record"] = (make) => now.intake.record(make);
  const tell: Booth["tell"] = (event, detail) =>
    record((when) => ({ kind: KIND.event, ...when, tag: "", value: { event, detail }, quality: "good" }));
  const logParameters = parameterLogger(log, record, () => now.parameters());
  const booth_clock = openClock(clock, { log, intake: { record }, leftover: leftover.clock });
  logParameters();
  const damaged = tail.damaged?.() ?? 0;
  if (damaged > 0) tell("tail_damaged", recordText("incident.tail_damaged", { count: damaged }));
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
    tell,
    readBy(next) {
      now = read(next, now.intake.last());
      Object.assign(link, { plc: linkDown(clock.wall(), message("plc.not_yet")), shows_serial: null, notes: [] });
      logParameters();
      signals.news.raise();
    },
  };
}

/** The parts of a booth that stay the same in every configuration, and the number of its last take (entry of the tail file). */
interface ReadingParts extends Pick<Gateway, "clock" | "tail">, Pick<Booth, "log" | "link" | "binding"> {
  readonly info: StreamInfo;
  readonly last_take: TakeNumber;
}

/**
 * Builds the parts that depend on the configuration. A new intake doesn't know the values logged before, so it logs each tag's first value.
 */
function readingBy(setup: BoothSetup, { clock, tail, info, log, link, binding, last_take }: ReadingParts): Reading {
  const { config, profile } = setup;
  const parameters = inForce(setup.parameters, binding);
  const serial = serialTagOf(profile);
  const expected = () => expectedSerial(binding.row, config.serial ?? null);
  const shown = (text: Serial | null): void => void (link.shows_serial = text);
  const taking = {
    clock,
    tail,
    stream: info,
    parameters,
    offsets: () => log.offsets,
    identity: serial === null ? null : { ...serial, expected, shown },
    taken: (entry: TakenEntry, urgent: boolean) => log.take(entry, urgent),
    isFull: () => log.committer.isFull(),
  };
  return { setup, intake: createIntake(taking, last_take), parameters, watch: createPollWatch(profile) };
}

/** Returns a function that logs the booth's parameters if they differ from the ones logged last. */
function parameterLogger(log: BoothLog, record: Intake["record"], inUse: Booth["parameters"]): () => void {
  let logged = log.parameters();
  return () => {
    const value = inUse();
    if (JSON.stringify(value) === JSON.stringify(logged)) return;
    logged = value;
    record((when) => ({ kind: KIND.parameters, ...when, tag: "", value, quality: "good" }));
  };
}

/** The state of a booth's log after its last commit. */
interface LogFields {
  reach: LogReach;
  /** State of the fold, which derives all facts from the log. */
  state: DeriveState;
  summary: BoothSummary | null;
  storage: StorageStatus | null;
  /** Use of each filter that the PLC's counter does not include. The object is replaced only when a value changes. */
  offsets: CounterOffsets;
  /** Number of takes (entries of the tail file) since the start. */
  taken: number;
  commits: number;
  pending: number;
  last_commit_at: EpochMs | null;
  commit_ms: Milliseconds | null;
  /** Reason why the store cannot commit; "" if it can. */
  trouble: Text;
}

/** A booth's log. `take` adds an entry; the other members describe the state after the last commit. */
export interface BoothLog extends Readonly<Omit<LogFields, "state">>, LogState {
  summaryAt(now: EpochMs): BoothSummary | null;
  take(entry: TakenEntry, urgent: boolean): void;
  readonly committer: Committer;
}

interface LogParts {
  readonly groups: () => BoothSetup["parameters"]["groups"];
  readonly signals: Signals;
  readonly info: StreamInfo;
}

/** Minimum time over which a gap in the readings is bridged. For slow groups of tags, the limit is three poll intervals. */
const LEAST_BRIDGE_MS = 15_000;

/** Opens a booth's log. Takes (polls and other entries) that a crash left in the tail file are committed first. */
async function openLog(gateway: Gateway, { groups, signals, info }: LogParts) {
  const { clock, random, store, tail } = gateway;
  const fields: LogFields = {
    reach: info,
    state: await store.state(info.stream),
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
      clock,
      random,
      store,
      tail,
      stream: info,
      interval_ms: gateway.commit_interval_ms,
      turned: gateway.pulse.loop(`store of ${info.booth}`),
      bridge: (group) => Math.max(LEAST_BRIDGE_MS, 3 * (groups()[group]?.poll_interval_ms ?? 0)),
      committed: committedIn(gateway, { booth: info.booth, fields, signals, pending: () => committer.pending() }),
      trouble: (reason) => {
        fields.trouble = reason;
        logTrouble(gateway.log, info.booth, reason);
        signals.news.raise();
      },
    },
    leftover,
  );
  const shown = gateway.summaryOf ?? summaryOf;
  const now = (): EpochMs => correctedNow(fields.state, clock);
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

/** Returns the takes in the tail file that a crash kept from being committed. */
function openLeftover({ tail, log }: Gateway, { booth, stream, last_take }: StreamInfo, state: DeriveState): Leftover {
  const leftover = leftoverOf(tail, { stream, last_take, end: endOf(state) });
  const entries = leftover.count;
  if (entries > 0) {
    const text = `${booth}: ${entries} polls taken before the last stop are being committed`;
    log.info({ event: "tail_replayed", booth, entries }, text);
  }
  return leftover;
}

/** Returns a function that handles the result of a commit. */
function committedIn(
  { clock, log, summaryOf: shown = summaryOf }: Gateway,
  { booth, fields, signals, pending }: { booth: string; fields: LogFields; signals: Signals; pending: () => number },
): (result: Ingested) => void {
  const warnOfMissing = missingNews(log, booth);
  return ({ newest_seq, sendable_seq, oldest_seq, renew_from = 0, storage, commit_ms, facts, present }) => {
    warnOfMissing(storage);
    const before = newsIn(fields.summary);
    const offsets = counterOffsets(present);
    const isSame = FILTER_TYPES.every((type) => fields.offsets[type] === offsets[type]);
    Object.assign(fields, {
      reach: { ...fields.reach, newest_seq, sendable_seq, oldest_seq, renew_from },
      state: present,
      storage,
      commit_ms,
      offsets: isSame ? fields.offsets : offsets,
      summary: shown(present, correctedNow(present, clock)),
      pending: pending(),
      commits: fields.commits + 1,
      last_commit_at: clock.wall(),
    } satisfies Partial<LogFields>);
    for (const fact of facts) {
      const text = factText(fact);
      if (text !== null) log.info({ event: "fact", booth, kind: fact.kind }, `${booth}: ${text}`);
    }
    if (facts.length > 0 || newsIn(fields.summary) !== before) signals.news.raise();
    else signals.progress.raise();
  };
}

/** Returns the fields of a summary whose change wakes waiting loops, as text. */
function newsIn(summary: BoothSummary | null): string {
  if (summary === null) return "";
  const { mode, in_gap, last_active_mode, firmware_version, plc_program, plc_program_revision, plc_serial } = summary;
  return [mode, in_gap, last_active_mode, firmware_version, plc_program, plc_program_revision, plc_serial].join(" ");
}

/** Returns a function that warns of records missing in the store, at the first commit and whenever more records are missing. */
export function missingNews(log: Logger, booth: string): (storage: StorageStatus) => void {
  let known = 0;
  return (storage) => {
    const { quarantined, health, missing = [] } = storage;
    const text = missingText(storage);
    const isMore = quarantined > known;
    known = quarantined;
    if (!isMore || text === null) return;
    const files = health.damaged_files.join(", ");
    const kept = files === "" ? text : message("text.todo", { text, todo: message("store.damaged_kept", { files }) });
    log.warn(
      { event: "records_missing", booth, count: quarantined, seqs: missing },
      message("text.at", { place: booth, text: kept }),
    );
  };
}

function logTrouble(log: Logger, booth: string, reason: Text): void {
  const text = message("store.no_commit", { booth, reason });
  if (reason === "") log.info({ event: "store_well", booth }, `${booth}: the store commits again`);
  else log.error({ event: "store_trouble", booth, reason }, text);
}
