import { type Text, message, isSameText, mapWords } from "../domain/message.ts";
import type { OutputConfig } from "../config/port.ts";
import { type Refusal, refusalText } from "../delivery/mqtt/publish.ts";
import { waitingForClock } from "../domain/booth-state.ts";
import { errorText } from "../domain/messages/message-error.ts";
import { ServiceLinkError, type ServiceLinkFault } from "../domain/link-error.ts";
import { linkDown, stillDown } from "../domain/link-status.ts";
import type { Placed } from "../domain/record.ts";
import { fullJitter } from "../domain/retrying.ts";
import { isOver } from "../domain/signal.ts";
import type { LinkStatus, OutputStatus } from "../domain/status.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { BoothId, EpochMs, Milliseconds, Seq } from "../domain/units.ts";
import type { Cursors } from "./cursors.ts";
import type { BrokerSession, Message, OutputBooth, OutputMachine } from "./port.ts";
import { type Figure, figuresOf } from "./rules/figures.ts";

/**
 * A speaker makes the messages of one session, for the output's kind: plain MQTT (`plain.ts`) or Sparkplug B (`sparkplug.ts`). The session
 * loop below makes a new speaker for each session and calls `begin` once. After that, two loops per booth call the other functions.
 * Functions that return messages may count or number them, so their messages must be sent at once and in order.
 */
export interface Speaker {
  /** The message that the broker publishes if the session breaks off. */
  readonly will: Message;
  /** Sends the first messages. Resolves when data may follow. */
  begin(session: BrokerSession, signal: AbortSignal): Promise<void>;
  /** Returns the messages for records. Records after `confirmed_to` carry times of an unconfirmed clock. */
  records(booth: OutputBooth, records: readonly Placed[], confirmed_to: Seq): readonly Message[];
  /** Returns all current values again. Called when the clock is confirmed after values were sent with an unconfirmed time. */
  confirmed(booth: OutputBooth, figures: readonly Figure[]): readonly Message[];
  /** Returns messages for changed figures, births and announcements. */
  news(booth: OutputBooth, figures: readonly Figure[]): readonly Message[];
  /** Returns whether the booth's records may be sent now; absent means always. */
  readonly isReady?: (booth: OutputBooth) => boolean;
  /** Resolves if the session must end, for example because the primary host is offline. */
  readonly lost?: Promise<ServiceLinkError>;
  /** Returns the last messages of a session that ends normally. */
  readonly last: () => readonly Message[];
  /** True if the output skips records that were stored while it had no session. */
  readonly skips_backlog: boolean;
}

interface Range {
  readonly from: Seq;
  readonly to: Seq;
}

/** The state of an output's connection, for `status` and the log. */
export interface OutputLink {
  link: LinkStatus;
  /** The server that the output is connected to, or is trying to reach. */
  url: string;
  /** The last logged reason why each server can't be used. Cleared when the link is up. */
  readonly reasons: Map<string, Text>;
}

/** The state that `status` shows and that an output's loops share. */
export interface OutputState extends OutputLink {
  sent: number;
  ignored: number;
  /** The newest skipped ranges of records, by booth. */
  passed_over: Map<BoothId, readonly Range[]>;
  /** The messages of this session that the broker refused, and the last refusal; null if there were none. */
  skipped: { readonly count: number; readonly since: EpochMs; readonly last: Refusal } | null;
  /** Topics of refused messages that were already logged. */
  readonly logged_topics: Set<string>;
  /** Booths whose last messages carry times of an unconfirmed clock. */
  readonly unconfirmed: Set<BoothId>;
}

/**
 * An output to an MQTT broker. It reads only durable records, from its own cursor in each booth's log, so it delays neither polls nor the
 * delivery to the service. It does not keep any row from being deleted.
 *
 * Life cycle: `outputLoop` runs one session after another until its signal aborts. A session connects, lets its speaker send the first
 * messages, and then runs two loops for each booth: `followLog` sends the records after the cursor, `sendFigures` the figures. The cursor
 * moves over records only after the broker has confirmed their messages. A kill therefore sends at most the last `MOVE_LIMIT` records twice
 * (QoS 1), and loses none.
 *
 * Records that retention or damage removed before they were sent are reported as skipped ranges. Any failure ends the session. The next
 * session starts after a backoff, at the next server if there are several.
 */
export interface Output {
  readonly machine: OutputMachine;
  readonly config: OutputConfig;
  readonly booths: readonly OutputBooth[];
  readonly cursors: Cursors;
  readonly state: OutputState;
}

