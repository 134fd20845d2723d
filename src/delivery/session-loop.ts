import { isPlain, speaksFor } from "../domain/provisioning.ts";
import { ServiceLinkError } from "../domain/service-link-error.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import type { Identity, StreamInfo } from "../store/port.ts";
import type { LinkAccount, LinkSession, ServiceLink } from "./port.ts";
import type { Clock, Logger, Random, Sealer, Secrets } from "../domain/machine.ts";
import { isOver, type Signal } from "../domain/signal.ts";
import type { BoothState } from "../runtime/booth-state.ts";
import type { RemoteCommands } from "../provisioning/commands/accepting.ts";
import { firstKeyOf } from "../provisioning/first-key.ts";
import { heartbeatOf, helloOf, wholeHeartbeatOf } from "./hello.ts";
import { LOOP_MS, type CameRound } from "../domain/pulse.ts";
import { runSender } from "./sender.ts";
import { secondOffers } from "./re-offers.ts";
import { serviceIsDown, serviceIsLeft, serviceIsUp, type ServiceNews } from "./service-news.ts";
import { acked, serviceWords, type WordParts } from "./service-words.ts";
import type { KeyRotation } from "../provisioning/commands/rotation.ts";
import { fullJitter } from "../domain/backoff.ts";
import { retryAfter } from "./rules/session-retry.ts";

export interface SyncParts extends ServiceNews, ConnectParts, WordParts {
  readonly random: Random;
  readonly identity: Identity;
  readonly secrets: Secrets;
  readonly sealer: Sealer;
  readonly booths: readonly BoothState[];
  readonly heartbeat_interval_ms: Milliseconds;
  /** Where the service's record names no broker. */
  readonly broker_url: string | null;
  /** Records a second at most of what waited during an outage; null: as fast as the service acks. */
  readonly backlog_rate: number | null;
  /** Takes the service's commands, and answers them, while a session stands. */
  readonly desk: Pick<RemoteCommands, "setSession">;
  /** Rings after each commit, each provisioning step, each change of a link. */
  readonly news: Signal;
  /** Absent: nobody watches over the loop. */
  readonly turned?: CameRound;
}

/** Owns the session with the service: connects, sends every bound booth's stream, and begins anew after any failure. */
export async function syncLoop(parts: SyncParts, signal: AbortSignal): Promise<void> {
  const tries = newTries();
  while (!isOver(signal)) {
    parts.turned?.(LOOP_MS);
    try {
      await oneSession(parts, signal, tries);
    } catch (error) {
      if (isOver(signal)) break;
      const failure = asLinkError(error);
      const wait = waitAfter(tries, failure, parts);
      serviceIsDown(parts, { error: failure, attempt: tries.attempt, wait });
      parts.turned?.(wait + LOOP_MS);
      await parts.clock.sleep(wait, signal).catch(() => undefined);
    }
  }
}

function asLinkError(error: unknown): ServiceLinkError {
  if (error instanceof ServiceLinkError) return error;
  return new ServiceLinkError("closed", error instanceof Error ? error.message : String(error), error);
}

/** One session from connect to its end; waits first until there is a booth to speak for. Throws the reason of the end. */
async function oneSession(parts: SyncParts, signal: AbortSignal, tries: Tries): Promise<void> {
  Object.assign(tries, { began: null, proven: false });
  const account = await accountOf(parts);
  parts.service.wanted = account !== null;
  if (account === null) {
    serviceIsLeft(parts);
    await letGo(parts);
    parts.turned?.(Number.POSITIVE_INFINITY);
    return parts.news.wait(signal);
  }
  const started = parts.clock.mono();
  const session = await connectWithKey(parts, account, signal);
  tries.began = parts.clock.mono();
  try {
    const booths = spokenFor(parts);
    for (const board of booths) {
      board.in_session = true;
      await renewName(parts, board);
    }
    await session.hello(booths.map(helloOf));
    parts.desk.setSession(session);
    serviceIsUp(parts, { url: session.url, took_ms: tries.began - started, mqtt: session.mqtt ?? null });
    const proven = (): void => void Object.assign(tries, { proven: true, lost: null });
    await runSession(parts, { session, booths, proven }, signal);
  } finally {
    parts.desk.setSession(null);
    await session.close();
    for (const board of parts.booths) board.in_session = false;
    parts.news.ring();
  }
}

