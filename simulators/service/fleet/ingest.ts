import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Downlink, parseMessage, TAKES } from "../ingest/uplink.ts";
import type { Uplink, Uplinks } from "../storage/port.ts";
import { commitBeats } from "./beats.ts";
import { isUnavailable } from "../storage/postgres/line.ts";
import { namesOf } from "./beforehand.ts";
import { commitHellos, type Hello } from "./hellos.ts";
import { laggingOf } from "./lagging.ts";
import { commitMessages, type Judged } from "./micro-batch.ts";
import { offeredBy, type Offering } from "./offering.ts";
import { SERVER_SETTINGS, settingsOf } from "../storage/postgres/settings.ts";

/** Messages of one transaction, and their bytes: what a commit costs is shared by so many, and none waits long for it. */
const MOST_MESSAGES = 200;
const MOST_BYTES = 8 * 1024 * 1024;
/**
 * Wait of a transaction's first message for others, in ms. It grows with the size of the last transaction, because
 * messages share its fixed cost. Below 250 messages a second it falls to `least`, above that it rises to `most`.
 */
const GATHER_MS = { least: 20, most: 250, for_each: 4 };
/** Transactions under way at once: one is read while another is written. */
const AT_ONCE = 2;
/**
 * Every statement here looks a few rows up by their keys; planned for arrays of any length it may read a whole table instead, which then
 * costs most of all that the server does.
 */
const BY_KEYS = `${SERVER_SETTINGS} -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan`;
/** A transaction that another one was in the way of is tried again so often. */
const TRIES = 3;

interface IngestOptions {
  readonly url: string;
  /** Takes one message by itself, by the way that SQLite has as well: whatever isn't simply new. */
  readonly alone: (uplink: Uplink) => Downlink | Promise<Downlink>;
  /** The most; default 250. */
  readonly gather_ms?: number;
}

interface Waiting {
  readonly uplink: Uplink;
  readonly came: number;
  readonly resolve: (downlink: Downlink) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Takes in what many gateways send by transactions over all of them: streams are locked in the order of their ids, what is new is kept as it
 * came, and only then each is answered. What isn't simply new (held already, in part, another content, a clock's word, a gap) is taken by
 * itself. Messages of one gateway keep their order.
 */
export function startIngest({ url, alone, gather_ms = GATHER_MS.most }: IngestOptions): Uplinks<Downlink> {
  const pool = new pg.Pool({ ...settingsOf(url), options: BY_KEYS, max: AT_ONCE + 1, idleTimeoutMillis: 10_000 });
  pool.on("error", () => undefined);
  // A connection in use reports its end by the statement that fails.
  pool.on("connect", (client) => void client.on("error", () => undefined));
  const queue: Waiting[] = [];
  const busy = new Set<string>();
  let running = 0;
  let waiting = 0;
  let ended = false;
  let last = 0;
  let gathering = false;

  const pump = (): void => {
    while (running < AT_ONCE) {
      const taken = takenFrom(queue, busy);
      if (taken.length === 0) return;
      running += 1;
      last = taken.length;
      for (const { uplink } of taken) busy.add(uplink.gateway);
      void carriedOut({ pool, alone }, taken).finally(() => {
        running -= 1;
        for (const { uplink } of taken) busy.delete(uplink.gateway);
        gather();
      });
    }
  };
  const gather = (): void => {
    const [oldest] = queue;
    if (gathering || running >= AT_ONCE || oldest === undefined) return;
    gathering = true;
    const wait = Math.min(gather_ms, Math.max(GATHER_MS.least, last * GATHER_MS.for_each));
    const left = queue.length >= MOST_MESSAGES ? 0 : oldest.came + wait - performance.now();
    void sleep(Math.max(0, left)).then(() => {
      gathering = false;
      pump();
    });
  };
  return {
    take: (uplink) => {
      if (ended) return Promise.reject(new Error("the service ends"));
      waiting += 1;
      const came = performance.now();
      const answered = new Promise<Downlink>((resolve, reject) => queue.push({ uplink, came, resolve, reject }));
      gather();
      return answered.finally(() => (waiting -= 1));
    },
    waiting: () => waiting,
    stop: async () => {
      ended = true;
      for (const { reject } of queue.splice(0)) reject(new Error("the service ends"));
      while (running > 0) await sleep(5);
      await pool.end();
    },
  };
}

