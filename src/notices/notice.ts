import { render } from "../domain/messages/render.ts";
import { message, isSameText, mapWords, type Text } from "../domain/message.ts";
import type { NoticeConfig } from "../config/port.ts";
import { waitingForClock } from "../domain/booth-state.ts";
import { linkDown, stillDown } from "../domain/link-status.ts";
import type { NoticeOutcome, NoticeTest } from "../domain/notice.ts";
import { fullJitter, shortMessage } from "../domain/retrying.ts";
import { isOver } from "../domain/signal.ts";
import type { LinkStatus, NoticeStatus } from "../domain/status.ts";
import { HOUR_MS, MINUTE_MS } from "../domain/time.ts";
import type { Milliseconds } from "../domain/units.ts";
import { type KeptLedger, SAVE_MS } from "./kept.ts";
import type { Channel, NoticeBooth, NoticeMachine, NoticeMessage } from "./port.ts";
import { changesIn, conditionsOf, incidentConditions, serviceCondition } from "./rules/events.ts";
import {
  type Bundle,
  delivered,
  type Ledger,
  movedTo,
  nextStep,
  observed,
  type Plan,
  putBack,
  withChanges,
  withUnconfirmed,
} from "./rules/ledger.ts";
import { messageOf, type Sender, testMessage } from "./rules/words.ts";

/**
 * A notice reports alarms to people by mail, webhook or MQTT. Its loop examines the logs and the booths after each change, and at least
 * every 15 s. It then updates its ledger (`rules/ledger.ts`) and sends the messages that are due. It reads only durable records, so it
 * delays neither polls nor delivery.
 *
 * The ledger is written before a message is sent. A kill therefore repeats a message under the same id and loses none. After a failure, the
 * notice retries with a backoff, or after an hour if only a person can repair the cause.
 */
export interface Notice {
  readonly machine: NoticeMachine;
  readonly config: NoticeConfig;
  readonly booths: readonly NoticeBooth[];
  readonly kept: KeptLedger;
  /** Loads the module of the channel (mail, webhook or MQTT). */
  readonly channel: () => Promise<Channel>;
  readonly state: NoticeState;
}

export interface NoticeState {
  ledger: Ledger;
  link: LinkStatus;
  sent: number;
  failures: number;
  /** The time of the next try, by the monotonic clock. */
  next_try: Milliseconds;
  /** True if a message was sent since the last save to the disk. */
  unsaved: boolean;
  saved_at: Milliseconds;
}

const RETRY = { base_ms: 30_000, cap_ms: 900_000 };
/** The wait after a refusal whose cause only a person can repair. */
const LASTING_MS: Milliseconds = HOUR_MS;
/** The shortest wait after a failure. Greylisting takes a minute, and an overloaded server needs a rest. */
const LEAST_WAIT_MS: Milliseconds = 10_000;
/** The longest time between two checks, because some alarms depend only on elapsed time, such as a link that is down for 5 min. */
const LOOK_MS: Milliseconds = 15_000;
/** The shortest time between two checks, because many booths change often. */
const REST_MS: Milliseconds = 1_000;
/** The maximum number of records per read of the store. Each read waits in a queue with the commits. */
const READ_LIMIT = 500;
/** The maximum number of characters in a server's answer that are shown. */
const MOST_CHARS = 300;

export function newNoticeState(ledger: Ledger, { clock }: Pick<NoticeMachine, "clock">): NoticeState {
  const link: LinkStatus = { kind: "up", since: clock.wall() };
  return { ledger, link, sent: 0, failures: 0, next_try: 0, unsaved: false, saved_at: clock.mono() };
}

export function statusOf({ config, state }: Notice): NoticeStatus {
  const { ledger, link, sent } = state;
  const waiting = ledger.waiting.length + ledger.cut + (ledger.sending?.events.length ?? 0);
  const open = Object.keys(ledger.open).length;
  return { name: config.name, ...destinationOf(config), link, waiting, open, sent, last: ledger.last };
}

/** Returns the destination as people see it. Shows only the host of a webhook, because the rest of its URL may be a secret. */
function destinationOf({ mail, webhook, mqtt }: NoticeConfig): Pick<NoticeStatus, "kind" | "where"> {
  if (mail !== undefined) return { kind: "mail", where: `${mail.to.join(", ")} by ${mail.host}:${mail.port}` };
  if (webhook !== undefined) return { kind: "webhook", where: new URL(webhook.url).origin };
  return { kind: "mqtt", where: `${mqtt?.topic ?? ""} at ${mqtt?.url ?? ""}` };
}

