import { fullJitter } from "../core/backoff.ts";
import { isPlain, speaksFor } from "../core/provisioning.ts";
import { labelOf } from "../core/stream-label.ts";
import type { Milliseconds, Seq, StreamId } from "../core/types/units.ts";
import type {
  Clock,
  Identity,
  LinkAccount,
  LinkSession,
  Logger,
  Random,
  Secrets,
  ServiceLink,
  Store,
  StreamInfo,
} from "../ports.ts";
import { isOver, type Bell } from "./bell.ts";
import { stillDown, type BoothBoard, type ServiceBoard } from "./board.ts";
import { heartbeatOf, helloOf } from "./hello.ts";
import { TURN_MS, type Turned } from "./pulse.ts";
import { pump } from "./pump.ts";

const RETRY = { base_ms: 1_000, cap_ms: 60_000 };

export interface SyncParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: Store;
  readonly identity: Identity;
  readonly link: ServiceLink;
  readonly secrets: Secrets;
  readonly service: ServiceBoard;
  readonly booths: readonly BoothBoard[];
  readonly heartbeat_interval_ms: Milliseconds;
  /** Where the service's record names no broker. */
  readonly broker_url: string | null;
  /** Records a second at most of what waited during an outage; null: as fast as the service acks. */
  readonly backlog_rate: number | null;
  /** The service holds other records than ours from that seq on: the log goes on under another name there. */
  readonly rename: (board: BoothBoard, from: Seq) => Promise<void>;
  /** Rings after each commit, each provisioning step, each change of a link. */
  readonly news: Bell;
  /** Absent: nobody watches over the loop. */
  readonly turned?: Turned;
}

/** Owns the session with the service: connects, sends every bound booth's stream, and begins anew after any failure. */
export async function syncLoop(parts: SyncParts, signal: AbortSignal): Promise<void> {
  let attempt = 0;
  const proven = (): void => {
    attempt = 0;
  };
  while (!isOver(signal)) {
    parts.turned?.(TURN_MS);
    try {
      await oneSession(parts, signal, proven);
    } catch (error) {
      if (isOver(signal)) break;
      const wait = fullJitter(attempt, RETRY, () => parts.random.next());
      serviceIsDown(parts, { error, attempt: ++attempt, wait });
      parts.turned?.(wait + TURN_MS);
      await parts.clock.sleep(wait, signal).catch(() => undefined);
    }
  }
}

/** One session from connect to its end; waits first until there is a booth to speak for. Throws the reason of the end. */
async function oneSession(parts: SyncParts, signal: AbortSignal, proven: () => void): Promise<void> {
  const account = await accountOf(parts);
  if (account === null) {
    await letGo(parts);
    parts.turned?.(Number.POSITIVE_INFINITY);
    return parts.news.wait(signal);
  }
  const started = parts.clock.mono();
  const session = await parts.link.connect(account, signal);
  try {
    const booths = spokenFor(parts);
    for (const board of booths) {
      board.in_session = true;
      await renewName(parts, board);
    }
    await session.hello(booths.map(helloOf));
    serviceIsUp(parts, { url: account.url, took_ms: parts.clock.mono() - started });
    await runSession(parts, { session, booths, proven }, signal);
  } finally {
    await session.close();
    for (const board of parts.booths) board.in_session = false;
    parts.news.ring();
  }
}

interface Running {
  readonly session: LinkSession;
  readonly booths: readonly BoothBoard[];
}

/** `proven` is called at each ack: only a session that brings something to the service ends the back-off. */
interface Session extends Running {
  readonly proven: () => void;
}

async function runSession(parts: SyncParts, { session, booths, proven }: Session, signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const pumps = booths.map((board) => {
    const { stream } = labelOf(board.row, board.info);
    return pump(
      {
        clock: parts.clock,
        store: parts.store,
        backlog_rate: parts.backlog_rate,
        log: parts.log,
        session,
        generation: board.row.generation ?? 0,
        news: parts.news,
        info: () => sendable(board, stream),
        stream,
        acked: (info) => {
          proven();
          acked(parts, board, info.acked_seq);
        },
        refused: () => {
          board.look_again = true;
          parts.news.ring();
        },
        conflict: (seq) => parts.rename(board, seq),
      },
      both,
    );
  });
  const closed = session.closed.then((reason) => Promise.reject(new Error(reason)));
  const work = [
    closed,
    heartbeats(parts, { session, booths }, both),
    untilBindingsChange(parts, booths, both),
    renewNames(parts, booths, both),
    ...pumps,
  ];
  try {
    await Promise.race(work);
  } finally {
    ending.abort();
    // Each of them ends by the abort; what they throw then is the ending itself.
    await Promise.allSettled(work.slice(1));
  }
}

