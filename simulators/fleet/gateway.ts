import { randomBytes, randomUUID } from "node:crypto";
import type { DeliveryGateway } from "../../src/delivery/context.ts";
import type { BatchOutcome, LinkAccount, LinkSession, ServiceLink } from "../../src/delivery/port.ts";
import { resend } from "../../src/delivery/resend.ts";
import { sessionLoop } from "../../src/delivery/session.ts";
import type { HeardCommand } from "../../src/domain/command.ts";
import { newServiceState } from "../../src/domain/link-status.ts";
import type { Clock, Logger, Random } from "../../src/domain/machine.ts";
import { KIND, type Placed } from "../../src/domain/record.ts";
import type { ServiceTime } from "../../src/domain/service-time.ts";
import { createSignals } from "../../src/domain/signal.ts";
import { seededSequence } from "../network/faults.ts";
import { type VirtualBooth, virtualBooth } from "./booth.ts";
import { type History, recordHash } from "./history.ts";
import type { Meter } from "./meter.ts";
import type { DeliveredLog } from "../../src/delivery/port.ts";
import { mixed, readingsIn, recordsOf } from "./virtual-log.ts";

const HEARTBEAT_MS = 60_000;

/** A gateway as the service sees it: the agent's own delivery over virtual booths. */
export interface VirtualGateway {
  readonly id: string;
  readonly credential: string;
  readonly booths: readonly VirtualBooth[];
  /** The gateway reads its messages late. */
  slow: boolean;
  /** Starts its delivery, which runs until `stop`. */
  start(): void;
  /** Simulates a lost network or a switched-off gateway. */
  stop(): Promise<void>;
  /** Ends the open session, if any. Its delivery reconnects by itself. */
  cut(): Promise<void>;
  commit(): void;
}

export interface GatewayParts {
  readonly clock: Clock;
  readonly store: DeliveredLog;
  readonly link: (account: LinkAccount, isSlow: boolean) => ServiceLink;
  readonly meter: Meter;
  /** Notes each offer and ack. */
  readonly history?: History | undefined;
}

interface NewGateway {
  readonly id: string;
  readonly seed: number;
  readonly booths: readonly { readonly serial: string; readonly stream: string }[];
}

export function virtualGateway(parts: GatewayParts, { id, seed, booths: of }: NewGateway): VirtualGateway {
  const { clock, meter, store } = parts;
  const signals = createSignals(clock);
  const booths = of.map(({ serial, stream }, index) =>
    virtualBooth({ clock, signals: signals.own(), serial, stream, seed: mixed(seed, index) }),
  );
  const credential = randomBytes(32).toString("hex");
  let running: { readonly stopping: AbortController; readonly over: Promise<void> } | null = null;
  let session: LinkSession | null = null;
  const own: VirtualGateway = {
    id,
    credential,
    booths,
    slow: false,
    start() {
      if (running !== null) return;
      const stopping = new AbortController();
      running = { stopping, over: sessionLoop(gateway, booths, stopping.signal) };
    },
    async stop() {
      const was = running;
      running = null;
      was?.stopping.abort(new Error("stopped"));
      await was?.over;
    },
    async cut() {
      await session?.close();
    },
    commit() {
      for (const booth of booths) booth.commit();
    },
  };
  const resending = { clock, store, news: signals.news, backlog_rate: null, session: () => session };
  const backfill = backfiller(booths, resending);
  const gateway: DeliveryGateway = {
    ...signals,
    clock,
    random: seededRandom(seed),
    log: countingLog(meter),
    identity: { gateway: () => Promise.resolve({ gateway_id: id, credential }) },
    store,
    link: {
      async connect(account, signal) {
        const now = await metered(meter, parts.link(account, own.slow), { account, signal });
        session = parts.history === undefined ? now : noted(now, parts.history, { id, booths });
        return session;
      },
    },
    service: newServiceState(clock.wall()),
    heartbeat_interval_ms: HEARTBEAT_MS,
    broker_url: null,
    backlog_rate: null,
    firstKey: () => Promise.resolve(null),
    new_key: { candidate: () => null, connected: () => Promise.resolve(), refused: () => undefined },
    commands: { setSession: (now) => now?.commands((heard) => void backfill(heard, running?.stopping.signal)) },
    rename(delivered, from_seq, forked) {
      const booth = booths.find((one) => one.state === delivered.state);
      booth?.rename({ from_seq, ...(forked === undefined ? {} : { forked }) });
      return Promise.resolve();
    },
    turned: () => undefined,
  };
  return own;
}