/** The next messages in order, but for those of gateways that are busy, and heartbeats beyond a gateway's first. */
function takenFrom(queue: Waiting[], busy: ReadonlySet<string>): Waiting[] {
  const taken: Waiting[] = [];
  const left: Waiting[] = [];
  const held = new Set<string>();
  const beating = new Set<string>();
  let bytes = 0;
  for (const one of queue) {
    const { gateway, topic, payload } = one.uplink;
    const isSecond = topic === "state" && beating.has(gateway);
    const isFull = taken.length >= MOST_MESSAGES || bytes >= MOST_BYTES;
    if (isFull || isSecond || busy.has(gateway) || held.has(gateway)) {
      held.add(gateway);
      left.push(one);
      continue;
    }
    if (topic === "state") beating.add(gateway);
    bytes += payload.byteLength;
    taken.push(one);
  }
  queue.splice(0, queue.length, ...left);
  return taken;
}

interface Means extends Pick<IngestOptions, "alone"> {
  readonly pool: pg.Pool;
}

/** Answers each of them. */
async function carriedOut({ pool, alone }: Means, taken: readonly Waiting[]): Promise<void> {
  const offerings = new Map<Waiting, Offering>();
  const beats: Waiting[] = [];
  const hellos = new Map<Hello, Waiting>();
  for (const one of taken) {
    const { uplink } = one;
    const offering = offeredBy(uplink);
    if (offering !== undefined) offerings.set(one, offering);
    else if (uplink.topic === "state") beats.push(one);
    const message = uplink.topic === "hello" ? parseMessage(uplink.payload) : undefined;
    if (message !== undefined) hellos.set({ uplink, message }, one);
  }
  const settled = new Set<Waiting>();
  const settle = (one: Waiting, downlink: Downlink): void => {
    settled.add(one);
    one.resolve(downlink);
  };
  try {
    const told = beats.map((one) => ({ ...one.uplink, one, message: parseMessage(one.uplink.payload) }));
    const greetings = Array.from(hellos.keys(), (hello) => ({
      gateway: hello.uplink.gateway,
      hello,
      message: hello.message,
    }));
    // A gateway of which the service lacks records is answered by itself.
    const lagging = await laggingOf<(typeof told)[number] | (typeof greetings)[number]>(pool, [...told, ...greetings]);
    const usual = told.filter((beat) => !lagging.has(beat));
    await commitBeats(pool, usual);
    for (const { one, message } of usual) settle(one, message === undefined ? {} : { commands: [] });
    const heard = greetings.filter((greeting) => !lagging.has(greeting)).map(({ hello }) => hello);
    const greeted = heard.length === 0 ? [] : await commitHellos(pool, heard);
    for (const [hello, commands] of greeted) {
      const one = hellos.get(hello);
      if (one !== undefined) settle(one, { commands });
    }
    const judged = await committed(pool, [...offerings.values()]);
    for (const [one, offering] of offerings) {
      const ack = judged?.get(offering);
      if (ack !== undefined) settle(one, { ack: { ...ack, takes: TAKES } });
    }
  } catch (error) {
    if (isUnavailable(error)) {
      for (const one of taken) if (!settled.has(one)) one.reject(error);
      return;
    }
    // A message of these is faulty: each is taken alone.
  }
  for (const one of taken) {
    if (settled.has(one)) continue;
    try {
      one.resolve(await alone(one.uplink));
    } catch (error) {
      one.reject(error);
    }
  }
}

/** Commits the offerings in one transaction; retries if another transaction interfered. */
async function committed(pool: pg.Pool, offerings: readonly Offering[]): Promise<Judged | undefined> {
  if (offerings.length === 0) return undefined;
  const names = await namesOf(pool, offerings);
  for (let tries = 1; ; tries += 1) {
    try {
      return await commitMessages(pool, { offerings, names });
    } catch (error) {
      const isInTheWay = error instanceof pg.DatabaseError && /^40/.test(error.code ?? "");
      if (!isInTheWay || tries >= TRIES) throw error;
    }
  }
}