interface Running {
  readonly session: LinkSession;
  readonly booths: readonly BoothState[];
}

/** `proven` is called at each ack: only a session that brings something to the service ends the back-off. */
interface Session extends Running {
  readonly proven: () => void;
}

async function runSession(parts: SyncParts, { session, booths, proven }: Session, signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const pumps = booths.map((board) => {
    const { stream, oldest_seq: first_seq } = labelOf(board.row, board.info);
    return runSender(
      {
        clock: parts.clock,
        store: parts.store,
        backlog_rate: parts.backlog_rate,
        session,
        generation: board.row.generation ?? 0,
        news: board.news,
        info: () => sendable(board, stream),
        stream,
        acked: (info) => {
          proven();
          acked(parts, board, info.acked_seq);
        },
        ...{ first_seq, silence: board.silence },
        silent: (silence) => void (board.silence = silence),
        ...serviceWords(parts, board),
      },
      both,
    );
  });
  const closed = session.closed.then((reason) => Promise.reject(reason));
  const work = [
    closed,
    heartbeats(parts, { session, booths }, both),
    untilBindingsChange(parts, booths, both),
    renewNames(parts, booths, both),
    ...pumps,
    ...booths.map((board) => secondOffers({ ...parts, session, board }, both)),
  ];
  try {
    await Promise.race(work);
  } finally {
    ending.abort();
    // Each of them ends by the abort; what they throw then is the ending itself.
    await Promise.allSettled(work.slice(1));
  }
}

function spokenFor(parts: SyncParts): readonly BoothState[] {
  return parts.booths.filter(({ row, info }) => speaksFor(row, info.acked_seq));
}

/** The log as far as it is this booth's to send under that name. */
function sendable({ row, info }: BoothState, name: StreamId): StreamInfo {
  const label = labelOf(row, info);
  const limits = [
    row.last_seq ?? info.sendable_seq,
    (newNameFrom({ row, info }) ?? Infinity) - 1,
    label.stream === name ? info.sendable_seq : label.oldest_seq - 1,
  ];
  return { ...info, sendable_seq: Math.min(info.sendable_seq, ...limits) };
}

/** From where on a salvaged log waits for a new name; null: it doesn't. */
function newNameFrom({ row, info }: Pick<BoothState, "row" | "info">): Seq | null {
  const from = info.renew_from ?? 0;
  return from > (row.stream?.from_seq ?? 0) ? from : null;
}

/** What was found of a salvaged log goes under its old name first, where it can't get there twice; then it gets another. */
async function renewName(parts: SyncParts, board: BoothState): Promise<void> {
  const from = newNameFrom(board);
  if (from !== null && board.info.acked_seq >= from - 1) await parts.rename(board, from);
}

async function renewNames(parts: SyncParts, booths: readonly BoothState[], signal: AbortSignal): Promise<never> {
  for (;;) {
    for (const board of booths) await renewName(parts, board);
    await parts.news.wait(signal);
  }
}

/** The retained state: at once, on each change of what it says, and as a heartbeat. */
async function heartbeats(parts: SyncParts, { session, booths }: Running, signal: AbortSignal): Promise<never> {
  let said = "";
  let saidAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    const now = booths.map(heartbeatOf);
    const text = JSON.stringify(now.map((booth) => ({ ...booth, waiting_records: 0, hours_to_full: 0 })));
    const due = parts.heartbeat_interval_ms - (parts.clock.mono() - saidAt);
    parts.turned?.(Math.max(0, due) + LOOP_MS);
    if (text !== said || due <= 0) {
      said = text;
      saidAt = parts.clock.mono();
      await session.heartbeat(await Promise.all(booths.map((board) => wholeHeartbeatOf(board, parts.store))));
    } else {
      await parts.news.wait(signal, due);
    }
  }
}