function acked(parts: SyncParts, board: BoothBoard, acked_seq: number): void {
  if (board.info.acked_seq === 0 && acked_seq > 0) {
    parts.log.info(
      { event: "first_acked", booth: board.booth, acked_seq },
      `${board.booth}: first records acked by the service, up to ${acked_seq.toString()}`,
    );
  }
  board.info = { ...board.info, acked_seq: Math.max(board.info.acked_seq, acked_seq) };
  parts.news.ring();
}

function spokenFor(parts: SyncParts): readonly BoothBoard[] {
  return parts.booths.filter(({ row, info }) => speaksFor(row, info.acked_seq));
}

/** The log as far as it is this booth's to send under that name. */
function sendable({ row, info }: BoothBoard, name: StreamId): StreamInfo {
  const label = labelOf(row, info);
  const limits = [
    row.last_seq ?? info.sendable_seq,
    (newNameFrom({ row, info }) ?? Infinity) - 1,
    label.stream === name ? info.sendable_seq : label.oldest_seq - 1,
  ];
  return { ...info, sendable_seq: Math.min(info.sendable_seq, ...limits) };
}

/** From where on a salvaged log waits for a new name; null: it doesn't. */
function newNameFrom({ row, info }: Pick<BoothBoard, "row" | "info">): Seq | null {
  const from = info.renew_from ?? 0;
  return from > (row.stream?.from_seq ?? 0) ? from : null;
}

/** What was found of a salvaged log goes under its old name first, where it can't get there twice; then it gets another. */
async function renewName(parts: SyncParts, board: BoothBoard): Promise<void> {
  const from = newNameFrom(board);
  if (from !== null && board.info.acked_seq >= from - 1) await parts.rename(board, from);
}

async function renewNames(parts: SyncParts, booths: readonly BoothBoard[], signal: AbortSignal): Promise<never> {
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
    parts.turned?.(Math.max(0, due) + TURN_MS);
    if (text !== said || due <= 0) {
      said = text;
      saidAt = parts.clock.mono();
      await session.heartbeat(now);
    } else {
      await parts.news.wait(signal, due);
    }
  }
}

/** A session speaks for a fixed set of booths; when that set changes it is over, and the next one begins at once. */
async function untilBindingsChange(
  parts: SyncParts,
  booths: readonly BoothBoard[],
  signal: AbortSignal,
): Promise<void> {
  const keyOf = (boards: readonly BoothBoard[]): string =>
    boards
      .map(
        ({ row, info }) =>
          `${labelOf(row, info).stream}:${(row.generation ?? 0).toString()}:${(row.last_seq ?? 0).toString()}`,
      )
      .join();
  const before = keyOf(booths);
  while (keyOf(spokenFor(parts)) === before) await parts.news.wait(signal);
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
  const credential = isPlain(bound.row) ? parts.secrets.firstKey() : own.credential;
  const url = mqtt?.url ?? parts.broker_url;
  if (url === null || credential === null) return null;
  return {
    gateway_id,
    credential,
    url,
    client_id: mqtt?.client_id ?? gateway_id,
    username: mqtt?.username ?? gateway_id,
    topic_prefix: mqtt?.topic_prefix ?? `bg/v1/${gateway_id}`,
    confirmed_by: isPlain(bound.row) ? "broker" : "service",
  };
}

function serviceIsUp(parts: SyncParts, session: { url: string; took_ms: number }): void {
  parts.service.link = { kind: "up", since: parts.clock.wall() };
  parts.log.info({ event: "service_up", ...session }, `service link is up at ${session.url}`);
  parts.news.ring();
}

function serviceIsDown(parts: SyncParts, failure: { error: unknown; attempt: number; wait: number }): void {
  const reason = failure.error instanceof Error ? failure.error.message : String(failure.error);
  const now = parts.clock.wall();
  const before = parts.service.link;
  parts.service.link = stillDown(before, {
    kind: "down",
    since: now,
    reason,
    advice: "nothing to do: readings are kept and sent when the link is back",
    attempt: failure.attempt,
    next_try_at: now + failure.wait,
  });
  if (before.kind === "up" || before.reason !== reason) {
    parts.log.warn({ event: "service_down", reason }, `service link is down: ${reason}`);
  }
  parts.news.ring();
}
