import { deflateRawSync } from "node:zlib";
import { chunkMessage, factLines } from "../../src/contract/chunk.ts";
import { sha256 } from "../../src/contract/hash.ts";
import type { BoothSetup } from "../../src/acquisition/link.ts";
import type { AgentSetup } from "../../src/runtime/gateway.ts";
import type { LogRecord, Stored } from "../../src/domain/record.ts";
import type { Driver, GroupSamples } from "../../src/acquisition/port.ts";
import { parseAck } from "../../src/delivery/mqtt/link.ts";
import type { LinkSession } from "../../src/delivery/port.ts";
import type { Bug } from "./bug.ts";
import { FIELD_BUGS } from "./field/bugs.ts";
import { OUTPUT_BUGS } from "./outputs/bugs.ts";
import type { Fold } from "../../src/store/facts/fold.ts";

const never = new Promise<never>(() => undefined);
/** Longer than any story. */
const FOR_EVER_MS = 1_000_000_000;
const LONG_MS = 120_000;

function lostTail(parts: AgentSetup): AgentSetup {
  return { ...parts, tail: { ...parts.tail, leftover: () => parts.tail.leftover().slice(0, -1) } };
}

function farCursor(parts: AgentSetup): AgentSetup {
  return { ...parts, store: { ...parts.store, ack: (stream, upTo) => parts.store.ack(stream, upTo + 40) } };
}

/** Answers each request after a failure with the answer to the previous request. */
function lateAnswers(parts: AgentSetup): AgentSetup {
  let late = false;
  const last = new Map<string, GroupSamples>();
  const lateDriver = (driver: Driver): Driver => ({
    ...driver,
    async read(groups) {
      const before = last.get(groups.join(" "));
      try {
        const samples = await driver.read(groups);
        last.set(groups.join(" "), samples);
        return late && before !== undefined ? before : samples;
      } catch (error) {
        late = true;
        throw error;
      }
    },
  });
  const booths = parts.booths.map((booth): BoothSetup => ({
    ...booth,
    makeDriver: (passwords) => lateDriver(booth.makeDriver(passwords)),
  }));
  return { ...parts, booths };
}

/** Reports the first cycle after a step of the wall clock twice. */
function doubleCount(fold: Fold): Fold {
  let stepped = false;
  return {
    ...fold,
    step(state, record) {
      if (record.kind === "t" && record.value.state === "stepped") stepped = true;
      const out = fold.step(state, record);
      const again = stepped ? out.facts.filter(({ kind }) => kind === "c") : [];
      if (again.length > 0) stepped = false;
      return { ...out, facts: [...out.facts, ...again] };
    },
  };
}

function missedChange(fold: Fold): Fold {
  let last = 0;
  let silent = false;
  const look = (record: Stored<LogRecord>): void => {
    if (record.kind !== "h" || record.value.polls === 0) return;
    silent = record.value.from - last > LONG_MS || record.value.from < last;
    last = record.value.to;
  };
  return {
    ...fold,
    step(state, record) {
      look(record);
      const out = fold.step(state, record);
      return silent ? { ...out, facts: out.facts.filter(({ kind }) => kind !== "f") } : out;
    },
  };
}

/** Doesn't report the end of a session, from the second session on. */
function lostWakeUp(parts: AgentSetup): AgentSetup {
  let sessions = 0;
  const deaf = (session: LinkSession): LinkSession => {
    const state = { is_over: false };
    void session.closed.then(() => (state.is_over = true));
    return {
      ...session,
      closed: never,
      heartbeat: (booths) => (state.is_over ? never : session.heartbeat(booths).catch(() => never)),
      send: async (stream, generation, records) => {
        const outcome = await session.send(stream, generation, records);
        return outcome.kind === "keep" ? never : outcome;
      },
      sendChunk: async (stream, generation, chunk) => {
        const outcome = await session.sendChunk(stream, generation, chunk);
        return outcome.kind === "keep" ? never : outcome;
      },
    };
  };
  const { link } = parts;
  return {
    ...parts,
    link: {
      connect: async (account, signal) => {
        const session = await link.connect(account, signal);
        return ++sessions > 1 ? deaf(session) : session;
      },
    },
  };
}

function leak(parts: AgentSetup): AgentSetup {
  const { link, clock } = parts;
  return {
    ...parts,
    link: {
      connect(account, signal) {
        void clock.sleep(FOR_EVER_MS);
        return link.connect(account, signal);
      },
    },
  };
}

function silentEviction(parts: AgentSetup): AgentSetup {
  const { store } = parts;
  const read: typeof store.read = async (stream, from, limit) =>
    (await store.read(stream, from, limit)).filter(({ kind }) => kind !== "g");
  return { ...parts, store: { ...store, read } };
}

function newClaims(parts: AgentSetup): AgentSetup {
  const { api, random } = parts;
  return { ...parts, api: { ...api, claim: (key, claim) => api.claim(key, { ...claim, claim_id: random.uuid() }) } };
}

type HeardAck = Parameters<NonNullable<Bug["hear"]>>[0];

interface Said {
  readonly st?: unknown;
  readonly s0?: unknown;
  readonly chunk?: unknown;
  readonly window?: unknown;
  readonly server_time?: unknown;
}

/** Parses the JSON of a packet; null: not JSON. */
function saidIn(payload: Buffer): Said | null {
  try {
    return JSON.parse(payload.toString("utf8")) as Said | null;
  } catch {
    // Most payloads that aren't JSON are false messages too.
    return null;
  }
}

