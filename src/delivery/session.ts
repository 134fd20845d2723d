import type { BoothHeartbeat, HelloBooth } from "../contract/telemetry.ts";
import { type Backoff, fullJitter } from "../domain/retrying.ts";
import type { BoothState } from "../domain/booth-state.ts";
import { isPlain, speaksFor } from "../domain/provisioning.ts";
import { LOOP_MS, isOver } from "../domain/signal.ts";
import { ServiceLinkError } from "../domain/link-error.ts";
import type { BacklogStatus } from "../domain/status.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Store } from "../store/port.ts";
import type { DeliveredBooth, DeliveryGateway } from "./context.ts";
import type { LinkAccount, LinkSession } from "./port.ts";
import { newNameFrom } from "./rules/refusals.ts";
import { retryAfter } from "./rules/session-retry.ts";
import { runSender, setWaitingAside } from "./sender.ts";
import { serviceIsDown, serviceIsLeft, serviceIsUp } from "./service-news.ts";
import { message } from "../domain/message.ts";
import { errorText } from "../domain/messages/message-error.ts";

/** Keeps a session with the service: connects, sends every bound booth's log, and reconnects after any failure. */
export async function sessionLoop(
  gateway: DeliveryGateway,
  booths: readonly DeliveredBooth[],
  signal: AbortSignal,
): Promise<void> {
  const tries: Tries = { attempt: 0, began: null, proven: false, lost: null };
  while (!isOver(signal)) {
    gateway.turned(LOOP_MS);
    try {
      await oneSession(gateway, { booths, tries }, signal);
    } catch (error) {
      if (isOver(signal)) break;
      const reason = errorText(error);
      const failure = error instanceof ServiceLinkError ? error : new ServiceLinkError("closed", reason, error);
      const wait = waitAfter(tries, failure, gateway);
      serviceIsDown(gateway, { error: failure, attempt: tries.attempt, wait });
      gateway.turned(wait + LOOP_MS);
      await gateway.clock.sleep(wait, signal).catch(() => undefined);
    }
  }
}

/** Runs one session from connect to its end. If no booth needs a session, waits for news instead. Throws the reason of the end. */
async function oneSession(
  gateway: DeliveryGateway,
  { booths, tries }: { readonly booths: readonly DeliveredBooth[]; readonly tries: Tries },
  signal: AbortSignal,
): Promise<void> {
  const { clock, service, commands } = gateway;
  Object.assign(tries, { began: null, proven: false });
  const withSession = boundBooths(booths);
  // Excludes a booth whose binding ends because of a mistyped serial number: its records belong to another booth.
  const ended = booths.filter((booth) => !withSession.includes(booth) && booth.state.binding.row.leaving === null);
  for (const booth of ended) await setWaitingAside(gateway, booth);
  const account = await accountOf(gateway, booths);
  service.wanted = account !== null;
  if (account === null) {
    serviceIsLeft(gateway);
    await countAsAcked(gateway, booths);
    gateway.turned(Number.POSITIVE_INFINITY);
    return gateway.progress.wait(signal);
  }
  const started = clock.mono();
  // A booth becomes active with its first session, so that before it the broker may not know the key yet.
  const isNew = boundBooths(booths).every(({ state }) => state.binding.row.state !== "active");
  const session = await connectWithKey(gateway, { account, isNew }, signal);
  tries.began = clock.mono();
  try {
    const bound = boundBooths(booths);
    for (const booth of bound) {
      booth.delivery.in_session = true;
      await renewName(gateway, booth);
    }
    await session.hello(bound.map(({ state }) => helloOf(state)));
    commands.setSession(session);
    serviceIsUp(gateway, { url: session.url, took_ms: tries.began - started, mqtt: session.mqtt ?? null });
    const proven = (): void => void Object.assign(tries, { proven: true, lost: null });
    await runSession({ gateway, session, all: booths, booths: bound, proven }, signal);
  } finally {
    commands.setSession(null);
    await session.close();
    for (const { delivery } of booths) delivery.in_session = false;
    gateway.news.raise();
  }
}

/** The inputs of a running session. */
interface Session {
  readonly gateway: DeliveryGateway;
  readonly session: LinkSession;
  /** All booths of the gateway. The list changes while the session is up. */
  readonly all: readonly DeliveredBooth[];
  /** The booths of this session. */
  readonly booths: readonly DeliveredBooth[];
  /** Called at each ack. Only a session with an ack resets the backoff. */
  readonly proven: () => void;
}

async function runSession(running: Session, signal: AbortSignal): Promise<void> {
  const { gateway, session, booths, proven } = running;
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const work = [
    session.closed.then((reason) => Promise.reject(reason)),
    heartbeats(running, both),
    untilBindingsChange(running, both),
    renewNames(running, both),
    ...booths.map((booth) => runSender({ gateway, session, proven, booth }, both)),
  ];
  try {
    await Promise.race(work);
  } finally {
    ending.abort();
    // Waits for the tasks, which the abort ends and which then reject.
    await Promise.allSettled(work.slice(1));
  }
}