/** Checks for alarms and sends messages until the signal aborts. Waits and starts again after any failure. */
export async function noticeLoop(notice: Notice, signal: AbortSignal): Promise<void> {
  const { clock, news } = notice.machine;
  let broken: LinkStatus | null = null;
  while (!isOver(signal)) {
    const round = new AbortController();
    const both = AbortSignal.any([signal, round.signal]);
    // Registers for news before the check, so that changes during the check cause another check.
    const woken = news.wait(both).catch(() => undefined);
    try {
      await updateLedger(notice);
      const wait = await sendDue(notice, signal);
      if (notice.state.link === broken) reportUp(notice);
      await Promise.race([woken, clock.sleep(Math.min(wait, LOOK_MS), both).catch(() => undefined)]);
    } catch (error) {
      if (!isOver(signal)) reportBroken(notice, error);
      broken = notice.state.link;
      const wait = notice.state.next_try - clock.mono();
      await clock.sleep(Math.max(0, wait), signal).catch(() => undefined);
    }
    round.abort();
    await clock.sleep(REST_MS, signal).catch(() => undefined);
  }
  await save(notice).catch(() => undefined);
}

/** Applies the logs' new records, then the present conditions of the booths and the service. */
async function updateLedger(notice: Notice): Promise<void> {
  const { machine, booths, config, state } = notice;
  const plan = planOf(notice);
  const before = state.ledger;
  const unconfirmed = new Set<NoticeBooth>();
  for (const booth of booths) if (!(await readLog(notice, booth, plan))) unconfirmed.add(booth);
  const now = machine.clock.wall();
  for (const one of booths) {
    const booth = one.state;
    const { summary, storage } = booth.log;
    const time = booth.log.now();
    const has_incidents = unconfirmed.has(one);
    const conditions = [
      ...conditionsOf({ summary, storage, plc: booth.link.plc, trouble: one.trouble() }, config, { now, time }),
      ...(has_incidents ? incidentConditions(booth.log.incidents()) : []),
    ];
    const open_incidents = summary?.open_incidents ?? null;
    const seen = { booth: booth.booth, conditions, open_incidents, has_incidents, time };
    state.ledger = observed(state.ledger, seen, plan);
  }
  const conditions = [serviceCondition(machine.service(), config, now)];
  state.ledger = observed(state.ledger, { booth: null, conditions, open_incidents: null, time: now }, plan);
  const { ledger } = state;
  if (ledger.waiting !== before.waiting || ledger.open !== before.open) write(notice);
  if (state.unsaved || machine.clock.mono() - state.saved_at >= SAVE_MS) await save(notice);
}

/**
 * Applies the new records of a booth's log to the ledger. Returns false while the log's facts (records derived from readings) wait for a
 * confirmed clock. The caller then reports the booth's open incidents as conditions instead. The first call after the confirmation skips
 * the facts that waited, and also returns false, because the conditions have already covered them.
 */
async function readLog(
  { machine, state }: Notice,
  { state: { booth, log } }: NoticeBooth,
  plan: Plan,
): Promise<boolean> {
  const { stream, oldest_seq, sendable_seq } = log.reach;
  const is_unconfirmed = waitingForClock(log.reach) > 0;
  const was_unconfirmed = state.ledger.unconfirmed.includes(stream);
  state.ledger = withUnconfirmed(state.ledger, stream, is_unconfirmed);
  if (was_unconfirmed && !is_unconfirmed) {
    state.ledger = movedTo(state.ledger, stream, sendable_seq);
    return false;
  }
  const known = state.ledger.cursors[stream];
  // Starts at the newest record if the log is new to this notice, or was restored from an old copy.
  if (known === undefined || known > sendable_seq) state.ledger = movedTo(state.ledger, stream, sendable_seq);
  for (let after = Math.max(state.ledger.cursors[stream] ?? sendable_seq, oldest_seq - 1); after < sendable_seq;) {
    const records = await machine.store.read(stream, after + 1, READ_LIMIT);
    after = records.at(-1)?.seq ?? sendable_seq;
    state.ledger = movedTo(withChanges(state.ledger, { booth, changes: changesIn(records) }, plan), stream, after);
  }
  return !is_unconfirmed;
}

function planOf({ config, booths }: Notice): Plan {
  const { events, urgent, max_per_hour, quiet } = config;
  const ms = (time: string): Milliseconds => {
    const [hours = 0, minutes = 0] = time.split(":").map(Number);
    return hours * HOUR_MS + minutes * MINUTE_MS;
  };
  const hours =
    quiet === undefined ? null : { from_ms: ms(quiet.from), to_ms: ms(quiet.to), tz: quiet.tz ?? zoneOf(booths) };
  return { events, urgent, max_per_hour, quiet: hours };
}

function zoneOf([first]: readonly NoticeBooth[]): string {
  return first?.state.log.parameters()?.tz ?? "UTC";
}

/** Sends the messages that are due. Returns the time until the next message may be due. */
async function sendDue(notice: Notice, signal: AbortSignal): Promise<Milliseconds> {
  const { machine, state } = notice;
  const { clock, random } = machine;
  for (;;) {
    if (isOver(signal)) return 0;
    const rest = state.next_try - clock.mono();
    if (rest > 0) return rest;
    const now = clock.wall();
    const step = nextStep(state.ledger, planOf(notice), { now, id: random.uuid() });
    if (step.kind === "wait") return step.until === null ? LOOK_MS : Math.max(0, step.until - now);
    state.ledger = step.ledger;
    // Writes the ledger first, so that after a kill the message is sent again unchanged.
    write(notice);
    if (!(await tryOnce(notice, step.bundle, signal))) return Math.max(0, state.next_try - clock.mono());
  }
}

