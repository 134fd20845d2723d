import { writeSync } from "node:fs";
import type { Notify } from "../domain/machine.ts";

/**
 * Tells systemd by the socket that the package's with-notify-socket hands down, since Node can't open unix datagram sockets.
 * Without one, as in a terminal, nothing is sent. A notification that fails is lost: systemd's own timeouts answer it.
 */
export function systemdNotify(environment: Readonly<Record<string, string | undefined>>): Notify {
  const socket = environment["BOOTH_GATEWAY_NOTIFY_FD"];
  const send = (message: string): void => {
    if (socket !== undefined) write(Number(socket), message);
  };
  const usec = Number(environment["WATCHDOG_USEC"]);
  return {
    watchdog_ms: usec > 0 ? usec / 1000 : null,
    ready: () => send("READY=1"),
    beat: () => send("WATCHDOG=1"),
    status: (text) => send(`STATUS=${text}`),
    stopping: () => send("STOPPING=1"),
  };
}

/** One write is one datagram. */
function write(socket: number, message: string): void {
  try {
    writeSync(socket, message);
  } catch {
    // Lost, as where the service manager is behind with its reading.
  }
}