/** Returns a function that sends records again that the service requests, once for each command. */
function backfiller(booths: readonly VirtualBooth[], resending: Parameters<typeof resend>[0]) {
  const begun = new Set<string>();
  return async (heard: HeardCommand, signal: AbortSignal | undefined): Promise<void> => {
    if (heard.kind !== "command" || heard.command.order.type !== "backfill" || signal === undefined) return;
    const { id: cmd_id, order } = heard.command;
    const booth = booths.find((one) => one.serial === order.serial);
    if (booth === undefined || begun.has(cmd_id)) return;
    begun.add(cmd_id);
    try {
      const wanted = { state: booth.state, stream: order.stream_id, wanted: [order.ranges] };
      const [sum = null] = await resend(resending, wanted, signal);
      await resending.session()?.say({ kind: "result", result: { cmd_id, state: "done", result: sum, error: "" } });
    } catch {
      // The gateway stopped or lost its session. The service repeats the command in the next one.
      begun.delete(cmd_id);
    }
  };
}

/** Returns random numbers for the seed. */
export function seededRandom(seed: number): Random {
  return {
    next: seededSequence(seed),
    uuid: () => randomUUID(),
    bytes: (count) => new Uint8Array(randomBytes(count)),
  };
}

/** Virtual gateways have the right clock, so they ignore the service's time. */
export const NO_SERVICE_TIME: ServiceTime = {
  heard: () => undefined,
  verdict: () => ({ synced: true, offset_ms: 0 }),
};

/** A logger that only counts events by name: ten thousand gateways would flood a log. */
export function countingLog({ events }: Pick<Meter, "events">): Logger {
  const count = (fields: Readonly<Record<string, unknown>>): void => {
    const { event } = fields;
    if (typeof event === "string") events.set(event, (events.get(event) ?? 0) + 1);
  };
  return { debug: () => undefined, info: count, warn: count, error: count };
}

async function metered(
  meter: Meter,
  link: ServiceLink,
  { account, signal }: { readonly account: LinkAccount; readonly signal: AbortSignal },
): Promise<LinkSession> {
  const session = await link.connect(account, signal).catch((error: unknown) => {
    if (!signal.aborted) meter.failed_connects += 1;
    throw error;
  });
  meter.connected += 1;
  meter.sessions += 1;
  let isOver = false;
  const over = (): void => {
    if (!isOver) meter.connected -= 1;
    isOver = true;
  };
  void session.closed.then(over);
  return {
    ...session,
    send(stream, generation, records) {
      let readings = 0;
      for (const { kind } of records) if (kind === KIND.reading) readings += 1;
      return timed(meter, { records: records.length, readings }, session.send(stream, generation, records));
    },
    sendChunk(stream, generation, chunk) {
      const records = chunk.to - chunk.from + 1;
      meter.chunks += 1;
      return timed(meter, { records, readings: readingsIn(records) }, session.sendChunk(stream, generation, chunk));
    },
    close() {
      over();
      return session.close();
    },
  };
}

/** Notes the session's offers and acks in the history. The contents are those of the booths' logs. */
function noted(
  session: LinkSession,
  history: History,
  { id: gateway, booths }: Pick<VirtualGateway, "id" | "booths">,
): LinkSession {
  const note = async (
    { stream, records }: { readonly stream: string; readonly records: readonly Placed[] },
    send: () => Promise<BatchOutcome>,
  ): Promise<BatchOutcome> => {
    const from = records[0]?.seq;
    if (from === undefined) return send();
    const offer = { gateway, stream, from, hashes: records.map(recordHash) };
    const id = history.offered(offer);
    const outcome = await send();
    if (outcome.kind !== "acked") return outcome;
    history.acked(
      { ...offer, id },
      from + records.length - 1,
      outcome.rejected.map(({ seq }) => seq),
    );
    return outcome;
  };
  return {
    ...session,
    send: (stream, generation, records) => note({ stream, records }, () => session.send(stream, generation, records)),
    sendChunk(stream, generation, chunk) {
      const booth = booths.find(({ names }) => names.some((name) => name.stream === stream));
      if (booth === undefined) throw new Error(`no booth has the stream ${stream}`);
      const records = recordsOf(booth.log, chunk.from, chunk.to);
      return note({ stream, records }, () => session.sendChunk(stream, generation, chunk));
    },
  };
}

async function timed(
  meter: Meter,
  { records, readings }: { readonly records: number; readonly readings: number },
  sending: Promise<BatchOutcome>,
): Promise<BatchOutcome> {
  const began = performance.now();
  meter.sent += 1;
  const outcome = await sending;
  const took = performance.now() - began;
  if (outcome.kind === "acked") {
    meter.acked += 1;
    meter.records += records;
    meter.readings += readings;
    meter.all.add(took);
    meter.recent.add(took);
  } else if (outcome.kind === "conflict") meter.conflicts += 1;
  else meter.unanswered += 1;
  return outcome;
}