/** Tries to send a message. Returns false if the message was not delivered, or if that is unknown. */
async function tryOnce(notice: Notice, bundle: Bundle, signal: AbortSignal): Promise<boolean> {
  const { state, machine, config } = notice;
  const outgoing = messageOf(bundle, senderOf(notice));
  const outcome = await send(notice, outgoing, signal);
  if (isOver(signal) && outcome.kind !== "delivered") return false;
  if (outcome.kind !== "delivered") {
    if (outcome.kind === "not_delivered") state.ledger = putBack(state.ledger);
    write(notice);
    reportDown(notice, outcome);
    return false;
  }
  const at = machine.clock.wall();
  state.ledger = delivered(state.ledger, { at, what: outgoing.subject, answer: render(outcome.answer) });
  state.sent += 1;
  write(notice);
  state.unsaved = true;
  reportUp(notice);
  const text = message("notice.log.told", { name: config.name, subject: outgoing.subject, answer: outcome.answer });
  machine.log.info({ event: "notice_told", notice: config.name }, text);
  await save(notice);
  return true;
}

/** Sends a message. Removes secrets from the server's answer before the answer is shortened, because it may quote the request. */
async function send(
  { machine, channel }: Notice,
  outgoing: NoticeMessage,
  signal: AbortSignal,
): Promise<NoticeOutcome> {
  const sendBy = await channel();
  const outcome = await sendBy(outgoing, signal);
  const clean = (text: Text): Text => mapWords(text, (words) => machine.scrubber.scrub(words).slice(0, MOST_CHARS));
  if (outcome.kind === "delivered") return { ...outcome, answer: clean(outcome.answer) };
  return { ...outcome, reason: clean(outcome.reason) };
}

function senderOf({ machine, config, booths }: Notice): Sender {
  const serials = Object.fromEntries(booths.map(({ state }) => [state.booth, state.binding.row.serial]));
  const tz = config.quiet?.tz ?? zoneOf(booths);
  const is_confirmed = booths.every(({ state }) => waitingForClock(state.log.reach) === 0);
  return { gateway: machine.gateway_id, name: config.name, tz, urgent: config.urgent, serials, is_confirmed };
}

/** Sends a test immediately, even if messages are waiting. */
export async function testNotice(notice: Notice, signal: AbortSignal): Promise<NoticeTest> {
  const { machine, config } = notice;
  const test = testMessage(machine.random.uuid(), machine.clock.wall(), senderOf(notice));
  const outcome = await send(notice, test, signal);
  // Sends waiting messages without further delay, because the destination works now.
  if (outcome.kind === "delivered") notice.state.next_try = 0;
  return { name: config.name, ...destinationOf(config), outcome };
}

function write({ kept, state }: Notice): void {
  kept.write(state.ledger);
}

async function save({ kept, state, machine }: Notice): Promise<void> {
  state.saved_at = machine.clock.mono();
  await kept.save(state.ledger);
  state.unsaved = false;
}

function reportUp({ state, machine, config }: Notice): void {
  state.failures = 0;
  state.next_try = 0;
  if (state.link.kind === "up") return;
  state.link = { kind: "up", since: machine.clock.wall() };
  machine.log.info({ event: "notice_up", notice: config.name }, `notice ${config.name} gets through again`);
}

/** Reports an unexpected error. The ledger keeps all events, and the loop retries with the backoff. */
function reportBroken(notice: Notice, error: unknown): void {
  const reason = message("operation.failed", { error: shortMessage(error) });
  const advice = message("operation.retried");
  reportDown(notice, { kind: "unknown", reason, advice, isPermanent: false, again_ms: null });
}

function reportDown({ state, machine, config }: Notice, outcome: Exclude<NoticeOutcome, { kind: "delivered" }>): void {
  const { clock, random } = machine;
  const { reason, advice, isPermanent, again_ms } = outcome;
  const usual = isPermanent ? LASTING_MS : LEAST_WAIT_MS + fullJitter(state.failures, RETRY, () => random.next());
  const wait = Math.max(usual, again_ms ?? 0);
  state.failures += 1;
  state.next_try = clock.mono() + wait;
  const now = clock.wall();
  const before = state.link;
  state.link = stillDown(before, {
    ...linkDown(now, reason, advice),
    attempt: state.failures,
    next_try_at: now + wait,
  });
  if (before.kind === "down" && isSameText(before.reason, reason)) return;
  const text = message("notice.log.down", { name: config.name, reason, advice });
  machine.log.warn({ event: "notice_down", notice: config.name, reason }, text);
}