/** Returns the booths whose records the service expects. */
function boundBooths(booths: readonly DeliveredBooth[]): readonly DeliveredBooth[] {
  return booths.filter(({ state }) => speaksFor(state.binding.row, state.log.reach.acked_seq));
}

/**
 * Renames a log that was salvaged from a damaged store, but only after all salvaged records are acked under the old name. The service
 * can't store them twice under that name.
 */
async function renewName({ rename }: DeliveryGateway, booth: DeliveredBooth): Promise<void> {
  const { log, binding } = booth.state;
  const from = newNameFrom(binding.row, log.reach);
  if (from !== null && log.reach.acked_seq >= from - 1) await rename(booth, from);
}

async function renewNames({ gateway, booths }: Session, signal: AbortSignal): Promise<never> {
  for (;;) {
    for (const booth of booths) await renewName(gateway, booth);
    await gateway.progress.wait(signal);
  }
}

/** Fields whose change is sent at once. The other fields change all the time. */
const SENT_AT_ONCE = [
  "stream",
  "serial",
  "generation",
  "firmware_version",
  "plc_program",
  "plc_program_revision",
  "link",
  "mode",
] as const satisfies readonly (keyof BoothHeartbeat)[];

/** Sends the retained state at once, after each change, and as a heartbeat. */
async function heartbeats({ gateway, session, booths }: Session, signal: AbortSignal): Promise<never> {
  const { clock, store, progress } = gateway;
  let sent: readonly Beat[] = [];
  let sentAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    // Checks for the abort, because this loop never waits if each confirmation takes longer than the interval.
    signal.throwIfAborted();
    const now = booths.map(({ state }) => heartbeatOf(state));
    const isNew = now.some((beat, index) => SENT_AT_ONCE.some((field) => beat[field] !== sent[index]?.[field]));
    const interval = Math.max(gateway.heartbeat_interval_ms, gateway.thrift?.().heartbeat_ms ?? 0);
    const due = interval - (clock.mono() - sentAt);
    gateway.turned(Math.max(0, due) + LOOP_MS);
    if (isNew || due <= 0) {
      sent = now;
      sentAt = clock.mono();
      const beats = booths.map(async ({ state }) => {
        const { oldest_at } = await backlogOf(state, store);
        return { ...heartbeatOf(state), oldest_at };
      });
      await session.heartbeat(await Promise.all(beats));
    } else {
      await progress.wait(signal, due);
    }
  }
}

/**
 * Resolves when the set of bound booths changes, or when a new key must be tried. The session is for a fixed set, and the next session
 * starts at once.
 */
async function untilBindingsChange({ gateway, all, booths }: Session, signal: AbortSignal): Promise<void> {
  const keyOf = (bound: readonly DeliveredBooth[]): string =>
    bound
      .map(({ state: { log, binding } }) => {
        const { generation, last_seq } = binding.row;
        return `${labelOf(binding.row, log.reach).stream}:${generation ?? 0}:${last_seq ?? 0}`;
      })
      .join();
  const before = keyOf(booths);
  const isSame = (now: readonly DeliveredBooth[]): boolean =>
    // Compares the objects, because a booth that was removed from the configuration and added again is another object with another log.
    now.every((booth, index) => booth === booths[index]) && keyOf(now) === before;
  while (isSame(boundBooths(all)) && gateway.new_key.candidate() === null) await gateway.progress.wait(signal);
}

/** Counts readings as acked at a service that supports neither gateways nor a broker. They are never sent, and are deleted by age. */
async function countAsAcked({ store }: DeliveryGateway, booths: readonly DeliveredBooth[]): Promise<void> {
  for (const { state } of boundBooths(booths).filter(({ state: { binding } }) => isPlain(binding.row))) {
    const { stream, sendable_seq } = state.log.reach;
    const { acked_seq } = await store.ack(stream, sendable_seq);
    state.log.cursorMoved(acked_seq);
  }
}

async function accountOf(
  { identity, firstKey, broker_url }: DeliveryGateway,
  booths: readonly DeliveredBooth[],
): Promise<LinkAccount | null> {
  const [bound] = boundBooths(booths);
  if (bound === undefined) return null;
  const { row } = bound.state.binding;
  const mqtt = row.record?.mqtt;
  const { gateway_id, credential: own } = await identity.gateway();
  const credential = isPlain(row) ? await firstKey() : own;
  const url = mqtt?.url ?? broker_url;
  if (url === null || credential === null) return null;
  return {
    gateway_id,
    credential,
    url,
    ws_url: mqtt?.ws_url ?? null,
    client_id: mqtt?.client_id ?? gateway_id,
    username: mqtt?.username ?? gateway_id,
    topic_prefix: mqtt?.topic_prefix ?? `bg/v1/${gateway_id}`,
    confirmed_by: isPlain(row) ? "broker" : "service",
  };
}

