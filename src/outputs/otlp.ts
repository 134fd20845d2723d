import { systemErrorText } from "../domain/system-error.ts";
import { message, isSameText, mapWords, type Text } from "../domain/message.ts";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { OutputConfig } from "../config/port.ts";
import { FileError, readCertificatePair, readCertificates } from "../credential-files.ts";
import { retryAfterMs } from "../delivery/http/answer.ts";
import { createHttpClient, type HttpClient } from "../delivery/http/client.ts";
import { tlsFaultOf } from "../domain/link-error.ts";
import { linkDown } from "../domain/link-status.ts";
import { fullJitter, shortMessage } from "../domain/retrying.ts";
import { serverAdviceFor } from "../domain/server-advice.ts";
import { isOver, onAbort } from "../domain/signal.ts";
import type { OutputStatus } from "../domain/status.ts";
import type { BoothId, Milliseconds } from "../domain/units.ts";
import { type OutputLink, reportDown, reportUp } from "./output.ts";
import type { OutputMachine } from "./port.ts";
import { exportRequest, outcomeOf, pointsIn, type PushOutcome } from "./rules/otlp.ts";

/** A set: the metrics of one instant, which wait to be sent. */
interface Waiting {
  /** The JSON of the request, compressed with gzip. */
  readonly body: Uint8Array;
  readonly points: number;
}

/**
 * An output that sends the agent's metrics to an OpenTelemetry collector, in sets of one instant each. Two loops run: one makes a set per
 * interval, the other sends the sets in order and retries with a backoff. The queue holds an hour of sets at the usual interval. If the
 * queue is full, the oldest set is dropped, because old metrics are worth less than the gateway's memory. Dropped data points are counted
 * and shown with the reason. Sets are not kept on the disk, so a restart loses the waiting sets.
 */
interface Push {
  readonly machine: OutputMachine;
  readonly config: OutputConfig;
  readonly state: PushState;
}

interface PushState extends OutputLink {
  /** The number of requests that the collector accepted. */
  sent: number;
  /** The number of data points that were dropped or rejected. */
  given_up: number;
  /** The reason for the last dropped or rejected data points; "" if there are none. */
  reason: Text;
  /** True if the collector rejects gzip. */
  is_plain: boolean;
  waiting: Waiting[];
  /** A promise that resolves when a set is added. */
  added: PromiseWithResolvers<void>;
  /** The connection to the collector. It is closed after each failure; a new client reads the files and resolves the host name again. */
  client: HttpClient | null;
}

/** The maximum number of waiting sets: an hour at the usual interval. */
const MOST_WAITING = 60;
/** The maximum size of all waiting sets in bytes. A set of a gateway with 64 booths takes 15 KB. */
const MOST_BYTES = 1_000_000;
const RETRY = { base_ms: 1_000, cap_ms: 60_000 };
const ANSWER_WITHIN_MS: Milliseconds = 10_000;
const DEFAULT_PATH = "/v1/metrics";
const zipped = promisify(gzip);
const unzipped = promisify(gunzip);

export function figureOutput(
  machine: OutputMachine,
  { config, otlp }: { readonly config: OutputConfig; readonly otlp: NonNullable<OutputConfig["otlp"]> },
  booths: readonly BoothId[],
) {
  const { clock } = machine;
  const state: PushState = {
    link: linkDown(clock.wall(), message("plc.not_yet")),
    url: config.url,
    reasons: new Map(),
    sent: 0,
    given_up: 0,
    reason: "",
    is_plain: false,
    waiting: [],
    added: Promise.withResolvers(),
    client: null,
  };
  const resource = {
    "service.name": "booth-gateway",
    "service.version": machine.version,
    "service.instance.id": machine.gateway_id,
  };
  const started_at = clock.wall();
  const push: Push = { machine, config, state };
  const makeSets = async (signal: AbortSignal): Promise<void> => {
    while (!isOver(signal)) {
      try {
        const metrics = await machine.metrics(booths);
        const request = exportRequest(metrics, { resource, started_at, at: clock.wall() });
        addSet(push, { body: await zipped(JSON.stringify(request)), points: pointsIn(metrics) });
      } catch (error) {
        const reason = message("operation.failed", { error: shortMessage(error) });
        reportDown(push, { reason, advice: message("operation.retried") }, { failures: 1, wait: otlp.interval_ms });
      }
      await clock.sleep(otlp.interval_ms, signal).catch(() => undefined);
    }
  };
  return {
    status: (): OutputStatus => ({
      name: config.name,
      kind: "otlp",
      url: config.url,
      link: state.link,
      sent: state.sent,
      ignored: 0,
      booths: [],
      pushed: { waiting: state.waiting.length, given_up: state.given_up, reason: state.reason },
    }),
    async run(signal: AbortSignal): Promise<void> {
      await Promise.all([makeSets(signal), sendSets(push, signal)]);
    },
  };
}

function addSet(push: Push, set: Waiting): void {
  const { waiting, added } = push.state;
  waiting.push(set);
  const bytes = (): number => waiting.reduce((sum, { body }) => sum + body.length, 0);
  while (waiting.length > MOST_WAITING || (bytes() > MOST_BYTES && waiting.length > 1)) {
    countLost(push, waiting.shift()?.points ?? 0, message("output.figures_old"));
  }
  added.resolve();
}

function countLost({ state, machine, config }: Push, points: number, reason: Text): void {
  if (points === 0) return;
  const text = message("output.log.given_up", { name: config.name, points, reason });
  if (!isSameText(reason, state.reason))
    machine.log.warn({ event: "output_given_up", output: config.name, points, reason }, text);
  state.given_up += points;
  state.reason = reason;
}

