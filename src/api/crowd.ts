import type { Server } from "node:http";
import type { Http2SecureServer } from "node:http2";
import type { Socket } from "node:net";
import type { Answering, Asking } from "./over-tls.ts";

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

interface Guest {
  readonly sender: string;
  /** Requests under way. */
  busy: number;
  leave(): void;
}

/**
 * Keeps one sender from taking every connection of a server: so many may stand open of all senders together, and of each of
 * them. Where its share or the whole is full, the connection that has
 * waited longest without asking anything makes room: of that sender, else of those that have most. Where all are being
 * answered the newcomer is turned away.
 */
export function keepRoom(
  server: Server | Http2SecureServer,
  { total, each }: { readonly total: number; readonly each: number },
): void {
  /** By address and port, in the order they came: of a TLS connection the request knows another object. */
  const guests = new Map<string, Guest>();
  const crowdFor = (sender: string): readonly Guest[] | null => {
    const own = [...guests.values()].filter((guest) => guest.sender === sender);
    if (own.length >= each) return own;
    return guests.size >= total ? largestFirst(guests.values()) : null;
  };
  server.on("connection", (socket: Socket) => {
    const sender = senderOf(socket.remoteAddress);
    const crowd = crowdFor(sender);
    const idle = crowd?.find(({ busy }) => busy === 0);
    if (crowd !== null && idle === undefined) {
      socket.destroy();
      return;
    }
    idle?.leave();
    const key = keyOf(socket);
    const leave = (): void => {
      guests.delete(key);
      socket.destroy();
    };
    guests.set(key, { sender, busy: 0, leave });
    socket.once("close", () => guests.delete(key));
  });
  server.on("request", (request: Asking, response: Answering) => {
    const guest = guests.get(keyOf(request.socket));
    if (guest === undefined) return;
    guest.busy += 1;
    response.once("close", () => (guest.busy -= 1));
  });
}

function largestFirst(guests: Iterable<Guest>): readonly Guest[] {
  const crowds = [...Map.groupBy(guests, ({ sender }) => sender).values()];
  return crowds.sort((one, other) => other.length - one.length).flat();
}

function keyOf({ remoteAddress = "", remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort.toString()}`;
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
