import type { HttpAnswer, HttpClient } from "../../src/delivery/http/client.ts";
import { ServiceLinkError } from "../../src/domain/link-error.ts";
import type { Dice } from "../scenarios/random.ts";
import { isChunk, type SaidChunk, type ServiceWay, type Told } from "../support/virtual-link.ts";
import { truthfully } from "../support/virtual-service.ts";
import { type Foreign, foreignAnswer, withForeign } from "./field/foreign.ts";
import { HTTP_LIES, lyingAnswer } from "./http-lies.ts";
import { ACK_LIES, lyingAcks } from "./lies.ts";
import type { ChunkTrouble, Lie } from "./story.ts";
import type { Clock } from "../../src/domain/machine.ts";
import type { BatchOutcome, LinkSession, ServiceLink } from "../../src/delivery/port.ts";

/** The faults of the connection to the service, in addition to the virtual service's own switches. */
export interface Uplink {
  /** The fault of HTTP answers; null: the service's answers are unchanged. */
  http: 401 | 403 | 429 | 500 | 503 | "cut" | null;
  /** Active lies in order of their start. */
  readonly lying: Set<Lying>;
  /** Formats that the service accepts, unless a fault changes it. */
  readonly takes: readonly string[];
  /** The present fault of chunks; null: the service accepts them. */
  chunks: Exclude<ChunkTrouble, "not_taken"> | null;
  /** Counts of received messages, and of chunks that were not accepted as a whole. */
  readonly came: Came;
  /** Number of batches that will be delivered twice. */
  doubled: number;
  /** How often the connection has changed so far: faults, their ends, ended sessions. */
  upsets: number;
  /** How often the connection to the service was closed. */
  closings: number;
  /** True instant of the service's last restore from a backup; null: it was not restored. */
  restored_at: number | null;
  /** The broker ends the session after each ack. */
  closes_after_ack: boolean;
  /** Answers that are nested too deeply or too large. */
  readonly foreign: Set<Foreign>;
  /** Functions that end each open session. */
  readonly ends: Set<() => void>;
}

export interface Came {
  chunks: number;
  batches: number;
  refused_chunks: number;
}

/** An active lie. */
export interface Lying {
  readonly lie: Lie;
  /** Number of further answers that are lies. */
  left: number;
  readonly dice: Dice;
}

/** Returns the lie of those kinds for the next answer; null: the answer is true. */
function lyingIn<T extends Lie>(uplink: Uplink, kinds: readonly T[]): { readonly lie: T; readonly dice: Dice } | null {
  for (const lying of uplink.lying) {
    const lie = kinds.find((kind) => kind === lying.lie);
    if (lie === undefined) continue;
    lying.left -= 1;
    if (lying.left === 0) uplink.lying.delete(lying);
    return { lie, dice: lying.dice };
  }
  return null;
}

/** Number of earlier acks that a lie may repeat. */
const MOST_BEFORE = 20;

/** Returns the function that makes the messages on down/ack. */
export function faultyAnswers(uplink: Uplink): ServiceWay["answers"] {
  const before: string[] = [];
  const { came } = uplink;
  const answerOf = (batch: unknown, take: () => Told): readonly string[] => {
    const lying = lyingIn(uplink, ACK_LIES);
    return lying === null ? truthfully(batch, take) : lyingAcks(lying.lie, { batch, take, before }, lying.dice);
  };
  return (batch, take) => {
    const isOfChunk = isChunk(batch);
    came[isOfChunk ? "chunks" : "batches"] += 1;
    const { chunks: how } = uplink;
    const isTroubled = isOfChunk && how !== null;
    if (isTroubled) came.refused_chunks += 1;
    const said = isTroubled
      ? chunkAnswers(how, batch, { take, isTaken: came.chunks % 2 === 0, takes: uplink.takes })
      : answerOf(batch, take);
    before.push(...said);
    before.splice(0, before.length - MOST_BEFORE);
    const foreign = [...uplink.foreign].find((one) => one.in === "ack");
    return foreign === undefined ? said : said.map((text) => withForeign(text, foreign.how));
  };
}

interface Troubled {
  readonly take: () => Told;
  readonly isTaken: boolean;
  readonly takes: readonly string[];
}

