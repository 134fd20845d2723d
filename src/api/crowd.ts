import type { Server } from "node:http";
import type { Http2SecureServer } from "node:http2";
import type { Socket } from "node:net";
import type { Milliseconds } from "../domain/units.ts";
import type { Answering, Asking } from "./over-tls.ts";
import { HESITATES_MS, longestStalled, noteReading, type Reading, STALLED_MS, WATCH, type Watch } from "./stalls.ts";

/**
 * Who sends, as far as an address tells: one of IPv4 is one, of IPv6 its network of 64 bits is, since a single machine has as
 * many addresses there as it likes.
 */
export function senderOf(address: string | undefined): string {
  const plain = (address ?? "").replace(/%.*$/, "").replace(/^::ffff:(?=[0-9.]+$)/i, "");
  if (!plain.includes(":")) return plain;
  const [front = "", back] = plain.split("::");
  const groups = front.split(":").filter((group) => group !== "");
  const rest = (back ?? "").split(":").filter((group) => group !== "");
  const zeros = back === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length);
  return `${[...groups, ...Array.from({ length: zeros }, () => "0"), ...rest].slice(0, 4).join(":")}::/64`;
}

/** An answer under way. */
interface Stream extends Reading {
  readonly response: Answering;
  readonly socket: Pick<Socket, "bytesWritten" | "writableLength">;
}

interface Guest {
  readonly sender: string;
  /** Answers under way on the connection, the oldest first. */
  readonly streams: Set<Stream>;
  leave(): void;
}

interface Room {
  /** Connections of all senders together. */
  readonly total: number;
  /** Connections of one sender. */
  readonly each: number;
}

/**
 * Keeps senders from taking every connection of a server, and lets a new reader in when the connections are used up. If a sender's share
 * or the whole is full, one connection ends: the one that has waited longest without a request, of that sender or else of the senders
 * with most connections; then the one whose reader has taken nothing for longest; then, if the whole is full, the busiest sender's
 * oldest. Only a sender whose own connections are all being read, or that has as many as any other, is turned away.
 *
 * An answer that its reader does not take ends after `STALLED_MS`, also if there is room.
 */
export function keepRoom(server: Server | Http2SecureServer, room: Room, watch: Watch = WATCH): void {
  const guests = new Map<string | Socket, Guest>();
  const streams = new Set<Stream>();
  let stopWatching: (() => void) | null = null;
  const look = (): void => {
    const now = watch.mono();
    for (const stream of streams) {
      noteStream(stream, now);
      if (now - stream.took_at >= STALLED_MS) stream.response.destroy();
    }
  };
  const begin = (guest: Guest, stream: Stream): void => {
    guest.streams.add(stream);
    streams.add(stream);
    stopWatching ??= watch.repeat(look);
    stream.response.once("close", () => {
      guest.streams.delete(stream);
      streams.delete(stream);
      if (streams.size > 0) return;
      stopWatching?.();
      stopWatching = null;
    });
  };
  server.on("connection", (socket: Socket) => {
    const sender = senderOf(socket.remoteAddress);
    const crowd = crowdFor(sender, [...guests.values()], room);
    const leaver = crowd === null ? undefined : leaverOf(crowd, sender, watch.mono());
    if (crowd !== null && leaver === undefined) {
      socket.destroy();
      return;
    }
    leaver?.leave();
    const key = keyOf(socket);
    const leave = (): void => {
      guests.delete(key);
      socket.destroy();
    };
    guests.set(key, { sender, streams: new Set(), leave });
    socket.once("close", () => guests.delete(key));
  });
  server.on("request", ({ socket }: Asking, response: Answering) => {
    const guest = guests.get(keyOf(socket));
    if (guest === undefined) return;
    begin(guest, { response, socket, unread: 0, flushed: 0, took_at: watch.mono() });
  });
}

function noteStream(stream: Stream, now: Milliseconds): void {
  const { response, socket } = stream;
  noteReading(stream, { unread: response.writableLength, flushed: socket.bytesWritten - socket.writableLength }, now);
}

/** Those of whom one has to leave for a newcomer, the most numerous sender first; null: there is room. */
function crowdFor(sender: string, guests: readonly Guest[], { total, each }: Room): readonly Guest[] | null {
  const own = guests.filter((guest) => guest.sender === sender);
  if (own.length >= each) return own;
  return guests.length >= total ? largestFirst(guests) : null;
}

function leaverOf(crowd: readonly Guest[], newcomer: string, now: Milliseconds): Guest | undefined {
  const idle = crowd.find(({ streams }) => streams.size === 0);
  if (idle !== undefined) return idle;
  const readers = crowd.map((guest) => {
    for (const stream of guest.streams) noteStream(stream, now);
    // A connection is read as long as any of its answers is.
    return { guest, took_at: Math.max(...[...guest.streams].map(({ took_at }) => took_at)) };
  });
  const stalled = longestStalled(readers, { now, over_ms: HESITATES_MS });
  if (stalled !== undefined) return stalled.guest;
  // Bytes that the kernels of both sides hold look as if they were read: the largest crowd makes room all the same.
  const [largest] = crowd;
  const count = (sender: string): number => crowd.filter((guest) => guest.sender === sender).length;
  return largest !== undefined && count(newcomer) < count(largest.sender) ? largest : undefined;
}

function largestFirst(guests: readonly Guest[]): readonly Guest[] {
  const crowds = [...Map.groupBy(guests, ({ sender }) => sender).values()];
  return crowds.sort((one, other) => other.length - one.length).flat();
}

/** By address and port: of a TLS connection the request knows another object. A unix socket has no address, and one object. */
function keyOf(socket: Socket): string | Socket {
  const { remoteAddress, remotePort } = socket;
  return remoteAddress === undefined ? socket : `${remoteAddress} ${String(remotePort)}`;
}

/** Senders remembered. */
const MAX_SENDERS = 1_000;

/** Notes what is now known of the sender; the one that has been silent longest is forgotten. */
export function remember<T>(senders: Map<string, T>, sender: string, now: T): void {
  senders.delete(sender);
  senders.set(sender, now);
  const [oldest] = senders.keys();
  if (senders.size > MAX_SENDERS && oldest !== undefined) senders.delete(oldest);
}

/**
 * Token buckets by sender: each may ask `burst` at once and `per_s` for ever; one forgotten has its full allowance again. Returns
 * whether one more request is allowed now.
 */
export function createRate(
  { per_s, burst }: { readonly per_s: number; readonly burst: number },
  mono: () => number,
): (sender: string) => boolean {
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  return (sender) => {
    const now = mono();
    const { tokens, at } = buckets.get(sender) ?? { tokens: burst, at: now };
    const filled = Math.min(burst, tokens + ((now - at) * per_s) / 1000);
    const isAllowed = filled >= 1;
    remember(buckets, sender, { tokens: isAllowed ? filled - 1 : filled, at: now });
    return isAllowed;
  };
}
