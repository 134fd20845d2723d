import type { NoticeConfig } from "../config/port.ts";
import { waitingForClock } from "../domain/booth-state.ts";
import { linkDown, stillDown } from "../domain/link-status.ts";
import type { NoticeOutcome, NoticeTest } from "../domain/notice.ts";
import { fullJitter, shortMessage } from "../domain/retrying.ts";
import { say } from "../domain/sentences.ts";
import { isOver } from "../domain/signal.ts";
import type { LinkStatus, NoticeStatus } from "../domain/status.ts";
import type { Milliseconds } from "../domain/units.ts";
import { type KeptLedger, SAVE_MS } from "./kept.ts";
import type { Channel, NoticeBooth, NoticeMachine, NoticeMessage } from "./port.ts";
import { changesIn, incidentLooks, looksAt, serviceLook } from "./rules/events.ts";
import {
  type Bundle,
  type Ledger,
  looked,
  movedTo,
  nextStep,
  putBack,
  type Plan,
  read,
  delivered,
  withUnconfirmed,
} from "./rules/ledger.ts";
import { messageOf, type Teller, testMessage } from "./rules/words.ts";

/** One notice: what it sees, and how it tells. It holds nobody up: it reads, and only what is durable. */
export interface Notice {
  readonly machine: NoticeMachine;
  readonly config: NoticeConfig;
  readonly booths: readonly NoticeBooth[];
  readonly kept: KeptLedger;
  /** Loaded when there is something to tell. */
  readonly channel: () => Promise<Channel>;
  readonly state: NoticeState;
}

export interface NoticeState {
  ledger: Ledger;
  link: LinkStatus;
  sent: number;
  failures: number;
  /** By the monotonic clock. */
  next_try: Milliseconds;
  /** The ledger has told something that the disk doesn't know of. */
  unsaved: boolean;
  saved_at: Milliseconds;
}

const RETRY = { base_ms: 30_000, cap_ms: 900_000 };
/** Nothing but a person's hand mends what is refused for good. */
const LASTING_MS: Milliseconds = 3_600_000;
/** Greylisting wants a minute at least, and a server that was overwhelmed some rest. */
const LEAST_WAIT_MS: Milliseconds = 10_000;
/** Time passes without news too: a link that is down for five minutes. */
const LOOK_MS: Milliseconds = 15_000;
/** Many booths make much news. */
const REST_MS: Milliseconds = 1_000;
/** Records read from the store at a time: each call stands in line with the commits. */
const READ_LIMIT = 500;

export function newNoticeState(ledger: Ledger, { clock }: Pick<NoticeMachine, "clock">): NoticeState {
  const link: LinkStatus = { kind: "up", since: clock.wall() };
  return { ledger, link, sent: 0, failures: 0, next_try: 0, unsaved: false, saved_at: clock.mono() };
}

export function statusOf({ config, state }: Notice): NoticeStatus {
  const { ledger, link, sent } = state;
  const waiting = ledger.waiting.length + ledger.cut + (ledger.sending?.events.length ?? 0);
  const open = Object.keys(ledger.open).length;
  return { name: config.name, ...placeOf(config), link, waiting, open, sent, last: ledger.last };
}

/** Where it goes, for people: of a webhook the host alone, since the rest may be its secret. */
export function placeOf({ mail, webhook, mqtt }: NoticeConfig): Pick<NoticeStatus, "kind" | "where"> {
  if (mail !== undefined) return { kind: "mail", where: `${mail.to.join(", ")} by ${mail.host}:${mail.port}` };
  if (webhook !== undefined) return { kind: "webhook", where: new URL(webhook.url).origin };
  return { kind: "mqtt", where: `${mqtt?.topic ?? ""} at ${mqtt?.url ?? ""}` };
}

