import type { OutputConfig } from "../config/port.ts";
import { waitingForClock } from "../domain/booth-state.ts";
import { type Refusal, refusalText } from "../delivery/mqtt/publish.ts";
import { ServiceLinkError, type ServiceLinkFault } from "../domain/link-error.ts";
import { linkDown, stillDown } from "../domain/link-status.ts";
import type { Placed } from "../domain/record.ts";
import { fullJitter } from "../domain/retrying.ts";
import { isOver } from "../domain/signal.ts";
import type { LinkStatus, OutputStatus } from "../domain/status.ts";
import type { BoothId, EpochMs, Milliseconds, Seq } from "../domain/units.ts";
import type { Cursors } from "./cursors.ts";
import type { BrokerSession, DurationsToday, OutputBooth, OutputMachine } from "./port.ts";
import { type Figure, figuresOf } from "./rules/figures.ts";
import type { Message } from "./port.ts";
import { say } from "../domain/sentences.ts";
import { errorMessage } from "../domain/error-message.ts";

/** One output: its session with its broker, and how it follows the logs. It holds nobody up: it reads, and only what is durable. */

/** What an output says, by its kind. Asked anew for each session. */
export interface Speaker {
  /** The broker says it where the session breaks off. */
  readonly will: Message;
  /** First words; resolves once data may follow. */
  begin(session: BrokerSession, signal: AbortSignal): Promise<void>;
  /** Messages for the records. The time of records after `confirmed_to` comes from an unconfirmed clock. */
  records(booth: OutputBooth, records: readonly Placed[], confirmed_to: Seq): readonly Message[];
  /** The booth's current values once more: the clock is confirmed, and some messages came before that. To be sent at once. */
  confirmed(booth: OutputBooth, figures: readonly Figure[]): readonly Message[];
  /** Figures and the like, as far as they have changed since they were told last. To be sent as soon as they are made, as records are. */
  news(booth: OutputBooth, figures: readonly Figure[]): readonly Message[];
  /** Whether the booth's records may be told now; absent: always. */
  readonly ready?: (booth: OutputBooth) => boolean;
  /** Resolves where the session has no sense any more. */
  readonly lost?: Promise<ServiceLinkError>;
  /** Last words of a session that ends in order. */
  readonly last: () => readonly Message[];
  /** What was read while nobody could hear it is passed over. */
  readonly passes_over: boolean;
}

interface Range {
  readonly from: Seq;
  readonly to: Seq;
}

/** What is told of an output, and what its loops share. */
export interface OutputState {
  link: LinkStatus;
  /** The server that it is connected to, or tries. */
  url: string;
  /** Why each server can't be used, as far as that was logged since it was up. */
  readonly reasons: Map<string, string>;
  sent: number;
  ignored: number;
  /** The newest ranges. */
  passed_over: Map<BoothId, readonly Range[]>;
  /** Messages of this session that the broker didn't get, and the last of them; null: none. */
  skipped: { readonly count: number; readonly since: EpochMs; readonly last: Refusal } | null;
  /** Topics whose skipped messages were logged. */
  readonly logged_topics: Set<string>;
  /** Booths whose last messages have the time of an unconfirmed clock. */
  readonly unconfirmed: Set<BoothId>;
}

export interface Output {
  readonly machine: OutputMachine;
  readonly config: OutputConfig;
  readonly booths: readonly OutputBooth[];
  readonly cursors: Cursors;
  readonly state: OutputState;
  readonly speaker: () => Speaker;
}

const RETRY = { base_ms: 1_000, cap_ms: 60_000 };
/** A session that stood so long ends the back-off. */
const STOOD_MS: Milliseconds = 60_000;
/** Records read from the store at a time: each call stands in line with the commits. */
const READ_LIMIT = 500;
/** Of them the cursor moves over so many at a time: a kill makes no more of them go twice. */
const MOVE_LIMIT = 64;
/** Of what was passed over so many ranges are shown; the log has them all. */
const MOST_RANGES = 8;
/** Figures that only grow are told so often. */
const FIGURES_MS: Milliseconds = 60_000;

