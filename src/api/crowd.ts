import type { Server } from "node:http";
import type { Socket } from "node:net";
import { senderOf } from "./sender.ts";

/** How many connections may stand open: of all senders together, and of each of them. */
export interface CrowdLimit {
  readonly total: number;
  readonly each: number;
}

interface Guest {
  readonly sender: string;
  /** Requests under way. */
  busy: number;
  leave(): void;
}

/**
 * Keeps one sender from taking every connection of a server. Where its share or the whole is full, the connection that has
 * waited longest without asking anything makes room: of that sender, else of those that have most. Where all are being
 * answered the newcomer is turned away.
 */
export function keepRoom(server: Server, { total, each }: CrowdLimit): void {
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
  server.on("request", (request, response) => {
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