/** Looks, tells, and begins anew after any failure, until the signal. */
export async function noticeLoop(notice: Notice, signal: AbortSignal): Promise<void> {
  const { clock, news } = notice.machine;
  let broken: LinkStatus | null = null;
  while (!isOver(signal)) {
    const round = new AbortController();
    const both = AbortSignal.any([signal, round.signal]);
    // Before the look: what changes meanwhile is looked at next.
    const woken = news.wait(both).catch(() => undefined);
    try {
      await look(notice);
      const wait = await tell(notice, signal);
      if (notice.state.link === broken) isUp(notice);
      await Promise.race([woken, clock.sleep(Math.min(wait, LOOK_MS), both).catch(() => undefined)]);
    } catch (error) {
      if (!isOver(signal)) isBroken(notice, error);
      broken = notice.state.link;
      const wait = notice.state.next_try - clock.mono();
      await clock.sleep(Math.max(0, wait), signal).catch(() => undefined);
    }
    round.abort();
    await clock.sleep(REST_MS, signal).catch(() => undefined);
  }
  await save(notice).catch(() => undefined);
}

/** The logs first, as far as they are durable; then what each booth is like. */
async function look(notice: Notice): Promise<void> {
  const { machine, booths, config, state } = notice;
  const plan = planOf(notice);
  const before = state.ledger;
  const looked_at = new Set<NoticeBooth>();
  for (const booth of booths) if (!(await readLog(notice, booth, plan))) looked_at.add(booth);
  const now = machine.clock.wall();
  for (const one of booths) {
    const booth = one.state;
    const { summary, storage } = booth.log;
    const time = booth.log.now();
    const has_incidents = looked_at.has(one);
    const looks = [
      ...looksAt({ summary, storage, plc: booth.link.plc, trouble: one.trouble() }, config, { now, time }),
      ...(has_incidents ? incidentLooks(booth.log.incidents()) : []),
    ];
    const open_incidents = summary?.open_incidents ?? null;
    state.ledger = looked(state.ledger, { booth: booth.booth, looks, open_incidents, has_incidents, time }, plan);
  }
  const looks = [serviceLook(machine.service(), config, now)];
  state.ledger = looked(state.ledger, { booth: null, looks, open_incidents: null, time: now }, plan);
  const { ledger } = state;
  if (ledger.waiting !== before.waiting || ledger.open !== before.open) changed(notice);
  if (state.unsaved || machine.clock.mono() - state.saved_at >= SAVE_MS) await save(notice);
}

/**
 * Reads what the log tells. Returns false if the booth's state has to be looked at instead: facts wait for a confirmed clock. Those that
 * come with the confirmation are skipped once, since the looks have told of them.
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
  // New to this notice; or the log was put back from an old copy.
  if (known === undefined || known > sendable_seq) state.ledger = movedTo(state.ledger, stream, sendable_seq);
  for (let after = Math.max(state.ledger.cursors[stream] ?? sendable_seq, oldest_seq - 1); after < sendable_seq;) {
    const records = await machine.store.read(stream, after + 1, READ_LIMIT);
    after = records.at(-1)?.seq ?? sendable_seq;
    state.ledger = movedTo(read(state.ledger, { booth, changes: changesIn(records) }, plan), stream, after);
  }
  return !is_unconfirmed;
}

function planOf({ config, booths }: Notice): Plan {
  const { events, urgent, max_per_hour, quiet } = config;
  const ms = (time: string): Milliseconds => {
    const [hours = 0, minutes = 0] = time.split(":").map(Number);
    return (hours * 60 + minutes) * 60_000;
  };
  const hours =
    quiet === undefined ? null : { from_ms: ms(quiet.from), to_ms: ms(quiet.to), tz: quiet.tz ?? zoneOf(booths) };
  return { events, urgent, max_per_hour, quiet: hours };
}

function zoneOf([first]: readonly NoticeBooth[]): string {
  return first?.state.log.parameters()?.tz ?? "UTC";
}

/** Tells what is to be told now, message after message. Gives how long there is nothing to do. */
async function tell(notice: Notice, signal: AbortSignal): Promise<Milliseconds> {
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
    // Before it is sent: after a kill it goes again just as it is.
    changed(notice);
    if (!(await tryOnce(notice, step.bundle, signal))) return Math.max(0, state.next_try - clock.mono());
  }
}

