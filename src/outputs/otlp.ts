import { addAbortListener } from "node:events";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { OutputConfig } from "../config/port.ts";
import { retryAfterMs } from "../delivery/http/answer.ts";
import { createHttpClient, type HttpClient } from "../delivery/http/client.ts";
import { FileError, readCertificatePair, readCertificates } from "../credential-files.ts";
import { linkDown, stillDown } from "../domain/link-status.ts";
import { fullJitter, shortMessage } from "../domain/retrying.ts";
import { type ServiceLinkFault, tlsFaultOf } from "../domain/link-error.ts";
import { say, SENTENCES, type SentenceCode } from "../domain/sentences.ts";
import { isOver } from "../domain/signal.ts";
import type { LinkStatus, OutputStatus } from "../domain/status.ts";
import type { BoothId, Milliseconds } from "../domain/units.ts";
import type { OutputMachine } from "./port.ts";
import { exportRequest, outcomeOf, pointsIn, type PushOutcome } from "./rules/otlp.ts";

/**
 * Pushes the agent's figures to a collector, in sets of one instant each. A set that can't go waits, and is given up for newer ones
 * where too many do: figures of the past are worth less than the box's memory. What was given up is counted and told.
 */

export interface FigureOutput {
  status(): OutputStatus;
  run(signal: AbortSignal): Promise<void>;
}

interface Waiting {
  /** gzip of its JSON. */
  readonly body: Uint8Array;
  readonly points: number;
}

/** An hour at the usual interval. */
const MOST_WAITING = 60;
/** Of a box with 64 booths each has 15 KB. */
const MOST_BYTES = 1_000_000;
const RETRY = { base_ms: 1_000, cap_ms: 60_000 };
/** A collector that takes longer has other troubles. */
const ANSWER_WITHIN_MS: Milliseconds = 10_000;
const DEFAULT_PATH = "/v1/metrics";
const zipped = promisify(gzip);
const unzipped = promisify(gunzip);

export function figureOutput(
  machine: OutputMachine,
  { config, otlp }: { readonly config: OutputConfig; readonly otlp: NonNullable<OutputConfig["otlp"]> },
  booths: readonly BoothId[],
): FigureOutput {
  const { clock } = machine;
  const state: PushState = {
    link: linkDown(clock.wall(), say("plc.not_yet")),
    sent: 0,
    given_up: 0,
    reason: "",
    is_plain: false,
    waiting: [],
    added: Promise.withResolvers(),
  };
  const resource = {
    "service.name": "booth-gateway",
    "service.version": machine.version,
    "service.instance.id": machine.gateway_id,
  };
  const started_at = clock.wall();
  const push: Push = { machine, config, state };
  const gather = async (signal: AbortSignal): Promise<void> => {
    while (!isOver(signal)) {
      try {
        const metrics = await machine.metrics(booths);
        const request = exportRequest(metrics, { resource, started_at, at: clock.wall() });
        const body = await zipped(JSON.stringify(request));
        add(push, { body, points: pointsIn(metrics) });
      } catch (error) {
        const reason = say("operation.failed", { error: shortMessage(error) });
        tellDown(push, { reason, advice: say("operation.retried") }, { failures: 1, wait: otlp.interval_ms });
      }
      await clock.sleep(otlp.interval_ms, signal).catch(() => undefined);
    }
  };
  return {
    status: () => ({
      name: config.name,
      kind: "otlp",
      url: config.url,
      link: state.link,
      sent: state.sent,
      ignored: 0,
      booths: [],
      pushed: { waiting: state.waiting.length, given_up: state.given_up, reason: state.reason },
    }),
    async run(signal) {
      await Promise.all([gather(signal), sendAll(push, signal)]);
    },
  };
}

interface PushState {
  link: LinkStatus;
  /** Requests that were taken. */
  sent: number;
  /** Data points. */
  given_up: number;
  /** Why the last of them were; "": none was. */
  reason: string;
  /** The collector rejects gzip. */
  is_plain: boolean;
  waiting: Waiting[];
  added: PromiseWithResolvers<void>;
}

interface Push {
  readonly machine: OutputMachine;
  readonly config: OutputConfig;
  readonly state: PushState;
}

