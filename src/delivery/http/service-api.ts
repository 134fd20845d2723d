import { systemErrorText } from "../../domain/system-error.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import { render } from "../../domain/messages/render.ts";
import { message, type Text } from "../../domain/message.ts";
import pRetry from "p-retry";
import {
  boothFieldsShape,
  type BoothFieldValues,
  deviceFieldsShape,
  lastStreamIn,
  shownIn,
} from "../../contract/booths.ts";
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

const PATH = "/api/booths_provisioning";
/** Quick retries after a failure. A longer outage is handled by the provisioning loop, which continues with the known values. */
const QUICK_RETRIES = 2;
const QUICK = { base_ms: 500, cap_ms: 2_000 };
/** Maximum number of attempts to write a record that changes in the meantime. */
const MATCH_TRIES = 3;
/** Maximum number of stored validators (ETags); each booth needs one. */
const MAX_TAGS = 64;

/** The HTTP client for a service, and the data that the gateway sends about itself. */
export interface HttpService {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly service_time: ServiceTime;
  readonly sealer: Sealer;
  readonly agentVersion: string;
  readonly hardwareId: string;
}

/** A service, and the state of its host. */
interface Host extends HttpService {
  breaker: Breaker;
  /** The reason of the last failed request, which is shown while the breaker blocks requests. */
  trouble: Text;
  /** Validators (ETags) of records at their last read, by path. Only a record that was read may be overwritten. */
  readonly tags: Map<string, string>;
}

const recordPath = (serial: string): string => `${PATH}/${encodeURIComponent(serial)}`;
const boothPath = (booth_id: string): string => `/api/booths/${encodeURIComponent(booth_id)}`;

/** Returns the service's interface over HTTP, as far as bindings need it. */
export function createServiceApi(service: HttpService): ServiceApi {
  const parseRecord = recordParser(service.sealer);
  const host: Host = { ...service, breaker: CLOSED, trouble: "", tags: new Map() };
  const getWith =
    (key: string): Ask =>
    (path, parse) =>
      askFor(host, { method: "GET", path, key }, parse);
  const ask = async (request: HttpRequest): Promise<ServiceAnswer<ServiceRecord>> =>
    withFacility(getWith(request.key), await askFor(host, request, parseRecord));
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
      // Forgets the validator, which belongs to the previous binding.
      host.tags.delete(recordPath(claim.serial));
      if (claim.is_plain) return claimPlain(plainOf(key, claim.serial));
      const headers = { "Idempotency-Key": claim.claim_id };
      return ask({ method: "POST", path: PATH, key, body: claimBody(claim, service), headers });
    },
    async update(key, serial, change) {
      if (change.generation === PLAIN_GENERATION) return completePlain(plainOf(key, serial));
      const path = recordPath(serial);
      const body = updateBody(change);
      for (let tries = 1; ; tries += 1) {
        const tag = host.tags.get(path);
        const headers = tag === undefined ? {} : { "If-Match": tag };
        const answer = await ask({ method: "PUT", path, key, body, headers });
        if (answer.kind !== "conflict" || tag === undefined || tries === MATCH_TRIES) return answer;
        // Reads the record again, because it has changed. The gateway may overwrite it if the gateway still holds the binding.
        const now = await ask({ method: "GET", path, key });
        const { gateway, generation } = now.kind === "ok" ? now.value : { gateway: null, generation: null };
        if (gateway?.id !== change.gateway_id || generation !== change.generation) return answer;
      }
    },
  };
}

/** Returns a parser of records. The parser seals the PLC's passwords. */
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

/** An error that makes p-retry repeat a request. Carries the answer to return after the last attempt. */
class TryAgain extends Error {
  readonly answer: ServiceAnswer<never>;
  constructor(answer: Extract<ServiceAnswer<never>, { kind: "keep" }>) {
    super(render(answer.reason));
    this.answer = answer;
  }
}

/**
 * Sends a request, and repeats it a few times after a failure. If the outage is longer, returns "keep": the caller continues with the known
 * values.
 */