/** The part of a session that serves one booth. */
interface Feed {
  readonly output: Output;
  readonly session: BrokerSession;
  readonly speaker: Speaker;
  readonly booth: OutputBooth;
}

const RETRY = { base_ms: 1_000, cap_ms: 60_000 };
/** The duration after which a session resets the backoff. */
const STABLE_MS: Milliseconds = 60_000;
/** The maximum number of records per read of the store. Each read waits in a queue with the commits. */
const READ_LIMIT = 500;
/** The number of records after which the cursor moves, which is the most that a kill sends twice. */
const MOVE_LIMIT = 64;
/** The maximum number of skipped ranges that `status` shows. The log shows all of them. */
const MOST_RANGES = 8;
/** The interval at which figures are sent that change only with time. */
const FIGURES_MS: Milliseconds = MINUTE_MS;
/** The maximum number of topics whose refused messages are logged: enough for the tags, figures and announcements of a booth. */
const MOST_LOGGED_TOPICS = 200;

export function newOutputState(now: EpochMs, { url }: Pick<OutputConfig, "url">): OutputState {
  return {
    link: linkDown(now, message("plc.not_yet")),
    url,
    reasons: new Map(),
    sent: 0,
    ignored: 0,
    passed_over: new Map(),
    unconfirmed: new Set(),
    skipped: null,
    logged_topics: new Set(),
  };
}

/** Returns the output's servers. Sparkplug may have several servers for one host. */
export function serversOf({ url, sparkplug }: OutputConfig): readonly string[] {
  return [url, ...(sparkplug?.more_urls ?? [])];
}

export function statusOf({ config, state, booths, cursors }: Output): OutputStatus {
  return {
    name: config.name,
    kind: config.sparkplug === undefined ? "mqtt" : "sparkplug",
    url: state.url,
    link: shownLink(state),
    sent: state.sent,
    ignored: state.ignored,
    booths: booths.map(({ state: { booth, log } }) => {
      const { stream, newest_seq } = log.reach;
      const after = cursors.after(config.name, stream) ?? newest_seq;
      return { booth, waiting: Math.max(0, newest_seq - after), passed_over: state.passed_over.get(booth) ?? [] };
    }),
  };
}

/** Returns the link, as degraded if the broker refuses some messages. */
function shownLink({ link, skipped }: OutputState): LinkStatus {
  if (link.kind !== "up" || skipped === null) return link;
  const { count, since, last } = skipped;
  const reason = message("output.skipped", { count, reason: refusalText(last) });
  return { kind: "degraded", since, reason, advice: message(`output.check.skipped_${last.kind}`) };
}

/** Counts a refused message, and logs the first refusal of each topic. */
function noteRefusal({ state, machine, config }: Output, last: Refusal): void {
  const { topic } = last;
  const { count = 0, since = machine.clock.wall() } = state.skipped ?? {};
  state.skipped = { count: count + 1, since, last };
  if (state.logged_topics.has(topic) || state.logged_topics.size >= MOST_LOGGED_TOPICS) return;
  state.logged_topics.add(topic);
  const text = message("output.log.skips", {
    name: config.name,
    reason: refusalText(last),
    advice: message(`output.check.skipped_${last.kind}`),
  });
  machine.log.warn({ event: "output_skipped", output: config.name, ...last }, text);
}

/** Runs sessions until the signal aborts. After a failure, waits and tries the next server. */
export async function outputLoop(output: Output, speaker: () => Speaker, signal: AbortSignal): Promise<void> {
  const { config, state, machine } = output;
  const { clock, random } = machine;
  const servers = serversOf(config);
  let failures = 0;
  for (let turn = 0; !isOver(signal); turn += 1) {
    const started = clock.mono();
    state.url = servers[turn % servers.length] ?? config.url;
    try {
      await runSession(output, speaker(), signal);
    } catch (error) {
      if (isOver(signal)) break;
      if (clock.mono() - started >= STABLE_MS) failures = 0;
      // Tries each server once before the wait grows.
      const wait = fullJitter(Math.floor(failures / servers.length), RETRY, () => random.next());
      failures += 1;
      const reason = mapWords(errorText(error), (words) => machine.scrubber.scrub(words));
      const advice = adviceOn(error instanceof ServiceLinkError ? error.fault : "file");
      reportDown(output, { reason, advice }, { failures, wait });
      await clock.sleep(wait, signal).catch(() => undefined);
    }
  }
}