/** Returns the answers to a chunk that has a fault. */
function chunkAnswers(
  how: Exclude<ChunkTrouble, "not_taken">,
  { st, s0, first, k, chunk, sent }: SaidChunk,
  { take, isTaken, takes }: Troubled,
): readonly string[] {
  const ack = { st, s0: first, n: k.length, chunk, reject: [], conflict: null, acked_seq: s0 - 1, newest_seq: s0 - 1 };
  const told = { ...ack, server_time: sent, window: 4, takes };
  switch (how) {
    case "refused":
      return [JSON.stringify({ ...told, n: 0, error: "malformed: facts" })];
    case "conflict":
      return [JSON.stringify({ ...told, conflict: s0 })];
    case "silent":
      if (isTaken) take();
      return [];
    case "other_hash":
      return [JSON.stringify({ ...told, chunk: "0".repeat(64) })];
  }
}

export function goodUplink(takes: readonly string[] = ["chunk/1"]): Uplink {
  const came = { chunks: 0, batches: 0, refused_chunks: 0 };
  return {
    takes,
    http: null,
    lying: new Set(),
    chunks: null,
    came,
    doubled: 0,
    upsets: 0,
    closings: 0,
    restored_at: null,
    closes_after_ack: false,
    foreign: new Set(),
    ends: new Set(),
  };
}

/** Delay after which a batch is delivered again, as by a broker that missed an acknowledgement. */
const AGAIN_MS = 3_000;

/** Adds the faults to an HTTP client. `isDown`: the connection is down, so there is no answer, not even a false one. */
export function faultyHttp(http: HttpClient, uplink: Uplink, isDown: () => boolean): HttpClient {
  return {
    async send(request) {
      const { http: fault } = uplink;
      // A rejection replaces the execution of the request. A cut answer follows it.
      if (fault !== null && fault !== "cut") return refusal(fault);
      const lying = lyingIn(uplink, HTTP_LIES);
      if (lying !== null && !isDown())
        return lyingAnswer(lying.lie, { request, send: () => http.send(request) }, lying.dice);
      const answer = foreignAnswer(uplink.foreign, request, await http.send(request));
      return uplink.http === "cut" ? { ...answer, text: answer.text.slice(0, answer.text.length / 2) } : answer;
    },
    close: () => undefined,
  };
}

function refusal(status: number): HttpAnswer {
  const headers = status === 429 ? { "retry-after": "30" } : {};
  return { status, headers, text: JSON.stringify({ error: "not now" }) };
}

export function faultyLink(link: ServiceLink, uplink: Uplink, clock: Clock): ServiceLink {
  return {
    async connect(account, signal) {
      const session = await link.connect(account, signal);
      return faultySession(session, uplink, clock);
    },
  };
}

function faultySession(session: LinkSession, uplink: Uplink, clock: Clock): LinkSession {
  let end: (reason: ServiceLinkError) => void = () => undefined;
  const lost = new Promise<ServiceLinkError>((resolve) => (end = resolve));
  const state = { is_over: false };
  const isOver = (): boolean => state.is_over;
  const cut = (): void => {
    state.is_over = true;
    uplink.upsets += 1;
    end(new ServiceLinkError("closed", "the broker has lost the session"));
  };
  uplink.ends.add(cut);
  const gone = (): never => {
    throw new ServiceLinkError("closed", "the broker has lost the session");
  };
  const send = async (once: () => Promise<BatchOutcome>): Promise<BatchOutcome> => {
    if (isOver()) return { kind: "keep", reason: "the broker has lost the session" };
    if (uplink.doubled > 0) {
      uplink.doubled -= 1;
      void clock
        .sleep(AGAIN_MS)
        .then(once)
        .catch(() => undefined);
    }
    const outcome = await once();
    if (isOver()) return { kind: "keep", reason: "the broker has lost the session" };
    if (uplink.closes_after_ack && outcome.kind === "acked") cut();
    return outcome;
  };
  return {
    ...session,
    closed: Promise.race([session.closed, lost]),
    hello: (booths) => (isOver() ? gone() : session.hello(booths)),
    heartbeat: (booths) => (isOver() ? gone() : session.heartbeat(booths)),
    send: (stream, generation, records) => send(() => session.send(stream, generation, records)),
    sendChunk: (stream, generation, chunk) => send(() => session.sendChunk(stream, generation, chunk)),
    close() {
      uplink.ends.delete(cut);
      return session.close();
    },
  };
}