/** false: it didn't work, or nobody knows. */
async function tryOnce(notice: Notice, bundle: Bundle, signal: AbortSignal): Promise<boolean> {
  const { state, machine, config } = notice;
  const message = messageOf(bundle, tellerOf(notice));
  const outcome = await sent(notice, message, signal);
  if (isOver(signal) && outcome.kind !== "delivered") return false;
  if (outcome.kind !== "delivered") {
    if (outcome.kind === "not_delivered") state.ledger = putBack(state.ledger);
    changed(notice);
    isDown(notice, outcome);
    return false;
  }
  const at = machine.clock.wall();
  state.ledger = delivered(state.ledger, { at, what: message.subject, answer: outcome.answer });
  state.sent += 1;
  changed(notice);
  state.unsaved = true;
  isUp(notice);
  log(notice, `told "${message.subject}": ${outcome.answer}`, config);
  await save(notice);
  return true;
}

/** Of what a server says; more nobody reads. */
const MOST_WORDS = 300;

/** Sends a message. The server's words may quote what it was sent, so they are scrubbed before they are cut. */
async function sent({ machine, channel }: Notice, message: NoticeMessage, signal: AbortSignal): Promise<NoticeOutcome> {
  const send = await channel();
  const outcome = await send(message, signal);
  const clean = (text: string): string => machine.scrubber.scrub(text).slice(0, MOST_WORDS);
  if (outcome.kind === "delivered") return { ...outcome, answer: clean(outcome.answer) };
  return { ...outcome, reason: clean(outcome.reason) };
}

function log({ machine }: Notice, text: string, { name }: NoticeConfig): void {
  machine.log.info({ event: "notice_told", notice: name }, `notice ${name}: ${text}`);
}

function tellerOf({ machine, config, booths }: Notice): Teller {
  const serials = Object.fromEntries(booths.map(({ state }) => [state.booth, state.binding.row.serial]));
  const tz = config.quiet?.tz ?? zoneOf(booths);
  const is_confirmed = booths.every(({ state }) => waitingForClock(state.log.reach) === 0);
  return { gateway: machine.gateway_id, name: config.name, tz, urgent: config.urgent, serials, is_confirmed };
}

/** Sends a test, whatever waits. */
export async function testNotice(notice: Notice, signal: AbortSignal): Promise<NoticeTest> {
  const { machine, config } = notice;
  const message = testMessage(machine.random.uuid(), machine.clock.wall(), tellerOf(notice));
  const outcome = await sent(notice, message, signal);
  // What waits for the next try needn't, if it works now.
  if (outcome.kind === "delivered") notice.state.next_try = 0;
  return { name: config.name, ...placeOf(config), outcome };
}

function changed({ kept, state }: Notice): void {
  kept.write(state.ledger);
}

async function save({ kept, state, machine }: Notice): Promise<void> {
  state.saved_at = machine.clock.mono();
  await kept.save(state.ledger);
  state.unsaved = false;
}

function isUp({ state, machine, config }: Notice): void {
  state.failures = 0;
  state.next_try = 0;
  if (state.link.kind === "up") return;
  state.link = { kind: "up", since: machine.clock.wall() };
  machine.log.info({ event: "notice_up", notice: config.name }, `notice ${config.name} gets through again`);
}

/** An error of the program: nothing is lost, since the ledger stands, and it is tried again later and later. */
function isBroken(notice: Notice, error: unknown): void {
  const reason = say("operation.failed", { error: shortMessage(error) });
  const advice = say("operation.retried");
  isDown(notice, { kind: "unknown", reason, advice, lasting: false, again_ms: null });
}

function isDown({ state, machine, config }: Notice, outcome: Exclude<NoticeOutcome, { kind: "delivered" }>): void {
  const { clock, random } = machine;
  const { reason, advice, lasting, again_ms } = outcome;
  const usual = lasting ? LASTING_MS : LEAST_WAIT_MS + fullJitter(state.failures, RETRY, () => random.next());
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
  if (before.kind === "down" && before.reason === reason) return;
  const text = `notice ${config.name} doesn't get through: ${reason}; ${advice}`;
  machine.log.warn({ event: "notice_down", notice: config.name, reason }, text);
}