function anyConflict(hear: HeardAck): HeardAck {
  return (parts, acking, payload) => {
    const ack = parseAck(payload);
    const seq = ack?.conflict ?? 0;
    if (ack !== null && seq > 0)
      for (const entry of acking.waiting.all())
        if (entry.outcome(ack, false) !== null)
          entry.settle({ kind: "conflict", seq, held_seq: 0, rejected: [], is_proven: true });
    hear(parts, acking, payload);
  };
}

function anyTime(hear: HeardAck): HeardAck {
  return (parts, acking, payload) => {
    const { server_time: time } = saidIn(payload) ?? {};
    for (const { sent } of acking.waiting.all())
      if (typeof time === "number")
        parts.service_time.heard({ source: "ack", time, sent, received: parts.clock.mono() });
    hear(parts, acking, payload);
  };
}

function anyStream(hear: HeardAck): HeardAck {
  const streams = new Set<unknown>();
  return (parts, acking, payload) => {
    const said = saidIn(payload);
    if (said !== null) streams.add(said.st);
    for (const st of said === null ? [] : streams) hear(parts, acking, Buffer.from(JSON.stringify({ ...said, st })));
  };
}

function shutWindow(hear: HeardAck): HeardAck {
  const shut = new WeakSet<object>();
  return (parts, acking, payload) => {
    hear(parts, acking, payload);
    if (saidIn(payload)?.window === 0) shut.add(acking);
    if (shut.has(acking)) acking.window = 0;
  };
}

/** Matches the ack of a chunk by stream and first seq only, not by hash. */
function unhashedChunks(): Pick<Bug, "parts" | "hear"> {
  const hashes = new Map<string, string>();
  const noting = (session: LinkSession, gateway_id: string): LinkSession => ({
    ...session,
    sendChunk(stream, generation, chunk) {
      const facts = chunk.facts.length === 0 ? Buffer.alloc(0) : deflateRawSync(factLines(chunk.facts));
      const message = chunkMessage({ gateway_id, generation, stream }, chunk, facts);
      hashes.set(`${stream} ${chunk.first_seq}`, sha256(message));
      return session.sendChunk(stream, generation, chunk);
    },
  });
  return {
    parts: (parts) => ({
      ...parts,
      link: {
        connect: async (account, signal) => noting(await parts.link.connect(account, signal), account.gateway_id),
      },
    }),
    hear: (hear) => (parts, acking, payload) => {
      const said = saidIn(payload);
      const hash = said?.chunk === undefined ? undefined : hashes.get(`${String(said.st)} ${String(said.s0)}`);
      hear(parts, acking, hash === undefined ? payload : Buffer.from(JSON.stringify({ ...said, chunk: hash })));
    },
  };
}

/** Reports a conflict also for the batches that replace a chunk with a conflict, without end. */
function forkingChunks(parts: AgentSetup): AgentSetup {
  const { link } = parts;
  const named = new Set<number>();
  const forking = (session: LinkSession): LinkSession => ({
    ...session,
    async sendChunk(stream, generation, chunk) {
      const outcome = await session.sendChunk(stream, generation, chunk);
      if (outcome.kind === "conflict") named.add(chunk.from);
      return outcome;
    },
    send(stream, generation, records) {
      const seq = records.find((record) => named.has(record.seq))?.seq;
      if (seq === undefined) return session.send(stream, generation, records);
      return Promise.resolve({ kind: "conflict", rejected: [], is_proven: true, held_seq: 0, seq });
    },
  });
  return {
    ...parts,
    link: { connect: async (account, signal) => forking(await link.connect(account, signal)) },
  };
}

/** Doesn't state the cursor in hellos and heartbeats. */
function silentCursor(parts: AgentSetup): AgentSetup {
  const mute = <T extends { readonly acked_seq: number }>(booths: readonly T[]): T[] =>
    booths.map((booth) => ({ ...booth, acked_seq: 0 }));
  const silent = (session: LinkSession): LinkSession => ({
    ...session,
    hello: (booths) => session.hello(mute(booths)),
    heartbeat: (booths) => session.heartbeat(mute(booths)),
  });
  const { link } = parts;
  return { ...parts, link: { connect: async (account, signal) => silent(await link.connect(account, signal)) } };
}

/** Bugs that the simulation must find. */
export const BUGS: readonly Bug[] = [
  { name: "an ack before the commit is durable", seed: 6, is_sync_late: true },
  { name: "a tail file (readings not yet committed) that loses its last entry", seed: 21, parts: lostTail },
  { name: "an ack cursor that is moved too far", seed: 2, parts: farCursor },
  { name: "a late PLC answer that is used for a later request", seed: 45, parts: lateAnswers },
  { name: "a cycle that is counted twice after a clock step", seed: 3, fold: doubleCount },
  { name: "a filter change that is missed in a gap", seed: 31, fold: missedChange },
  { name: "a lost wake-up after a reconnect", seed: 77, parts: lostWakeUp },
  { name: "a memory leak at each reconnect", seed: 1, parts: leak },
  { name: "a deletion of records without a gap record", seed: 13, parts: silentEviction },
  { name: "a new claim id in each retry", seed: 3, parts: newClaims },
  { name: "a conflict that is accepted outside the sent range", seed: 3, hear: anyConflict },
  { name: "a server_time that is accepted from an ack without a valid hash", seed: 9, hear: anyTime },
  { name: "an ack of another stream that settles a batch", seed: 25, hear: anyStream },
  { name: "a window of 0 that is kept forever", seed: 27, hear: shutWindow },
  { name: "a chunk ack that is accepted with another hash", seed: 2, ...unhashedChunks() },
  { name: "a conflict of a chunk that gives the log a new stream name", seed: 5, parts: forkingChunks },
  { name: "a cursor that a restored service isn't told", seed: 85, parts: silentCursor },
  ...OUTPUT_BUGS,
  ...FIELD_BUGS,
];