/** Sends the sets one after the other, the oldest first, until the signal aborts. */
async function sendSets(push: Push, signal: AbortSignal): Promise<void> {
  const { machine, state } = push;
  const { clock, random } = machine;
  let failures = 0;
  const over = Promise.withResolvers<undefined>();
  onAbort(signal, () => {
    closeClient(push);
    over.resolve(undefined);
  });
  while (!isOver(signal)) {
    const [set] = state.waiting;
    if (set === undefined) {
      state.added = Promise.withResolvers();
      await Promise.race([state.added.promise, over.promise]);
      continue;
    }
    const outcome = await trySet(push, set);
    if (isOver(signal)) break;
    failures = outcome.kind === "again" ? failures + 1 : 0;
    // Removes the set by identity, because the queue may have dropped it in the meantime.
    if (outcome.kind !== "again") state.waiting = state.waiting.filter((one) => one !== set);
    if (outcome.kind === "taken") {
      state.sent += 1;
      countLost(push, outcome.rejected, outcome.reason === "" ? message("output.figures_rejected") : outcome.reason);
      if (state.link.kind !== "up") {
        state.link = { kind: "up", since: clock.wall() };
        reportUp(push);
      }
      continue;
    }
    if (outcome.kind === "refused") countLost(push, set.points, outcome.reason);
    closeClient(push);
    // Drops a refused set, but waits as after any failure, because the next set will probably be refused too.
    const asked = outcome.kind === "again" ? outcome.after_ms : null;
    const wait = asked ?? fullJitter(Math.max(0, failures - 1), RETRY, () => random.next());
    reportDown(push, { reason: outcome.reason, advice: adviceOn(outcome) }, { failures, wait });
    await clock.sleep(wait, signal).catch(() => undefined);
  }
  closeClient(push);
}

/** The statuses with which collectors without gzip answer: unsupported media type, or a body that they can't read. */
const MAY_REJECT_GZIP: readonly number[] = [400, 415];

/** Sends a set. If the collector may reject gzip, sends it again uncompressed, and remembers which form the collector accepts. */
async function trySet(push: Push, set: Waiting): Promise<PushOutcome> {
  const { state, machine, config } = push;
  const outcome = await post(push, set);
  if (state.is_plain || outcome.kind !== "refused" || !MAY_REJECT_GZIP.includes(outcome.status)) return outcome;
  state.is_plain = true;
  const plain = await post(push, set);
  // Returns to gzip if both forms are refused, because then the content is the cause.
  if (plain.kind !== "taken") state.is_plain = false;
  else {
    const text = message("output.log.plain", { name: config.name });
    machine.log.info({ event: "output_plain", output: config.name }, text);
  }
  return plain;
}

async function post({ config, machine, state }: Push, set: Waiting): Promise<PushOutcome> {
  try {
    const body = state.is_plain ? await unzipped(set.body) : set.body;
    const headers = state.is_plain ? {} : { "Content-Encoding": "gzip" };
    const { pathname } = new URL(config.url);
    state.client ??= openClient(config, machine);
    const answer = await state.client.send({
      method: "POST",
      path: pathname === "/" ? DEFAULT_PATH : pathname,
      key: authorizationOf(config, machine.secret),
      body,
      headers,
    });
    return outcomeOf(
      { status: answer.status, text: machine.scrubber.scrub(answer.text) },
      retryAfterMs(answer.headers["retry-after"], machine.clock.wall()),
    );
  } catch (error) {
    const text = error instanceof Error && error.message !== "" ? systemErrorText(error) : codeIn(error);
    const fault = error instanceof FileError ? "file" : tlsFaultOf(error);
    return {
      kind: "again",
      after_ms: null,
      reason: mapWords(text, (words) => machine.scrubber.scrub(words)),
      ...(fault === null ? {} : { advice: adviceOnFault(fault) }),
    };
  }
}

function adviceOnFault(fault: Parameters<typeof serverAdviceFor>[0]): Text {
  return fault === "certificate_wanted" ? message("output.figures_certificate") : serverAdviceFor(fault);
}

function codeIn(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);
}

function openClient(config: OutputConfig, { meter }: OutputMachine): HttpClient {
  const { ca_file, client_certificate_file: cert, client_key_file: key } = config;
  return createHttpClient({
    baseUrl: config.url,
    ...(ca_file === undefined ? {} : { ca: readCertificates(ca_file) }),
    ...(cert === undefined || key === undefined ? {} : { certificate: readCertificatePair(cert, key) }),
    ...(meter === undefined ? {} : { counted: { meter, purpose: "outputs" } }),
    total_timeout_ms: ANSWER_WITHIN_MS,
  });
}

function closeClient({ state }: Push): void {
  state.client?.close();
  state.client = null;
}

function authorizationOf({ user, password_file, token_file }: OutputConfig, secret: OutputMachine["secret"]): string {
  if (token_file !== undefined) return `Bearer ${secret(token_file)}`;
  if (user === undefined) return "";
  const pair = `${user}:${password_file === undefined ? "" : secret(password_file)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

function adviceOn(outcome: Exclude<PushOutcome, { readonly kind: "taken" }>): Text {
  if (outcome.kind === "again") return outcome.advice ?? message("output.figures_away");
  const isKey = outcome.status === 401 || outcome.status === 403;
  return message(isKey ? "output.figures_key" : "output.figures_refused");
}
