import { addAbortListener } from "node:events";
import { writeSync } from "node:fs";
import { serviceLinkOf } from "../domain/link-status.ts";
import type { Logger, Notify } from "../domain/machine.ts";
import type { Milliseconds } from "../domain/units.ts";
import { CommandError, EXIT } from "../tools/command.ts";
import type { Booth } from "./booth.ts";
import type { Gateway } from "./gateway.ts";

/** Maximum length of the status text, which systemd shows on one line. */
const MAX_LENGTH = 240;

/** The parts of a booth that the status line shows. */
export type LineBooth = Pick<Booth, "state" | "link" | "log">;

/** Returns the service's state for the status line. A service that is not set up, or that no booth needs yet, does not count as down. */
export function serviceWord(
  { service, service_url }: Pick<Gateway, "service" | "service_url">,
  mono: Milliseconds,
): string {
  if (service_url === null) return "not set up";
  if (!service.wanted && service.answers === null && service.link.kind === "down") return "not in use yet";
  return serviceLinkOf(service, mono).kind;
}

/** Describes the agent in one line for the service manager. */
export function statusLine(service: string, booths: readonly LineBooth[]): string {
  const texts = booths.map(({ state: { booth }, link, log: { reach, summary, trouble } }) => {
    const waiting = reach.newest_seq - reach.acked_seq;
    const store = trouble === "" ? "" : ", store in trouble";
    return `${booth}: ${summary?.mode ?? "nothing read yet"}, PLC ${link.plc.kind}, ${waiting} to send${store}`;
  });
  const line = [`service ${service}`, ...texts].join("; ");
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH - 3)}...`;
}

/** Interval of the status line if the service manager does not expect watchdog beats. */
const STATUS_EVERY_MS: Milliseconds = 10_000;

/**
 * Sends watchdog beats and the status line to the service manager until aborted. The beats stop if the event loop hangs, or if any loop of
 * the agent exceeds its time limit. The service manager then restarts the agent.
 */
export async function watchdogLoop(
  {
    clock,
    log,
    notify,
    pulse,
    ...gateway
  }: Pick<Gateway, "clock" | "log" | "notify" | "pulse" | "service" | "service_url">,
  booths: readonly LineBooth[],
  signal: AbortSignal,
): Promise<never> {
  const every_ms = notify.watchdog_ms === null ? STATUS_EVERY_MS : notify.watchdog_ms / 3;
  let last = { line: "", late: "" };
  for (;;) {
    const late = pulse.overdue().join(", ");
    if (late === "") notify.beat();
    else if (late !== last.late) {
      const text = `${late} should have turned long ago: no more beats, so that the service manager starts the agent anew`;
      log.error({ event: "loop_hangs", loops: late }, text);
    }
    const line = statusLine(serviceWord(gateway, clock.mono()), booths);
    if (line !== last.line) notify.status(line);
    last = { line, late };
    await clock.sleep(every_ms, signal);
  }
}

/**
 * Returns functions that notify systemd. They write to the socket that the package's with-notify-socket passes on, because Node cannot open
 * unix datagram sockets. Without this socket, as in a terminal, they do nothing. A failed notification is ignored, because systemd's
 * timeouts handle it.
 */
export function systemdNotify(environment: Readonly<Record<string, string | undefined>>): Notify {
  const socket = environment["BOOTH_GATEWAY_NOTIFY_FD"];
  const send = (message: string): void => {
    if (socket === undefined) return;
    try {
      // Each write sends a separate datagram.
      writeSync(Number(socket), message);
    } catch {
      // Ignores this error: the socket's buffer may be full, because the service manager reads slowly.
    }
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

/** Time limit of an orderly stop. systemd would wait longer, but a person at the gateway would not. Killing the process loses nothing. */
const STOP_WITHIN_MS = 4_000;

/**
 * Kills the process if a stop takes too long. This happens if the disk does not answer, or if a thread runs a salvage or a long query, for
 * which Node would wait. Readings that were taken are in the tail file, and are committed at the next start.
 */
export function cutLongStop(signal: AbortSignal, log: Logger): void {
  addAbortListener(signal, () => {
    const cut = (): void => {
      const text = `the stop took longer than ${STOP_WITHIN_MS / 1000} s and is cut short; what was read is in the tail file and is committed at the next start`;
      log.warn({ event: "stop_cut" }, text);
      process.kill(process.pid, "SIGKILL");
    };
    setTimeout(cut, STOP_WITHIN_MS).unref();
  });
}

/** Time limit for closing everything after a fatal error. */
const FAILURE_EXIT_MS = 4_000;
/** Time limit for ending the threads. A thread that takes longer hangs in a system call, and only SIGKILL ends the process. */
const THREADS_END_MS = 500;

interface Failure {
  readonly error: Error;
  /** The loop that threw the error; null: it was thrown elsewhere. */
  readonly loop: string | null;
  /** Functions that end each thread. The list is read at the deadline. */
  readonly threads: readonly (() => Promise<unknown>)[];
  /** Ends the process; absent: the agent runs inside another program. */
  readonly exit: ((code: number) => void) | undefined;
}

/**
 * Reports a fatal error, and makes sure that the process exits within 5 s. Without a time limit, an open socket, a call of the store or a
 * close that hangs could keep the process alive. If nothing is pending, it exits earlier by itself.
 */
export function exitAfterFailure(log: Logger, { error, loop, threads, exit }: Failure): void {
  const where = loop === null ? "the agent" : `"${loop}"`;
  const text = `${where} has failed: ${error.message}. The agent ends, so that the service manager starts it again`;
  log.error({ event: "fatal", loop, stack: error.stack }, text);
  if (exit === undefined) return;
  const code = error instanceof CommandError ? error.exit : EXIT.failed;
  const endProcess = async (): Promise<void> => {
    const seconds = (FAILURE_EXIT_MS / 1000).toString();
    log.warn(
      { event: "failure_cut" },
      `closing took longer than ${seconds} s after the failure: the process exits now`,
    );
    setTimeout(() => process.kill(process.pid, "SIGKILL"), THREADS_END_MS);
    await Promise.allSettled(threads.map((end) => end()));
    exit(code);
  };
  setTimeout(() => void endProcess(), FAILURE_EXIT_MS).unref();
}