async function runSession(output: Output, speaker: Speaker, signal: AbortSignal): Promise<void> {
  const { machine, config, booths, state } = output;
  const session = await machine.connect(
    { ...config, url: state.url },
    {
      will: speaker.will,
      ignored: () => void (state.ignored += 1),
      refused: (refusal) => noteRefusal(output, refusal),
      signal,
    },
  );
  // Forgets the last session's refusals, because limits and access rules may have changed.
  state.skipped = null;
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const loops: Promise<unknown>[] = [];
  const runLoops = async (): Promise<void> => {
    for (const booth of booths) noteUnconfirmed(output, booth);
    await speaker.begin(session, both);
    state.link = { kind: "up", since: machine.clock.wall() };
    reportUp(output);
    for (const booth of booths) {
      const feed: Feed = { output, session, speaker, booth };
      loops.push(followLog(feed, both), sendFigures(feed, both));
    }
    await Promise.all(loops);
  };
  const fail = (reason: ServiceLinkError): Promise<never> => Promise.reject(reason);
  try {
    await Promise.race([runLoops(), session.ended.then(fail), speaker.lost?.then(fail) ?? session.ended.then(fail)]);
  } finally {
    ending.abort();
    await settled(loops, machine);
    await session.close(speaker.last());
  }
}

/**
 * The time for outstanding confirmations when a session ends. The cursor then moves over the confirmed messages, so they are not sent
 * twice. The time is less than half of the 500 ms that an orderly stop may take.
 */
const SETTLE_WITHIN_MS: Milliseconds = 250;

async function settled(loops: readonly Promise<unknown>[], { clock }: OutputMachine): Promise<void> {
  const late = Promise.withResolvers<undefined>();
  const cancel = clock.after(SETTLE_WITHIN_MS, () => late.resolve(undefined));
  await Promise.race([Promise.allSettled(loops), late.promise]);
  cancel();
}

/** Sends the booth's records after the cursor, as they become durable. */
async function followLog(feed: Feed, signal: AbortSignal): Promise<never> {
  await setCursor(feed);
  for (;;) {
    while (await sendNext(feed, signal));
    if (await sendConfirmed(feed)) continue;
    await feed.booth.state.progress.wait(signal);
  }
}

function noteUnconfirmed({ state }: Output, { state: { booth, log } }: OutputBooth): void {
  if (waitingForClock(log.reach) > 0) state.unconfirmed.add(booth);
}

/** Sends the current values again if the clock was confirmed after they were sent. Returns whether it sent any values. */
async function sendConfirmed({ output: { state }, session, speaker, booth }: Feed): Promise<boolean> {
  const { booth: id, log } = booth.state;
  const isDue = (): boolean => state.unconfirmed.has(id) && waitingForClock(log.reach) === 0;
  if (!isDue()) return false;
  const figures = await figuresNow(booth);
  if (!isDue()) return false;
  const messages = speaker.confirmed(booth, figures);
  await session.send(messages);
  state.sent += messages.length;
  state.unconfirmed.delete(id);
  return true;
}

/** Sets the cursor in a log that is new to the output, or moves it past a backlog that the output skips. */
async function setCursor({ output, booth, speaker }: Feed): Promise<void> {
  const { cursors, config } = output;
  const { stream, newest_seq, renew_from = 0 } = booth.state.log.reach;
  if (renew_from > 0) cursors.salvaged(config.name, stream, renew_from);
  const after = cursors.after(config.name, stream);
  if (after === null) {
    const since = config.since === undefined || speaker.skips_backlog ? null : Date.parse(config.since);
    const first = since === null ? newest_seq : (await firstSince(output, booth, since)) - 1;
    cursors.began(config.name, stream, first);
  } else if (speaker.skips_backlog && after < newest_seq) skipTo(output, booth, newest_seq);
}

/**
 * Returns the first sequence number that was recorded at `since` or later. Assumes that records are in order of time, which holds unless
 * the clock was set.
 */
async function firstSince({ machine }: Output, { state }: OutputBooth, since: EpochMs): Promise<Seq> {
  const { stream, oldest_seq, sendable_seq } = state.log.reach;
  let low = oldest_seq;
  let high = sendable_seq + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [record] = await machine.store.readCommitted(stream, middle, 1);
    if (record === undefined || record.time >= since) high = middle;
    else low = record.seq + 1;
  }
  return low;
}

