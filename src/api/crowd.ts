import type { Server } from "node:http";
import type { Http2SecureServer } from "node:http2";
import type { Socket } from "node:net";
import type { Milliseconds } from "../domain/units.ts";
import type { Answering, Asking } from "./over-tls.ts";
import { leaverFor, noteReading, type Places, type Reading, STALLED_MS, WATCH, type Watch } from "./stalls.ts";

/**
 * Returns the sender to which an address belongs. For IPv6 it is the /64 network, because a machine can use any number of addresses in its
 * network.
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

/** A response that is being sent. */
interface Stream extends Reading {
  readonly response: Answering;
  readonly socket: Pick<Socket, "bytesWritten" | "writableLength">;
}

/** An open connection. */
interface Guest {
  readonly sender: string;
  readonly streams: Set<Stream>;
  leave(): void;
}

/**
 * Limits the connections of a server in total and per sender. If a new connection exceeds a limit, an idle connection is closed, or else
 * the one whose reader has stalled for longest (`leaverFor`). A response whose reader receives nothing for `STALLED_MS` is ended in any
 * case.
 */
export function keepRoom(server: Server | Http2SecureServer, places: Places, watch: Watch = WATCH): void {
  const guests = new Map<string | Socket, Guest>();
  const streams = new Set<Stream>();
  let stopWatching: (() => void) | null = null;
  const endStalled = (): void => {
    const now = watch.mono();
    for (const stream of streams) {
      noteStream(stream, now);
      if (now - stream.took_at >= STALLED_MS) stream.response.destroy();
    }
  };
  server.on("connection", (socket: Socket) => {
    const sender = senderOf(socket.remoteAddress);
    const now = watch.mono();
    const holders = [...guests.values()].map((guest) => ({ sender: guest.sender, guest, took_at: tookAt(guest, now) }));
    const leaver = leaverFor(sender, holders, { ...places, now });
    if (leaver === "nobody") {
      socket.destroy();
      return;
    }
    leaver?.guest.leave();
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
    const stream = { response, socket, unread: 0, flushed: 0, took_at: watch.mono() };
    guest.streams.add(stream);
    streams.add(stream);
    stopWatching ??= watch.repeat(endStalled);
    response.once("close", () => {
      guest.streams.delete(stream);
      streams.delete(stream);
      if (streams.size > 0) return;
      stopWatching?.();
      stopWatching = null;
    });
  });
}

function noteStream(stream: Stream, now: Milliseconds): void {
  const { response, socket } = stream;
  noteReading(stream, { unread: response.writableLength, flushed: socket.bytesWritten - socket.writableLength }, now);
}

/** Returns when the connection's reader last received bytes of any response; -Infinity if no response is being sent. */
function tookAt({ streams }: Guest, now: Milliseconds): Milliseconds {
  for (const stream of streams) noteStream(stream, now);
  return Math.max(...[...streams].map(({ took_at }) => took_at));
}

/**
 * Returns the key of a connection: address and port, because requests over TLS have another socket object. A unix socket has no address,
 * but always the same object.
 */
function keyOf(socket: Socket): string | Socket {
  const { remoteAddress, remotePort } = socket;
  return remoteAddress === undefined ? socket : `${remoteAddress} ${String(remotePort)}`;
}

/** Maximum number of senders whose state is kept. */
const MAX_SENDERS = 1_000;

/** Stores the state of a sender. If there are too many senders, drops the one that was silent for longest. */
export function remember<T>(senders: Map<string, T>, sender: string, now: T): void {
  senders.delete(sender);
  senders.set(sender, now);
  const [oldest] = senders.keys();
  if (senders.size > MAX_SENDERS && oldest !== undefined) senders.delete(oldest);
}

/**
 * Limits the rate of requests with a token bucket per sender: `burst` requests at once, then `per_s`. A dropped sender starts again with a
 * full bucket. Returns a function that takes a token, and returns false if the bucket is empty.
 */
export function createRate(
  { per_s, burst }: { readonly per_s: number; readonly burst: number },
  mono: () => Milliseconds,
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