function add(push: Push, set: Waiting): void {
  const { state } = push;
  const { waiting } = state;
  waiting.push(set);
  const bytes = (): number => waiting.reduce((sum, { body }) => sum + body.length, 0);
  while (waiting.length > MOST_WAITING || (bytes() > MOST_BYTES && waiting.length > 1)) {
    giveUp(push, waiting.shift()?.points ?? 0, say("output.figures_old"));
  }
  state.added.resolve();
}

function giveUp({ state, machine, config }: Push, points: number, reason: string): void {
  if (points === 0) return;
  const isNews = reason !== state.reason;
  state.given_up += points;
  state.reason = reason;
  const text = `output ${config.name}: ${points} data points were given up: ${reason}`;
  if (isNews) machine.log.warn({ event: "output_given_up", output: config.name, points, reason }, text);
}

/** One after the other, the oldest first, until the signal. */
async function sendAll(push: Push, signal: AbortSignal): Promise<void> {
  const { machine, state } = push;
  const { clock, random } = machine;
  const client = clientOf(push);
  let failures = 0;
  const over = Promise.withResolvers<undefined>();
  addAbortListener(signal, () => {
    client.close();
    over.resolve(undefined);
  });
  while (!isOver(signal)) {
    const [set] = state.waiting;
    if (set === undefined) {
      state.added = Promise.withResolvers();
      await Promise.race([state.added.promise, over.promise]);
      continue;
    }
    const outcome = await tryOnce(push, set, client.open);
    if (isOver(signal)) break;
    const done = settle(push, set, outcome);
    failures = done ? 0 : failures + 1;
    if (outcome.kind === "taken") continue;
    client.close();
    const wait = waitAfter(outcome, failures, () => random.next());
    isDown(push, outcome, { failures, wait });
    await clock.sleep(wait, signal).catch(() => undefined);
  }
  client.close();
}

/** Whether the set is done with. */
function settle(push: Push, set: Waiting, outcome: PushOutcome): boolean {
  const { state } = push;
  if (outcome.kind === "again") return false;
  // It may have been given up meanwhile, for newer ones.
  state.waiting = state.waiting.filter((one) => one !== set);
  if (outcome.kind === "refused") giveUp(push, set.points, outcome.reason);
  else {
    state.sent += 1;
    giveUp(push, outcome.rejected, outcome.reason === "" ? say("output.figures_rejected") : outcome.reason);
    isUp(push);
  }
  return true;
}

/** What was refused for good isn't tried again; the next set isn't any better, so that waits as after any failure. */
function waitAfter(outcome: PushOutcome, failures: number, random: () => number): Milliseconds {
  const asked = outcome.kind === "again" ? outcome.after_ms : null;
  return asked ?? fullJitter(Math.max(0, failures - 1), RETRY, random);
}

/** What collectors that don't know gzip answer: unsupported media type, or a body that they can't read. */
const MAY_REJECT_GZIP: readonly number[] = [400, 415];

/** Sends a set, uncompressed too if the collector may reject gzip, and remembers which it takes. */
async function tryOnce(push: Push, set: Waiting, open: () => HttpClient): Promise<PushOutcome> {
  const { state, machine, config } = push;
  const outcome = await post(push, set, open);
  if (state.is_plain || outcome.kind !== "refused" || !MAY_REJECT_GZIP.includes(outcome.status)) return outcome;
  state.is_plain = true;
  const plain = await post(push, set, open);
  // Its content is refused either way.
  if (plain.kind !== "taken") state.is_plain = false;
  else {
    const text = `output ${config.name}: ${say("output.figures_plain")}`;
    machine.log.info({ event: "output_plain", output: config.name }, text);
  }
  return plain;
}

async function post({ config, machine, state }: Push, set: Waiting, open: () => HttpClient): Promise<PushOutcome> {
  try {
    const body = state.is_plain ? await unzipped(set.body) : set.body;
    const headers = state.is_plain ? {} : { "Content-Encoding": "gzip" };
    const key = authorizationOf(config, machine.secret);
    const answer = await open().send({ method: "POST", path: pathOf(config.url), key, body, headers });
    return outcomeOf(
      { status: answer.status, text: machine.scrubber.scrub(answer.text) },
      retryAfterMs(answer.headers["retry-after"], machine.clock.wall()),
    );
  } catch (error) {
    const said = error instanceof Error && error.message !== "" ? error.message : codeIn(error);
    return { kind: "again", after_ms: null, reason: machine.scrubber.scrub(said), ...adviceOn(error) };
  }
}