/** Sends the next records of a booth. Returns false if no records are waiting. */
async function sendNext({ output, session, speaker, booth }: Feed, signal: AbortSignal): Promise<boolean> {
  const { machine, cursors, config, state } = output;
  const isMute = (): boolean => speaker.isReady?.(booth) === false;
  if (isMute()) return false;
  // Reads the limits before the records. A record whose time is confirmed during the read is then sent as unconfirmed, never the reverse.
  const { stream, oldest_seq, newest_seq, sendable_seq } = booth.state.log.reach;
  const after = cursors.after(config.name, stream) ?? newest_seq;
  // Skips records that retention has removed, because an output does not keep rows from being deleted.
  if (after + 1 < oldest_seq) {
    skipTo(output, booth, oldest_seq - 1);
    return true;
  }
  if (after >= newest_seq) return false;
  // Includes records that wait for a confirmed clock, because only the service needs their corrected time. Their sequence numbers don't
  // change.
  const records = await machine.store.readCommitted(stream, after + 1, READ_LIMIT);
  for (let at = 0; at < records.length; at += MOVE_LIMIT) {
    signal.throwIfAborted();
    // Checks again, because the state may have changed during the read or while the broker was confirming.
    if (isMute()) return false;
    const some = records.slice(at, at + MOVE_LIMIT);
    const messages = speaker.records(booth, some, sendable_seq);
    noteUnconfirmed(output, booth);
    await session.send(messages);
    state.sent += messages.length;
    for (const hole of holesIn(cursors.after(config.name, stream) ?? after, some)) reportSkipped(output, booth, hole);
    cursors.moved(config.name, stream, some.at(-1)?.seq ?? after);
  }
  const to = records.at(-1)?.seq ?? newest_seq;
  if (records.length === 0) cursors.moved(config.name, stream, to);
  const isBehind = to < newest_seq;
  if (isBehind) await machine.clock.sleep((records.length / config.max_records_per_s) * 1000, signal);
  return isBehind;
}

/** Returns the ranges of records that damage to the store removed from the log. */
function holesIn(after: Seq, records: readonly Placed[]): readonly Range[] {
  return records.flatMap(({ seq }, index) => {
    const before = records[index - 1]?.seq ?? after;
    return seq > before + 1 ? [{ from: before + 1, to: seq - 1 }] : [];
  });
}

function skipTo(output: Output, booth: OutputBooth, to: Seq): void {
  const { cursors, config } = output;
  const { stream } = booth.state.log.reach;
  reportSkipped(output, booth, { from: (cursors.after(config.name, stream) ?? to) + 1, to });
  cursors.moved(config.name, stream, to);
}

function reportSkipped({ config, state, machine }: Output, { state: { booth } }: OutputBooth, range: Range): void {
  state.passed_over.set(booth, [...(state.passed_over.get(booth) ?? []), range].slice(-MOST_RANGES));
  const text = `output ${config.name}: records ${range.from} to ${range.to} of ${booth} were passed over`;
  machine.log.warn({ event: "output_passed_over", output: config.name, booth, ...range }, text);
}

/** Sends changed figures when the booth has news, and at least once a minute. */
async function sendFigures({ output, session, speaker, booth }: Feed, signal: AbortSignal): Promise<never> {
  for (;;) {
    const figures = await figuresNow(booth);
    noteUnconfirmed(output, booth);
    const messages = speaker.news(booth, figures);
    await session.send(messages);
    output.state.sent += messages.length;
    await booth.state.news.wait(signal, FIGURES_MS);
  }
}

export async function figuresNow(booth: OutputBooth): Promise<readonly Figure[]> {
  const durations = await booth.durationsToday();
  const { log, link } = booth.state;
  const { summary } = log;
  return figuresOf({ summary, plc: link.plc, durations, waiting_for_clock: waitingForClock(log.reach) });
}

type Reporting = Pick<Output, "machine" | "config"> & { readonly state: OutputLink };

export function reportUp({ state, machine, config }: Reporting): void {
  state.reasons.clear();
  machine.log.info({ event: "output_up", output: config.name }, `output ${config.name} is up at ${state.url}`);
}

/** Shows the link as down until the next try, and logs each new reason of a server once. */
export function reportDown(
  { state, machine, config }: Reporting,
  { reason, advice }: { readonly reason: Text; readonly advice: Text },
  { failures, wait }: { readonly failures: number; readonly wait: Milliseconds },
): void {
  const since = machine.clock.wall();
  const down = { ...linkDown(since, reason, advice), attempt: failures, next_try_at: since + wait };
  state.link = stillDown(state.link, down);
  if (isSameText(state.reasons.get(state.url) ?? "", reason)) return;
  state.reasons.set(state.url, reason);
  const text = message("output.log.down", { name: config.name, reason, advice });
  machine.log.warn({ event: "output_down", output: config.name, reason }, text);
}

/** Returns advice for a fault. Some faults need no action, because the output retries. */
function adviceOn(fault: ServiceLinkFault): Text {
  switch (fault) {
    case "closed":
    case "no_ack":
    case "protocol":
      return message("output.kept");
    default:
      return message(`output.check.${fault}`);
  }
}
