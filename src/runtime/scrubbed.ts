import type { Driver } from "../acquisition/port.ts";
import type { MarkedSetting } from "../config/file-checks.ts";
import { FileError, readSecretFile } from "../credential-files.ts";
import type { HttpClient } from "../delivery/http/client.ts";
import type { BatchOutcome, LinkSession, ServiceLink } from "../delivery/port.ts";
import type { Logger, Scrubber } from "../domain/machine.ts";

/**
 * Connections whose peers may quote what they were sent. Each learns a secret before it is sent, and takes every known secret out
 * of what the peer says, so that status, log, page and support bundle never get it. Outputs and notices do the same in their own
 * loops, by the same scrubber.
 */

/** Learns what the configuration's marked settings hold, as far as it can be read. */
export function learnMarked(scrubber: Scrubber, marked: readonly MarkedSetting[]): void {
  for (const { holds, value } of marked) {
    if (holds === "address") scrubber.learnAddress(value);
    if (["password", "first_key", "pin", "token"].includes(holds)) learnFile(scrubber, value);
  }
}

/** A password may be renewed while the agent runs. */
export function learnFile(scrubber: Scrubber, path: string): void {
  try {
    scrubber.learn(readSecretFile(path));
  } catch (error) {
    // What can't be read isn't sent either; the file itself is reported elsewhere.
    if (!(error instanceof FileError)) throw error;
  }
}

/** Reads a secret's file anew each time, so that a new password needs no restart. */
export function secretReader(scrubber: Scrubber): (path: string) => string {
  return (path) => {
    const secret = readSecretFile(path);
    scrubber.learn(secret);
    return secret;
  };
}

/** Takes secrets out of an error's message, and of its stack, which repeats the message. */
function cleaned<T>(scrubber: Scrubber, error: T): T {
  if (!(error instanceof Error)) return error;
  error.message = scrubber.scrub(error.message);
  if (error.stack !== undefined) error.stack = scrubber.scrub(error.stack);
  return error;
}

function guarded<T>(scrubber: Scrubber, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw cleaned(scrubber, error);
  });
}

/** What the service answers to a request that it took is data, and stays as it is. */
export function scrubbedHttp(http: HttpClient, scrubber: Scrubber): HttpClient {
  return {
    async send(request) {
      scrubber.learn(request.key.replace(/^(Bearer|Basic) /, ""));
      const answer = await guarded(scrubber, http.send(request));
      return answer.status < 400 ? answer : { ...answer, text: scrubber.scrub(answer.text) };
    },
    close: () => http.close(),
  };
}

export function scrubbedLink(link: ServiceLink, scrubber: Scrubber): ServiceLink {
  return {
    async connect(account, signal) {
      scrubber.learn(account.credential);
      return scrubbedSession(await guarded(scrubber, link.connect(account, signal)), scrubber);
    },
  };
}

function scrubbedSession(session: LinkSession, scrubber: Scrubber): LinkSession {
  const outcome = async (sent: Promise<BatchOutcome>): Promise<BatchOutcome> =>
    cleanOutcome(scrubber, await guarded(scrubber, sent));
  return {
    url: session.url,
    ...(session.mqtt === undefined ? {} : { mqtt: session.mqtt }),
    closed: session.closed.then((reason) => cleaned(scrubber, reason)),
    hello: (booths) => guarded(scrubber, session.hello(booths)),
    heartbeat: (booths) => guarded(scrubber, session.heartbeat(booths)),
    send: (stream, generation, records) => outcome(session.send(stream, generation, records)),
    sendChunk: (stream, generation, chunk) => outcome(session.sendChunk(stream, generation, chunk)),
    takesChunks: () => session.takesChunks(),
    window: () => session.window(),
    commands: (take) => session.commands(take),
    say: (message) => guarded(scrubber, session.say(message)),
    close: () => session.close(),
  };
}

function cleanOutcome(scrubber: Scrubber, outcome: BatchOutcome): BatchOutcome {
  if ("reason" in outcome) return { ...outcome, reason: scrubber.scrub(outcome.reason) };
  if (outcome.rejected.length === 0) return outcome;
  const rejected = outcome.rejected.map(({ seq, reason }) => ({ seq, reason: scrubber.scrub(reason) }));
  return { ...outcome, rejected };
}

/** Servers of OPC UA say in words why they hang up. */
export function scrubbedDriver(driver: Driver, scrubber: Scrubber): Driver {
  return {
    ...driver,
    open: (signal) => guarded(scrubber, driver.open(signal)),
    read: (groups) => guarded(scrubber, driver.read(groups)),
  };
}

/** Our own objects have fewer levels. */
const MOST_LEVELS = 4;

/** A second net below the others: whatever is logged goes through it. */
export function scrubbedLog(log: Logger, scrubber: Scrubber): Logger {
  const level = (name: keyof Logger): Logger["info"] => {
    return (fields, text) => {
      const clean = Object.entries(fields).map(([key, value]) => [key, cleanValue(scrubber, value, 0)] as const);
      log[name](Object.fromEntries(clean), scrubber.scrub(text));
    };
  };
  return { debug: level("debug"), info: level("info"), warn: level("warn"), error: level("error") };
}

function cleanValue(scrubber: Scrubber, value: unknown, depth: number): unknown {
  if (typeof value === "string") return scrubber.scrub(value);
  if (value instanceof Error) return cleaned(scrubber, value);
  if (depth >= MOST_LEVELS || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one: unknown) => cleanValue(scrubber, one, depth + 1));
  const entries = Object.entries(value).map(([key, one]) => [key, cleanValue(scrubber, one, depth + 1)] as const);
  return Object.fromEntries(entries);
}