/** Connects with the new key if there is one; if it works, it replaces the present key. Otherwise connects with the present key. */
async function connectWithKey(
  gateway: DeliveryGateway,
  { account, isNew }: { readonly account: LinkAccount; readonly isNew: boolean },
  signal: AbortSignal,
): Promise<LinkSession> {
  const { link, log, new_key } = gateway;
  const candidate = new_key.candidate();
  const connect = (): Promise<LinkSession> =>
    isNew ? connectRetrying(gateway, account, signal) : link.connect(account, signal);
  if (candidate === null) return connect();
  try {
    const session = await connectRetrying(gateway, { ...account, credential: candidate }, signal);
    await new_key.connected(candidate);
    return session;
  } catch (error) {
    const reason = errorText(error);
    log.warn({ event: "new_key_refused", reason }, message("service.log.new_key", { reason }));
    new_key.refused();
    return connect();
  }
}

/** Time for which a broker may refuse a key that the service knows. The service writes keys into its brokers' files of users. */
const KEY_SPREADS_MS: Milliseconds = 60_000;
const KEY_SPREADS: Backoff = { base_ms: 1_000, cap_ms: 5_000 };

/** Connects with a key that the service knows, although its broker may learn of the key some seconds later. */
async function connectRetrying(
  { link, clock, random, turned }: DeliveryGateway,
  account: LinkAccount,
  signal: AbortSignal,
): Promise<LinkSession> {
  const until = clock.mono() + KEY_SPREADS_MS;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await link.connect(account, signal);
    } catch (error) {
      const isRefused = error instanceof ServiceLinkError && error.fault === "credential";
      if (!isRefused || isOver(signal) || clock.mono() >= until) throw error;
      const wait = fullJitter(attempt, KEY_SPREADS, () => random.next());
      turned(wait + LOOP_MS);
      await clock.sleep(wait, signal);
    }
  }
}

/** The history of the latest sessions, which determines the backoff. */
interface Tries {
  /** Number of failed sessions in a row. */
  attempt: number;
  /** Monotonic time at which the present session started; null: it hasn't started. */
  began: Milliseconds | null;
  /** Whether any record was acked in the present session. */
  proven: boolean;
  /** Monotonic time at the end of the last session with an ack, or else at the first failure; null: there was neither. */
  lost: Milliseconds | null;
}

/** Returns the time until the next session after a session has ended or failed to start. */
function waitAfter(tries: Tries, { fault }: ServiceLinkError, { clock, random }: DeliveryGateway): Milliseconds {
  const now = clock.mono();
  const { proven, began } = tries;
  tries.lost = proven ? now : (tries.lost ?? now);
  const lasted_ms = began === null ? 0 : now - began;
  const away_ms = now - tries.lost;
  const { backoff, attempt } = retryAfter({ attempt: tries.attempt, proven, lasted_ms, away_ms, fault });
  tries.attempt = attempt + 1;
  return fullJitter(attempt, backoff, () => random.next());
}

/** Returns the description of a booth at the start of a session. */
function helloOf({ log: { reach }, binding: { row } }: BoothState): HelloBooth {
  const { stream, oldest_seq, predecessor } = labelOf(row, reach);
  return {
    stream,
    serial: row.serial ?? "",
    generation: row.generation ?? 0,
    oldest_seq,
    newest_seq: reach.newest_seq,
    acked_seq: reach.acked_seq,
    config_revision: row.record?.config?.revision ?? 0,
    // A renamed log continues its previous name. The first log after a takeover continues the other gateway's log.
    predecessor: predecessor ?? row.claim?.predecessor ?? null,
  };
}

/** A booth's part of the heartbeat, without the time of the oldest waiting record, which must be read from the store. */
type Beat = Omit<BoothHeartbeat, "oldest_at">;

function heartbeatOf({ link, log, binding: { row } }: BoothState): Beat {
  const { reach, summary, storage } = log;
  return {
    stream: labelOf(row, reach).stream,
    serial: row.serial ?? "",
    generation: row.generation ?? 0,
    firmware_version: summary?.firmware_version ?? null,
    plc_program: summary?.plc_program ?? null,
    plc_program_revision: summary?.plc_program_revision ?? null,
    link: link.plc.kind === "down" ? "down" : "up",
    mode: summary?.mode ?? "no_data",
    acked_seq: reach.acked_seq,
    waiting_records: reach.newest_seq - reach.acked_seq,
    hours_to_full: storage?.hours_to_full ?? null,
  };
}

/** Returns how many records of a booth's log wait for the service, and the time of the oldest waiting record. */
export async function backlogOf({ booth, log }: BoothState, store: Pick<Store, "read">): Promise<BacklogStatus> {
  const { newest_seq, acked_seq, stream } = log.reach;
  const [oldest] = newest_seq > acked_seq ? await store.read(stream, acked_seq + 1, 1) : [];
  const hours_to_full = log.storage?.hours_to_full ?? null;
  return { booth, newest_seq, acked_seq, oldest_at: oldest?.time ?? null, hours_to_full };
}
