import { MessageError } from "../domain/messages/message-error.ts";
import { mapWords, type Text } from "../domain/message.ts";
import type { Driver } from "../acquisition/port.ts";
import type { MarkedSetting } from "../config/file-checks.ts";
import { FileError, readSecretFile } from "../credential-files.ts";
import type { HttpClient } from "../delivery/http/client.ts";
import type { BatchOutcome, LinkSession, ServiceLink } from "../delivery/port.ts";
import type { Logger, Scrubber } from "../domain/machine.ts";

/**
 * Wrappers for connections whose peers may quote what they receive. A wrapper learns each secret before it is sent, and removes every known
 * secret from the peer's texts. So no secret reaches the status, the log, the page or a support bundle. Outputs and notices use the same
 * scrubber in their own loops.
 */

/** Learns the secrets in the configuration, from values and from those files that can be read. */
export function learnMarked(scrubber: Scrubber, marked: readonly MarkedSetting[]): void {
  for (const { holds, value } of marked) {
    if (holds === "address") scrubber.learnAddress(value);
    if (["password", "first_key", "pin", "token"].includes(holds)) learnFile(scrubber, value);
  }
}

/** Learns the secret in a file. It is called before each use, because the file may change while the agent runs. */
export function learnFile(scrubber: Scrubber, path: string): void {
  try {
    scrubber.learn(readSecretFile(path));
  } catch (error) {
    // Ignores a secret that cannot be read, because it is not sent either. The checks of the configuration report the file.
    if (!(error instanceof FileError)) throw error;
  }
}

/** Returns a function that reads a secret's file at each call, so that a new secret needs no restart. */
export function secretReader(scrubber: Scrubber): (path: string) => string {
  return (path) => {
    const secret = readSecretFile(path);
    scrubber.learn(secret);
    return secret;
  };
}

/** Removes secrets from an error's message and stack, which both contain the text. */
function cleaned<T>(scrubber: Scrubber, error: T): T {
  if (!(error instanceof Error)) return error;
  error.message = scrubber.scrub(error.message);
  if (error instanceof MessageError) error.text = mapWords(error.text, (words) => scrubber.scrub(words));
  if (error.stack !== undefined) error.stack = scrubber.scrub(error.stack);
  return error;
}

function scrubText(scrubber: Scrubber, text: Text): Text {
  return mapWords(text, (words) => scrubber.scrub(words));
}

function guarded<T>(scrubber: Scrubber, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw cleaned(scrubber, error);
  });
}

/** Wraps the HTTP client. The body of a successful answer is data, and stays unchanged. */
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
    ...session,
    closed: session.closed.then((reason) => cleaned(scrubber, reason)),
    hello: (booths) => guarded(scrubber, session.hello(booths)),
    heartbeat: (booths) => guarded(scrubber, session.heartbeat(booths)),
    send: (stream, generation, records) => outcome(session.send(stream, generation, records)),
    sendChunk: (stream, generation, chunk) => outcome(session.sendChunk(stream, generation, chunk)),
    say: (message) => guarded(scrubber, session.say(message)),
  };
}

function cleanOutcome(scrubber: Scrubber, outcome: BatchOutcome): BatchOutcome {
  if ("reason" in outcome) return { ...outcome, reason: scrubText(scrubber, outcome.reason) };
  if (outcome.rejected.length === 0) return outcome;
  const rejected = outcome.rejected.map(({ seq, reason }) => ({ seq, reason: scrubText(scrubber, reason) }));
  return { ...outcome, rejected };
}

/** Wraps a driver, because OPC UA servers describe failures in texts of their own. */
export function scrubbedDriver(driver: Driver, scrubber: Scrubber): Driver {
  return {
    ...driver,
    open: (signal) => guarded(scrubber, driver.open(signal)),
    read: (groups) => guarded(scrubber, driver.read(groups)),
  };
}

/** Maximum depth to which log fields are scrubbed. The agent's own fields are less deep. */
const MOST_LEVELS = 4;

/** Wraps the log as a second line of defense: removes secrets from all texts and fields. */
export function scrubbedLog(log: Logger, scrubber: Scrubber): Logger {
  const level = (name: keyof Logger): Logger["info"] => {
    return (fields, text) => {
      const clean = Object.entries(fields).map(([key, value]) => [key, cleanValue(scrubber, value, 0)] as const);
      log[name](Object.fromEntries(clean), scrubText(scrubber, text));
    };
  };
  return { debug: level("debug"), info: level("info"), warn: level("warn"), error: level("error") };
}

function cleanValue(scrubber: Scrubber, value: unknown, depth: number): unknown {
  if (typeof value === "string") return scrubber.scrub(value);
  if (value instanceof Error) return cleaned(scrubber, value);
  if (depth >= MOST_LEVELS || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one: unknown) => cleanValue(scrubber, one, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, cleanValue(scrubber, one, depth + 1)] as const),
  );
}
