import pRetry from "p-retry";
import { boothFieldsShape, type BoothFieldValues } from "../../contract/booths.ts";
import { deviceFieldsShape, lastStreamIn, shownIn } from "../../contract/booths.ts";
import { readAs } from "../../contract/fields.ts";
import { claimBody, provisioningShape, unreadIn, updateBody } from "../../contract/provisioning.ts";
import { fullJitter } from "../../domain/retrying.ts";
import type { Clock, Random, Sealer } from "../../domain/machine.ts";
import { PLAIN_GENERATION } from "../../domain/provisioning.ts";
import type { ServiceTime } from "../../domain/service-time.ts";
import type { SealedSecret, ServiceAnswer, ServiceRecord } from "../../domain/service.ts";
import type { ServiceApi } from "../port.ts";
import { afterAnswer, afterFailure, type Breaker, CLOSED, heldOff } from "../rules/breaker.ts";
import { answerOf, dateOf, KEEP, type Parse } from "./answer.ts";
import { type HttpClient, HttpClosed, type HttpRequest } from "./client.ts";
import { type Ask, claimPlain, completePlain, findPlain, type PlainService, withFacility } from "./plain-level.ts";
import { say } from "../../domain/sentences.ts";

const PATH = "/api/booths_provisioning";
/** Short trouble is ridden out here; longer trouble is the provisioning loop's, which waits with what it knows. */
const QUICK_RETRIES = 2;
const QUICK = { base_ms: 500, cap_ms: 2_000 };
/** Tries of a write whose record changes meanwhile. */
const MATCH_TRIES = 3;
/** A record's validators are as many as there are booths. */
const MAX_TAGS = 64;

/** What a service is asked by, and as whom. */
export interface HttpService {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly service_time: ServiceTime;
  readonly sealer: Sealer;
  readonly agentVersion: string;
  readonly hardwareId: string;
}

/** The way to the one host, with what is known of it. */
interface Line extends HttpService {
  breaker: Breaker;
  /** Why the last request failed: what people are told while the host is left alone. */
  trouble: string;
  /** Validators of records as last read, by path; only what was read may be overwritten. */
  readonly tags: Map<string, string>;
}

const recordPath = (serial: string): string => `${PATH}/${encodeURIComponent(serial)}`;
const boothPath = (booth_id: string): string => `/api/booths/${encodeURIComponent(booth_id)}`;

/** The service's interface over HTTP, as far as bindings need it. */
export function createServiceApi(service: HttpService): ServiceApi {
  const parseRecord = recordParser(service.sealer);
  const line: Line = { ...service, breaker: CLOSED, trouble: "", tags: new Map() };
  const getWith =
    (key: string): Ask =>
    (path, parse) =>
      askFor(line, { method: "GET", path, key }, parse);
  const ask = async (request: HttpRequest): Promise<ServiceAnswer<ServiceRecord>> =>
    withFacility(getWith(request.key), await askFor(line, request, parseRecord));
  const plainOf = (key: string, serial: string): PlainService => ({
    get: getWith(key),
    serial,
    record: (method, body) => ask({ method, path: method === "POST" ? PATH : recordPath(serial), key, body }),
  });
  return {
    async lookUp(key, serial) {
      const plain = plainOf(key, serial);
      const answer = await plain.record("GET");
      if (answer.kind === "not_found") return findPlain(plain, null);
      return answer.kind === "ok" && answer.value.generation === null ? findPlain(plain, answer.value) : answer;
    },
    report: (key, path) => getWith(key)(path, (body) => (typeof body === "object" ? body : null)),
    shown: (key, booth_id) =>
      getWith(key)(boothPath(booth_id), (body) => {
        const fields = deviceFieldsShape.safeParse(body).data;
        return fields === undefined ? null : { ...fields, booth: shownIn(body, booth_id) };
      }),
    lastStream(key, booth_id) {
      const path = `/api/booths/latest_updates?filter=${encodeURIComponent(`booth_id:eq:${booth_id}`)}`;
      return getWith(key)(path, (body) => ({ acked: lastStreamIn(body, booth_id) }));
    },
    claim(key, claim) {
      // What was read of the record is of the binding before.
      line.tags.delete(recordPath(claim.serial));
      if (claim.is_plain) return claimPlain(plainOf(key, claim.serial));
      const headers = { "Idempotency-Key": claim.claim_id };
      return ask({ method: "POST", path: PATH, key, body: claimBody(claim, service), headers });
    },
    async update(key, serial, change) {
      if (change.generation === PLAIN_GENERATION) return completePlain(plainOf(key, serial));
      const path = recordPath(serial);
      const body = updateBody(change);
      for (let tries = 1; ; tries += 1) {
        const tag = line.tags.get(path);
        const headers = tag === undefined ? {} : { "If-Match": tag };
        const answer = await ask({ method: "PUT", path, key, body, headers });
        if (answer.kind !== "conflict" || tag === undefined || tries === MATCH_TRIES) return answer;
        // Something of the record changed since it was read: that is ours to overwrite as long as the binding is ours.
        const now = await ask({ method: "GET", path, key });
        const { gateway, generation } = now.kind === "ok" ? now.value : { gateway: null, generation: null };
        if (gateway?.id !== change.gateway_id || generation !== change.generation) return answer;
      }
    },
  };
}

