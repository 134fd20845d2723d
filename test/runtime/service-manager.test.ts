import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { virtualClock } from "../../simulators/virtual/clock.ts";
import { linkDown, newServiceState, type ServiceState } from "../../src/domain/link-status.ts";
import type { Notify } from "../../src/domain/machine.ts";
import { createPulse, LOOP_MS } from "../../src/domain/signal.ts";
import {
  type LineBooth,
  serviceWord,
  statusLine,
  systemdNotify,
  watchdogLoop,
} from "../../src/runtime/service-manager.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";

const WATCHDOG_MS = 30_000;

/** A watchdog over one loop, with the messages to the service manager. */
function watched() {
  const clock = virtualClock({ wall: 0 });
  const heard = { beats: 0, lines: [] as string[] };
  const errors: string[] = [];
  const nothing = (): void => undefined;
  const notify: Notify = {
    ready: nothing,
    watchdog_ms: WATCHDOG_MS,
    beat: () => (heard.beats += 1),
    status: (line) => heard.lines.push(line),
    stopping: nothing,
  };
  const log = { ...silentLog, error: (_: unknown, text: string) => void errors.push(text) };
  const pulse = createPulse(clock);
  const turned = pulse.loop("poll of booth-1");
  const service = newServiceState(0);
  const end = new AbortController();
  const ended = watchdogLoop(
    { clock, log, notify, pulse, service, service_url: "https://service" },
    [],
    end.signal,
  ).catch(() => undefined);
  const stop = async (): Promise<void> => {
    end.abort();
    await ended;
  };
  return { clock, heard, errors, turned, service, stop };
}

it("the watchdog sends no heartbeats while a loop is overdue, and logs the loop once", async () => {
  const { clock, heard, errors, turned, stop } = watched();
  turned(LOOP_MS);
  await clock.run(LOOP_MS);
  const within = heard.beats;
  await clock.run(10 * WATCHDOG_MS);
  const after = heard.beats;
  turned(LOOP_MS);
  await clock.run(WATCHDOG_MS);
  expect({ within, after: after - within, named: errors.length, again: heard.beats - after }).toEqual({
    // At 0, and three times in each interval of the watchdog.
    within: 1 + (3 * LOOP_MS) / WATCHDOG_MS,
    after: 0,
    named: 1,
    again: 3,
  });
  expect(errors[0]).toContain("poll of booth-1");
  await stop();
});

it.each([
  ["a backoff that isn't overdue", 3_600_000],
  ["a wait for news that may never come", Number.POSITIVE_INFINITY],
])("the watchdog keeps sending heartbeats during %s", async (_, within_ms) => {
  const { clock, heard, turned, stop } = watched();
  turned(within_ms);
  await clock.run(3_600_000);
  expect(heard.beats).toBe(1 + (3 * 3_600_000) / WATCHDOG_MS);
  await stop();
});

it("the watchdog sends the status line only if the line has changed", async () => {
  const { clock, heard, service, stop } = watched();
  await clock.run(10 * WATCHDOG_MS);
  service.link = { kind: "up", since: 0 };
  await clock.run(10 * WATCHDOG_MS);
  expect(heard.lines).toEqual(["service not in use yet", "service up"]);
  await stop();
});

/** A booth with `waiting` records to send. */
function boothWith({ mode = "spray" as string | null, waiting = 12, trouble = "" }): LineBooth {
  const log = {
    reach: { newest_seq: 100, acked_seq: 100 - waiting },
    summary: mode === null ? null : { mode },
    trouble,
  };
  return { state: { booth: "booth-1" }, link: { plc: { kind: "up" } }, log } as LineBooth;
}

it.each([
  ["a healthy booth", [boothWith({})], "service up; booth-1: spray, PLC up, 12 to send"],
  [
    "a booth before its first reading",
    [boothWith({ mode: null, waiting: 0 })],
    "service up; booth-1: nothing read yet, PLC up, 0 to send",
  ],
  [
    "a store that can't commit",
    [boothWith({ trouble: "SQLITE_FULL" })],
    "service up; booth-1: spray, PLC up, 12 to send, store in trouble",
  ],
  ["no booth", [], "service up"],
])("the systemd status line shows %s", (_, booths, line) => {
  expect(statusLine("up", booths)).toBe(line);
});

it("the systemd status line is truncated if the gateway has many booths", () => {
  expect(
    statusLine(
      "up",
      Array.from({ length: 20 }, () => boothWith({})),
    ),
  ).toMatch(/^service up; .{225}\.\.\.$/);
});

it.each<{ what: string; url: string | null; state: Partial<ServiceState>; word: string }>([
  { what: "that is not configured", url: null, state: {}, word: "not set up" },
  { what: "that no booth needs yet", url: "https://service", state: {}, word: "not in use yet" },
  { what: "that a booth needs", url: "https://service", state: { wanted: true }, word: "down" },
  {
    what: "that doesn't answer a booth",
    url: "https://service",
    state: { answers: { link: linkDown(0, "no route", ""), at: 0 } },
    word: "down",
  },
])("the systemd status line names the state of a service $what: $word", ({ url, state, word }) => {
  expect(serviceWord({ service_url: url, service: { ...newServiceState(0), ...state } }, 1)).toBe(word);
});

it("each systemd notification is sent in a single write", () => {
  const file = join(temporaryFolder(), "sent");
  // Opened for appending, so that each write is visible like a datagram.
  const descriptor = openSync(file, "a");
  onTestFinished(() => closeSync(descriptor));
  const notify = systemdNotify({ BOOTH_GATEWAY_NOTIFY_FD: String(descriptor), WATCHDOG_USEC: "30000000" });
  const sent = (send: () => void): string => {
    const before = readFileSync(file, "utf8").length;
    send();
    return readFileSync(file, "utf8").slice(before);
  };
  expect(notify.watchdog_ms).toBe(30_000);
  expect(sent(() => notify.ready())).toBe("READY=1");
  expect(sent(() => notify.beat())).toBe("WATCHDOG=1");
  expect(sent(() => notify.status("booth-1: spray"))).toBe("STATUS=booth-1: spray");
  expect(sent(() => notify.stopping())).toBe("STOPPING=1");
});

it("a systemd notification is dropped if it can't be sent", () => {
  const descriptor = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(descriptor));
  const notify = systemdNotify({ BOOTH_GATEWAY_NOTIFY_FD: String(descriptor) });
  expect(() => notify.beat()).not.toThrow();
  expect(systemdNotify({}).watchdog_ms).toBe(null);
});