export function newOutputState(now: EpochMs, { url }: Pick<OutputConfig, "url">): OutputState {
  const link = linkDown(now, say("plc.not_yet"));
  return {
    link,
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

/** Sparkplug knows several servers for one host. */
export function serversOf({ url, sparkplug }: OutputConfig): readonly string[] {
  return [url, ...(sparkplug?.more_urls ?? [])];
}

export function statusOf({ config, state, booths, cursors }: Output): OutputStatus {
  return {
    name: config.name,
    kind: config.sparkplug === undefined ? "mqtt" : "sparkplug",
    url: state.url,
    link: linkShown(state),
    sent: state.sent,
    ignored: state.ignored,
    booths: booths.map(({ state: { booth, log } }) => {
      const { stream, newest_seq } = log.reach;
      const after = cursors.after(config.name, stream) ?? newest_seq;
      return { booth, waiting: Math.max(0, newest_seq - after), passed_over: state.passed_over.get(booth) ?? [] };
    }),
  };
}

/** The link as people see it: a session whose broker doesn't get some messages is degraded. */
function linkShown({ link, skipped }: OutputState): LinkStatus {
  if (link.kind !== "up" || skipped === null) return link;
  const { count, since, last } = skipped;
  const reason = say("output.skipped", { count, reason: refusalText(last) });
  return { kind: "degraded", since, reason, advice: say(`output.check.skipped_${last.kind}`) };
}

/** Logs each topic once, so many of them at most: tags and figures of a booth, and their discovery. */
const MOST_LOGGED_TOPICS = 200;

function skipped({ state, machine, config }: Output, last: Refusal): void {
  const { topic } = last;
  const { count = 0, since = machine.clock.wall() } = state.skipped ?? {};
  state.skipped = { count: count + 1, since, last };
  if (state.logged_topics.has(topic) || state.logged_topics.size >= MOST_LOGGED_TOPICS) return;
  state.logged_topics.add(topic);
  const text = `output ${config.name} skips a message: ${refusalText(last)}; ${say(`output.check.skipped_${last.kind}`)}`;
  machine.log.warn({ event: "output_skipped", output: config.name, ...last }, text);
}

/** Connects, tells, and begins anew after any failure, at the next server where there are several, until the signal. */
export async function outputLoop(output: Output, signal: AbortSignal): Promise<void> {
  const { clock, random } = output.machine;
  const servers = serversOf(output.config);
  let failures = 0;
  for (let turn = 0; !isOver(signal); turn += 1) {
    const began = clock.mono();
    output.state.url = servers[turn % servers.length] ?? output.config.url;
    try {
      await oneSession(output, signal);
    } catch (error) {
      if (isOver(signal)) break;
      if (clock.mono() - began >= STOOD_MS) failures = 0;
      // Each of them gets its try before all are waited for longer.
      const wait = fullJitter(Math.floor(failures / servers.length), RETRY, () => random.next());
      failures += 1;
      isDown(output, error, { failures, wait });
      await clock.sleep(wait, signal).catch(() => undefined);
    }
  }
}

async function oneSession(output: Output, signal: AbortSignal): Promise<void> {
  const { machine, config, booths, state } = output;
  const speaker = output.speaker();
  const ignored = (): void => void (state.ignored += 1);
  const refused = (refusal: Refusal): void => skipped(output, refusal);
  const session = await machine.connect(
    { ...config, url: state.url },
    { will: speaker.will, ignored, refused, signal },
  );
  // The limits and access rules of another session may be others.
  state.skipped = null;
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const telling: Promise<unknown>[] = [];
  try {
    const told = async (): Promise<void> => {
      for (const booth of booths) noteUnconfirmed(output, booth);
      await speaker.begin(session, both);
      isUp(output);
      for (const booth of booths)
        telling.push(
          follow(output, { session, speaker, booth }, both),
          tellNews(output, { session, speaker, booth }, both),
        );
      await Promise.all(telling);
    };
    const over = (reason: ServiceLinkError): Promise<never> => Promise.reject(reason);
    await Promise.race([
      told(),
      session.ended.then(over),
      ...(speaker.lost === undefined ? [] : [speaker.lost.then(over)]),
    ]);
  } finally {
    ending.abort();
    await heard(telling, machine);
    await session.close(speaker.last());
  }
}

/**
 * Time for confirmations of what is under way when a session ends: the cursor moves over these messages, so that they aren't sent twice.
 * Less than half of the 500 ms that an orderly stop may take.
 */
const HEARD_WITHIN_MS: Milliseconds = 250;

async function heard(telling: readonly Promise<unknown>[], { clock }: OutputMachine): Promise<void> {
  const late = Promise.withResolvers<undefined>();
  const cancel = clock.after(HEARD_WITHIN_MS, () => late.resolve(undefined));
  await Promise.race([Promise.allSettled(telling), late.promise]);
  cancel();
}

interface Told {
  readonly session: BrokerSession;
  readonly speaker: Speaker;
  readonly booth: OutputBooth;
}

/** Follows a booth's log from the cursor on. */
async function follow(output: Output, told: Told, signal: AbortSignal): Promise<never> {
  const { state } = told.booth;
  await beginAt(output, told);
  for (;;) {
    while (await sendNext(output, told, signal));
    if (await tellConfirmed(output, told)) continue;
    await state.progress.wait(signal);
  }
}

function noteUnconfirmed({ state }: Output, booth: OutputBooth): void {
  const { booth: id, log } = booth.state;
  if (waitingForClock(log.reach) > 0) state.unconfirmed.add(id);
}

/**
 * Tells the current values again once the clock is confirmed, since those at the broker have an unconfirmed time. Returns whether it told
 * anything.
 */
async function tellConfirmed(output: Output, { session, speaker, booth }: Told): Promise<boolean> {
  const { state } = output;
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

/** Where a log is new to the output, or what came meanwhile is passed over, the cursor is put there. */
async function beginAt(output: Output, { booth, speaker }: Told): Promise<void> {
  const { cursors, config } = output;
  const { stream, newest_seq, renew_from = 0 } = booth.state.log.reach;
  if (renew_from > 0) cursors.salvaged(config.name, stream, renew_from);
  const after = cursors.after(config.name, stream);
  if (after === null) {
    const since = config.since === undefined || speaker.passes_over ? null : Date.parse(config.since);
    const first = since === null ? newest_seq : (await firstSince(output, booth, since)) - 1;
    cursors.began(config.name, stream, first);
  } else if (speaker.passes_over && after < newest_seq) passOver(output, booth, newest_seq);
}

/** The first seq that was recorded at that time or later: records stand in the order of time, but for a moved clock. */
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

/** The next records of a booth; false: there are none now. */
async function sendNext(output: Output, { session, speaker, booth }: Told, signal: AbortSignal): Promise<boolean> {
  const { machine, cursors, config, state } = output;
  const isMute = (): boolean => speaker.ready?.(booth) === false;
  if (isMute()) return false;
  // Read before the records are: a record that gets its time meanwhile is told as unconfirmed, never the other way round.
  const { stream, oldest_seq, newest_seq, sendable_seq } = booth.state.log.reach;
  const after = cursors.after(config.name, stream) ?? newest_seq;
  // They were given up for age or space: an output keeps no row alive.
  if (after + 1 < oldest_seq) {
    passOver(output, booth, oldest_seq - 1);
    return true;
  }
  if (after >= newest_seq) return false;
  // Records that wait for a confirmed clock too: the service alone needs their final time. Their seqs stay, and so does the cursor.
  const records = await machine.store.readCommitted(stream, after + 1, READ_LIMIT);
  for (let at = 0; at < records.length; at += MOVE_LIMIT) {
    signal.throwIfAborted();
    // It may have become so while the store or the broker was waited for.
    if (isMute()) return false;
    const some = records.slice(at, at + MOVE_LIMIT);
    const messages = speaker.records(booth, some, sendable_seq);
    noteUnconfirmed(output, booth);
    await session.send(messages);
    state.sent += messages.length;
    for (const hole of holesIn(cursors.after(config.name, stream) ?? after, some)) tellPassed(output, booth, hole);
    cursors.moved(config.name, stream, some.at(-1)?.seq ?? after);
  }
  const to = records.at(-1)?.seq ?? newest_seq;
  if (records.length === 0) cursors.moved(config.name, stream, to);
  const isBehind = to < newest_seq;
  if (isBehind) await machine.clock.sleep((records.length / config.max_records_per_s) * 1000, signal);
  return isBehind;
}

/** What damage to the store has taken from amid the log. */
function holesIn(after: Seq, records: readonly Placed[]): readonly Range[] {
  return records.flatMap(({ seq }, index) => {
    const before = records[index - 1]?.seq ?? after;
    return seq > before + 1 ? [{ from: before + 1, to: seq - 1 }] : [];
  });
}

function passOver(output: Output, booth: OutputBooth, to: Seq): void {
  const { cursors, config } = output;
  const { stream } = booth.state.log.reach;
  tellPassed(output, booth, { from: (cursors.after(config.name, stream) ?? to) + 1, to });
  cursors.moved(config.name, stream, to);
}

function tellPassed({ config, state, machine }: Output, { state: { booth } }: OutputBooth, range: Range): void {
  state.passed_over.set(booth, [...(state.passed_over.get(booth) ?? []), range].slice(-MOST_RANGES));
  const text = `output ${config.name}: records ${range.from} to ${range.to} of ${booth} were passed over`;
  machine.log.warn({ event: "output_passed_over", output: config.name, booth, ...range }, text);
}

/** Tells figures at once where there is news, else once a minute. */
async function tellNews(output: Output, { session, speaker, booth }: Told, signal: AbortSignal): Promise<never> {
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
  const durations: DurationsToday = await booth.durationsToday();
  const { log, link } = booth.state;
  return figuresOf({
    summary: log.summary,
    plc: link.plc,
    durations,
    waiting_for_clock: waitingForClock(log.reach),
  });
}

function isUp({ state, machine, config }: Output): void {
  state.link = { kind: "up", since: machine.clock.wall() };
  state.reasons.clear();
  machine.log.info({ event: "output_up", output: config.name }, `output ${config.name} is up at ${state.url}`);
}

function isDown(output: Output, error: unknown, { failures, wait }: { failures: number; wait: Milliseconds }): void {
  const { state, machine, config } = output;
  const reason = machine.scrubber.scrub(errorMessage(error));
  const advice = adviceOf(error instanceof ServiceLinkError ? error.fault : "file");
  const since = machine.clock.wall();
  state.link = stillDown(state.link, {
    kind: "down",
    since,
    reason,
    advice,
    attempt: failures,
    next_try_at: since + wait,
  });
  if (state.reasons.get(state.url) === reason) return;
  state.reasons.set(state.url, reason);
  const text = `output ${config.name} is down: ${reason}; ${advice}`;
  machine.log.warn({ event: "output_down", output: config.name, reason }, text);
}

/** Faults of a connection to a broker that have an advice of their own; after any other the output goes on by itself. */
const ADVISED = [
  "unknown_host",
  "unreachable",
  "unanswered",
  "credential",
  "not_allowed",
  "taken_over",
  "file",
  "limit",
  "certificate_expired",
  "certificate_not_yet_valid",
  "certificate_name",
  "certificate_authority",
  "certificate_chain",
  "certificate_refused",
  "certificate_wanted",
  "tls",
  "not_tls",
] as const;

function adviceOf(fault: ServiceLinkFault): string {
  const advised = ADVISED.find((one) => one === fault);
  return advised === undefined ? say("output.kept") : say(`output.check.${advised}`);
}