/** The PLC's passwords are sealed before anybody else sees the record. */
function recordParser(sealer: Sealer): Parse<ServiceRecord> {
  const seal = (plain: string | null): SealedSecret | null => (plain === null ? null : sealer.seal(plain));
  return (body) => {
    const parsed = provisioningShape.safeParse(body);
    if (!parsed.success) return null;
    const { old_password, new_password, ...rest } = parsed.data;
    const unread = unreadIn(body);
    const record = unread.length === 0 ? rest : { ...rest, unread };
    if (old_password === null && new_password === null) return record;
    return { ...record, plc_passwords: { old: seal(old_password), new: seal(new_password) } };
  };
}

/** Tells p-retry to try once more, and what to answer when it has tried often enough. */
class TryAgain extends Error {
  readonly answer: ServiceAnswer<never>;
  constructor(answer: Extract<ServiceAnswer<never>, { kind: "keep" }>) {
    super(answer.reason);
    this.answer = answer;
  }
}

async function askFor<T>(line: Line, request: HttpRequest, parse: Parse<T>): Promise<ServiceAnswer<T>> {
  const once = async (): Promise<ServiceAnswer<T>> => {
    const answer = await sendOnce(line, request, parse);
    if (answer.kind === "keep" && answer.after_ms === null) throw new TryAgain(answer);
    return answer;
  };
  try {
    // p-retry's own delays have no jitter at their cap, so it gets none and the wait is computed here.
    return await pRetry(once, {
      retries: QUICK_RETRIES,
      minTimeout: 0,
      factor: 1,
      onFailedAttempt: ({ attemptNumber }) =>
        line.clock.sleep(fullJitter(attemptNumber - 1, QUICK, () => line.random.next())),
    });
  } catch (error) {
    if (error instanceof TryAgain) return error.answer;
    throw error;
  }
}

async function sendOnce<T>(line: Line, request: HttpRequest, parse: Parse<T>): Promise<ServiceAnswer<T>> {
  const { clock, random, tags } = line;
  const wait = heldOff(line.breaker, clock.mono());
  if (wait > 0) return { kind: "keep", reason: line.trouble, after_ms: wait };
  const failed = (): Breaker => afterFailure(line.breaker, clock.mono(), () => random.next());
  try {
    const sent = clock.mono();
    const answer = await line.http.send(request);
    const { status, headers } = answer;
    line.breaker = status >= 500 && KEEP.has(status) ? failed() : afterAnswer(line.breaker);
    const tag = headers["etag"];
    if (status < 300 && request.method !== "POST" && typeof tag === "string") {
      if (tags.size < MAX_TAGS || tags.has(request.path)) tags.set(request.path, tag);
    }
    // Whoever stands before the service answers with an error or a redirect: its time is nobody's.
    const isOwn = (status >= 200 && status < 300) || status === 404;
    const time = isOwn ? dateOf(headers["date"]) : null;
    if (time !== null) line.service_time.heard({ way: "http", time, sent, received: clock.mono() });
    const outcome = answerOf(answer, parse, clock.wall());
    if (outcome.kind === "keep") line.trouble = outcome.reason;
    return outcome;
  } catch (error) {
    if (error instanceof HttpClosed) return { kind: "keep", reason: error.message, after_ms: 0 };
    line.breaker = failed();
    line.trouble = `the service can't be reached: ${describe(error)}`;
    return { kind: "keep", reason: line.trouble, after_ms: null };
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (["TimeoutError", "AbortError"].includes(error.name)) return "no answer in time";
  // Node tries several addresses and then reports all failures under one empty message.
  return error.message === "" && "code" in error ? String(error.code) : error.message;
}

export interface BoothFieldsSetup extends Pick<HttpService, "clock"> {
  readonly http: Pick<HttpClient, "send">;
  /** What the service knows this gateway by; null: nothing yet. */
  readonly key: () => Promise<string | null>;
}

/**
 * Size and brand of a booth at the service, one try each: a person waits for it, and tries again if they like. Never rejects
 * for what the service or the network does.
 */
export function createBoothFields({ http, clock, key }: BoothFieldsSetup) {
  const ask = async (request: Omit<HttpRequest, "key">): Promise<ServiceAnswer<BoothFieldValues>> => {
    const own = await key();
    if (own === null) return { kind: "denied", reason: say("service.no_key") };
    try {
      return answerOf(await http.send({ ...request, key: own }), readAs(boothFieldsShape), clock.wall());
    } catch (error) {
      const reason = error instanceof Error && error.message !== "" ? error.message : String(error);
      return { kind: "keep", reason: say("service.away", { reason }), after_ms: null };
    }
  };
  return {
    read: (booth_id: string) => ask({ method: "GET", path: boothPath(booth_id) }),
    /** Sends these fields alone. */
    write: (booth_id: string, fields: Readonly<Record<string, string>>) =>
      ask({ method: "PUT", path: boothPath(booth_id), body: fields }),
  };
}
