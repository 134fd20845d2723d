import { execFile } from "node:child_process";
import type { Notify } from "../ports.ts";

const SYSTEMD_NOTIFY = "/usr/bin/systemd-notify";
const NOTIFY_TIMEOUT_MS = 5_000;

/**
 * Tells systemd by its own tool, since Node has no unix datagram sockets (the unit says NotifyAccess=all).
 * Without NOTIFY_SOCKET, as in a terminal, nothing is sent. A notification that fails is lost: systemd's own timeouts answer it.
 */
export function systemdNotify(environment: Readonly<Record<string, string | undefined>>): Notify {
  const send = (...args: string[]): void => {
    if (environment["NOTIFY_SOCKET"] === undefined) return;
    execFile(SYSTEMD_NOTIFY, args, { timeout: NOTIFY_TIMEOUT_MS }, () => undefined);
  };
  const usec = Number(environment["WATCHDOG_USEC"]);
  return {
    watchdog_ms: usec > 0 ? usec / 1000 : null,
    ready: () => send("--ready"),
    beat: () => send("WATCHDOG=1"),
    status: (text) => send(`--status=${text}`),
    stopping: () => send("--stopping"),
  };
}
