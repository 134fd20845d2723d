import { connect } from "node:net";

import { LinkError, type LinkErrorKind } from "../../domain/link-error.ts";

/** A byte pipe to a device. */
export interface Wire {
  write(bytes: Buffer): void;
  /**
   * Ends it at once; nothing is reported afterwards.
   * @param unanswered something was asked for that may still come: a wire that others share must be made anew
   */
  destroy(unanswered: boolean): void;
}

/** What a wire reports. `down` comes at most once and is the last. */
export interface WireEvents {
  connected(): void;
  /** The buffer is reused: take what is needed before returning. */
  data(bytes: Buffer, size: number): void;
  down(error: LinkError): void;
}

export type OpenWire = (events: WireEvents) => Wire;

/** An answer has 260 bytes at most; more at once can only be rubbish, and then a few rounds more don't matter. */
const RECEIVE_BYTES = 1024;

const KINDS: Readonly<Record<string, LinkErrorKind>> = {
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "refused",
  EHOSTDOWN: "refused",
  ENETUNREACH: "refused",
  EADDRNOTAVAIL: "refused",
  ENOTFOUND: "refused",
  EAI_AGAIN: "refused",
  ETIMEDOUT: "timeout",
};

/** TCP. Received bytes land in one buffer of fixed size, so a flood costs no memory. */
export function tcpWire(host: string, port: number): OpenWire {
  return (events) => {
    const buffer = Buffer.allocUnsafeSlow(RECEIVE_BYTES);
    const socket = connect({
      host,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      onread: {
        buffer,
        callback: (size) => {
          events.data(buffer, size);
          return true;
        },
      },
    });
    let over = false;
    const down = (error: LinkError): void => {
      if (over) return;
      over = true;
      socket.destroy();
      events.down(error);
    };
    socket.on("connect", () => {
      if (!over) events.connected();
    });
    socket.on("end", () => down(new LinkError("closed", "the device closed the connection")));
    socket.on("close", () => down(new LinkError("closed", "the connection is closed")));
    socket.on("error", (cause: NodeJS.ErrnoException) => {
      const kind = KINDS[cause.code ?? ""] ?? "reset";
      down(new LinkError(kind, `${host}:${port}: ${cause.code ?? cause.message}`, cause));
    });
    return {
      write: (bytes) => void socket.write(bytes),
      destroy: () => {
        over = true;
        socket.destroy();
      },
    };
  };
}