/** What to do about certificates, TLS and their files; for other troubles of the way one advice fits all. */
const ADVICE: Partial<Record<ServiceLinkFault, SentenceCode>> = {
  certificate_expired: "notice.check.certificate_time",
  certificate_not_yet_valid: "notice.check.certificate_time",
  certificate_name: "notice.check.certificate_name",
  certificate_authority: "notice.check.certificate_authority",
  certificate_chain: "notice.check.certificate_chain",
  certificate_refused: "notice.check.certificate_refused",
  certificate_wanted: "output.figures_certificate",
  tls: "notice.check.tls",
  not_tls: "notice.check.not_tls",
  file: "notice.check.file",
};

function adviceOn(error: unknown): { readonly advice?: string } {
  const fault = error instanceof FileError ? "file" : tlsFaultOf(error);
  const row = fault === null ? undefined : ADVICE[fault];
  return row === undefined ? {} : { advice: SENTENCES[row] };
}

function codeIn(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);
}

/** Made anew after each failure: files are read anew then, and the name is looked up anew. */
function clientOf(push: Push): { readonly open: () => HttpClient; readonly close: () => void } {
  const known: { client: HttpClient | null } = { client: null };
  return {
    open: () => (known.client ??= openClient(push)),
    close() {
      known.client?.close();
      known.client = null;
    },
  };
}

function openClient({ config, machine: { meter } }: Push): HttpClient {
  const { ca_file, client_certificate_file: cert, client_key_file: key } = config;
  return createHttpClient({
    baseUrl: config.url,
    ...(ca_file === undefined ? {} : { ca: readCertificates(ca_file) }),
    ...(cert === undefined || key === undefined ? {} : { certificate: readCertificatePair(cert, key) }),
    ...(meter === undefined ? {} : { counted: { meter, purpose: "outputs" } }),
    total_timeout_ms: ANSWER_WITHIN_MS,
  });
}

function pathOf(url: string): string {
  const { pathname } = new URL(url);
  return pathname === "/" ? DEFAULT_PATH : pathname;
}

function authorizationOf({ user, password_file, token_file }: OutputConfig, secret: OutputMachine["secret"]): string {
  if (token_file !== undefined) return `Bearer ${secret(token_file)}`;
  if (user === undefined) return "";
  const pair = `${user}:${password_file === undefined ? "" : secret(password_file)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

function isUp({ state, machine, config }: Push): void {
  if (state.link.kind === "up") return;
  state.link = { kind: "up", since: machine.clock.wall() };
  machine.log.info({ event: "output_up", output: config.name }, `output ${config.name} is up at ${config.url}`);
}

function isDown(
  { state, machine, config }: Push,
  outcome: Exclude<PushOutcome, { readonly kind: "taken" }>,
  { failures, wait }: { readonly failures: number; readonly wait: Milliseconds },
): void {
  const { reason } = outcome;
  const isKey = outcome.kind === "refused" && (outcome.status === 401 || outcome.status === 403);
  const usual = say(
    isKey ? "output.figures_key" : outcome.kind === "refused" ? "output.figures_refused" : "output.figures_away",
  );
  const advice = (outcome.kind === "again" ? outcome.advice : undefined) ?? usual;
  tellDown({ state, machine, config }, { reason, advice }, { failures, wait });
}

function tellDown(
  { state, machine, config }: Push,
  { reason, advice }: { readonly reason: string; readonly advice: string },
  { failures, wait }: { readonly failures: number; readonly wait: Milliseconds },
): void {
  const since = machine.clock.wall();
  const before = state.link;
  state.link = stillDown(before, { kind: "down", since, reason, advice, attempt: failures, next_try_at: since + wait });
  if (before.kind === "down" && before.reason === reason) return;
  machine.log.warn(
    { event: "output_down", output: config.name, reason },
    `output ${config.name} is down: ${reason}; ${advice}`,
  );
}