/** A session speaks for a fixed set of booths; when that set changes it is over, and the next one begins at once. */
async function untilBindingsChange(
  parts: SyncParts,
  booths: readonly BoothState[],
  signal: AbortSignal,
): Promise<void> {
  const keyOf = (boards: readonly BoothState[]): string =>
    boards
      .map(
        ({ row, info }) =>
          `${labelOf(row, info).stream}:${(row.generation ?? 0).toString()}:${(row.last_seq ?? 0).toString()}`,
      )
      .join();
  const before = keyOf(booths);
  while (keyOf(spokenFor(parts)) === before && parts.rotation.candidate() === null) await parts.news.wait(signal);
}

/** A service without generations, and no broker: nobody will ever ask for the readings, so they go by age as if they had been. */
async function letGo(parts: SyncParts): Promise<void> {
  for (const board of spokenFor(parts).filter(({ row }) => isPlain(row))) {
    const { acked_seq } = await parts.store.ack(board.info.stream, board.info.sendable_seq);
    board.info = { ...board.info, acked_seq };
  }
}

async function accountOf(parts: SyncParts): Promise<LinkAccount | null> {
  const [bound] = spokenFor(parts);
  if (bound === undefined) return null;
  const mqtt = bound.row.record?.mqtt;
  const own = await parts.identity.gateway();
  const { gateway_id } = own;
  const credential = isPlain(bound.row) ? await firstKeyOf(parts) : own.credential;
  const url = mqtt?.url ?? parts.broker_url;
  if (url === null || credential === null) return null;
  return {
    gateway_id,
    credential,
    url,
    ws_url: mqtt?.ws_url ?? null,
    client_id: mqtt?.client_id ?? gateway_id,
    username: mqtt?.username ?? gateway_id,
    topic_prefix: mqtt?.topic_prefix ?? `bg/v1/${gateway_id}`,
    confirmed_by: isPlain(bound.row) ? "broker" : "service",
  };
}

export interface ConnectParts {
  readonly log: Logger;
  readonly link: ServiceLink;
  readonly rotation: Pick<KeyRotation, "candidate" | "connected" | "refused">;
}

/** A new key is tried before the one in force, and takes its place once it has opened a session. */
export async function connectWithKey(
  parts: ConnectParts,
  account: LinkAccount,
  signal: AbortSignal,
): Promise<LinkSession> {
  const { rotation, link } = parts;
  const candidate = rotation.candidate();
  if (candidate === null) return link.connect(account, signal);
  try {
    const session = await link.connect({ ...account, credential: candidate }, signal);
    await rotation.connected(candidate);
    return session;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    parts.log.warn({ event: "new_key_refused", reason }, `the new key opened no session: ${reason}`);
    rotation.refused();
    return link.connect(account, signal);
  }
}

/** What is known of the sessions of late. */
export interface Tries {
  /** Sessions that failed in a row. */
  attempt: number;
  /** Mono at which the present session began; null: it hasn't. */
  began: Milliseconds | null;
  /** Something was acked in it. */
  proven: boolean;
  /** Mono at which the last session in which something was acked ended, or else the first failure; null: there was none yet. */
  lost: Milliseconds | null;
}

export function newTries(): Tries {
  return { attempt: 0, began: null, proven: false, lost: null };
}

/** A session has ended, or never began: how long to wait for the next. */
export function waitAfter(
  tries: Tries,
  { fault }: ServiceLinkError,
  { clock, random }: { readonly clock: Pick<Clock, "mono">; readonly random: Pick<Random, "next"> },
): Milliseconds {
  const now = clock.mono();
  const { proven, began } = tries;
  tries.lost = proven ? now : (tries.lost ?? now);
  const lasted_ms = began === null ? 0 : now - began;
  const { backoff, attempt } = retryAfter({
    ...{ attempt: tries.attempt, proven, lasted_ms, fault },
    away_ms: now - tries.lost,
  });
  tries.attempt = attempt + 1;
  return fullJitter(attempt, backoff, () => random.next());
}