async function askFor<T>(host: Host, request: HttpRequest, parse: Parse<T>): Promise<ServiceAnswer<T>> {
  const once = async (): Promise<ServiceAnswer<T>> => {
    const answer = await sendOnce(host, request, parse);
    if (answer.kind === "keep" && answer.after_ms === null) throw new TryAgain(answer);
    return answer;
  };
  try {
    // Computes the delay here, because p-retry's delays are not random once they reach their maximum.
    return await pRetry(once, {
      retries: QUICK_RETRIES,
      minTimeout: 0,
      factor: 1,
      onFailedAttempt: ({ attemptNumber }) =>
        host.clock.sleep(fullJitter(attemptNumber - 1, QUICK, () => host.random.next())),
    });
  } catch (error) {
    if (error instanceof TryAgain) return error.answer;
    throw error;
  }
}

async function sendOnce<T>(host: Host, request: HttpRequest, parse: Parse<T>): Promise<ServiceAnswer<T>> {
  const { clock, random, tags } = host;
  const wait = heldOff(host.breaker, clock.mono());
  if (wait > 0) return { kind: "keep", reason: host.trouble, after_ms: wait };
  const failed = (): Breaker => afterFailure(host.breaker, clock.mono(), () => random.next());
  try {
    const sent = clock.mono();
    const answer = await host.http.send(request);
    const { status, headers } = answer;
    host.breaker = status >= 500 && KEEP.has(status) ? failed() : afterAnswer(host.breaker);
    const tag = headers["etag"];
    if (status < 300 && request.method !== "POST" && typeof tag === "string") {
      if (tags.size < MAX_TAGS || tags.has(request.path)) tags.set(request.path, tag);
    }
    // Uses only the service's own time. A proxy in front of the service answers with an error or a redirect, and its clock may be wrong.
    const isOwn = (status >= 200 && status < 300) || status === 404;
    const time = isOwn ? dateOf(headers["date"]) : null;
    if (time !== null) host.service_time.heard({ source: "http", time, sent, received: clock.mono() });
    const outcome = answerOf(answer, parse, clock.wall());
    if (outcome.kind === "keep") host.trouble = outcome.reason;
    return outcome;
  } catch (error) {
    if (error instanceof HttpClosed) return { kind: "keep", reason: errorText(error), after_ms: 0 };
    host.breaker = failed();
    host.trouble = message("service.away", { reason: describe(error) });
    return { kind: "keep", reason: host.trouble, after_ms: null };
  }
}

function describe(error: unknown): Text {
  if (!(error instanceof Error)) return String(error);
  if (["TimeoutError", "AbortError"].includes(error.name)) return message("service.no_answer");
  // Uses the error code if the message is empty. Node tries several addresses and reports all failures under one empty message.
  return error.message === "" && "code" in error ? String(error.code) : systemErrorText(error);
}

export interface BoothFieldsSetup extends Pick<HttpService, "clock"> {
  readonly http: Pick<HttpClient, "send">;
  /** Returns the key for the service; null: there is no key yet. */
  readonly key: () => Promise<string | null>;
}

/**
 * Returns functions that read and write the size and the brand of a booth at the service. Each function tries only once, because a waiting
 * person can try again. They never reject because of the service or the network.
 */
export function createBoothFields({ http, clock, key }: BoothFieldsSetup) {
  const ask = async (request: Omit<HttpRequest, "key">): Promise<ServiceAnswer<BoothFieldValues>> => {
    const known = await key();
    if (known === null) return { kind: "denied", reason: message("service.no_key") };
    try {
      return answerOf(await http.send({ ...request, key: known }), readAs(boothFieldsShape), clock.wall());
    } catch (error) {
      const reason = error instanceof Error && error.message !== "" ? systemErrorText(error) : String(error);
      return { kind: "keep", reason: message("service.away", { reason }), after_ms: null };
    }
  };
  return {
    read: (booth_id: string) => ask({ method: "GET", path: boothPath(booth_id) }),
    /** Writes only the given fields. */
    write: (booth_id: string, fields: Readonly<Record<string, string>>) =>
      ask({ method: "PUT", path: boothPath(booth_id), body: fields }),
  };
}
