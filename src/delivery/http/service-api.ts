import { createHash } from "node:crypto";
import pRetry from "p-retry";
import { type BindingChange, PLAIN_GENERATION } from "../../domain/provisioning.ts";
import type { Reported, SealedSecret, ServiceAnswer, ServiceRecord } from "../../domain/service.ts";
import type { Clock, Random, Sealer } from "../../domain/machine.ts";
import type { ServiceApi } from "../port.ts";
import type { ServiceTime } from "../../domain/service-time.ts";
import { afterAnswer, afterFailure, CLOSED, heldOff, type Breaker } from "../rules/breaker.ts";
import { fullJitter } from "../../domain/backoff.ts";
import { deviceFieldsShape, lastStreamIn, shownIn } from "../../contract/booths.ts";
import {
  provisioningShape,
  unreadIn,
  type ClaimWire,
  type ReportedWire,
  type UpdateWire,
} from "../../contract/provisioning.ts";
import { answerTime, isoTime } from "../../contract/time.ts";
import { answerOf, dateOf } from "./answer.ts";
import { withFacility } from "./facility.ts";
import { claimPlain, completePlain, findPlain, type PlainService } from "./plain-level.ts";
import { HttpClosed, type HttpAnswer, type HttpClient, type HttpRequest } from "./client.ts";

const PATH = "/api/booths_provisioning";
/** Short trouble is ridden out here; longer trouble is the provisioning loop's, which waits with what it knows. */
const QUICK_RETRIES = 2;
const QUICK = { base_ms: 500, cap_ms: 2_000 };

export interface ServiceApiParts {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly service_time: ServiceTime;
  readonly sealer: Sealer;
  readonly agentVersion: string;
  readonly hardwareId: string;
}

/** The provisioning endpoints over HTTP. */
export function createServiceApi(parts: ServiceApiParts): ServiceApi {
  const parseRecord = recordParser(parts.sealer);
  const tags = new Map<string, string>();
  const line: Line = { ...parts, breaker: CLOSED, trouble: "", tags };
  const ask = async (request: HttpRequest): Promise<ServiceAnswer<ServiceRecord>> => {
    const answer = await askFor(line, request, parseRecord);
    const isPlain = answer.kind === "ok" && answer.value.generation === null;
    const { key } = request;
    return isPlain ? answer : withFacility((path, parse) => askFor(line, { method: "GET", path, key }, parse), answer);
  };
  const get = <T>(key: string, path: string, parse: Parse<T>): Promise<ServiceAnswer<T>> =>
    askFor(line, { method: "GET", path, key }, parse);
  const plainOf = (key: string, serial: string): PlainService => ({
    get: (path, parse) => get(key, path, parse),
    record: (request) =>
      ask({ ...request, path: request.method === "POST" ? PATH : `${PATH}/${encodeURIComponent(serial)}`, key }),
  });
  return {
    async lookUp(key, serial) {
      const plain = plainOf(key, serial);
      const answer = await plain.record({ method: "GET" });
      const isFull = answer.kind === "ok" && answer.value.generation !== null;
      if (isFull || (answer.kind !== "ok" && answer.kind !== "not_found")) return answer;
      return findPlain(plain.get, serial, answer.kind === "ok" ? answer.value : null);
    },
    ...reads(get),
    claim: (key, claim) => {
      // What was read of the record is of the binding before.
      tags.delete(`${PATH}/${encodeURIComponent(claim.serial)}`);
      if (claim.is_plain) return claimPlain(plainOf(key, claim.serial), claim.serial);
      const body: ClaimWire = {
        serial_number: claim.serial,
        gateway: {
          id: claim.gateway_id,
          hardware_id: parts.hardwareId,
          agent_version: parts.agentVersion,
          credential_sha256: sha256(claim.credential),
        },
        stream_id: claim.stream,
        intent: claim.intent,
        expected_generation: claim.expected_generation,
        confirm: { by: claim.confirmed.by, note: claim.confirmed.note },
      };
      return ask({ method: "POST", path: PATH, key, body, headers: { "Idempotency-Key": claim.claim_id } });
    },
    update: async (key, serial, change) => {
      if (change.generation === PLAIN_GENERATION) return completePlain(plainOf(key, serial));
      const body: UpdateWire = {
        gateway_id: change.gateway_id,
        generation: change.generation,
        ...(change.complete ? { completion_status: "COMPLETE" } : {}),
        ...(change.credential === undefined ? {} : { credential_sha256: sha256(change.credential) }),
        ...(change.leaving === undefined ? {} : { status: change.leaving.to, reason: change.leaving.reason }),
        ...(change.reported === undefined ? {} : { reported: reportedOf(change.reported) }),
      };
      const path = `${PATH}/${encodeURIComponent(serial)}`;
      for (let tries = 1; ; tries += 1) {
        const tag = tags.get(path);
        const headers = tag === undefined ? {} : { "If-Match": tag };
        const answer = await ask({ method: "PUT", path, key, body, headers });
        if (answer.kind !== "conflict" || tag === undefined || tries === MATCH_TRIES) return answer;
        // Something of the record changed since it was read: that is ours to overwrite as long as the binding is ours.
        const now = await ask({ method: "GET", path, key });
        if (now.kind !== "ok" || !isBindingOf(now.value, change)) return answer;
      }
    },
  };
}

function isBindingOf({ generation, gateway }: ServiceRecord, change: BindingChange): boolean {
  return gateway?.id === change.gateway_id && generation === change.generation;
}

function sha256(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** What is read of a booth and changes nothing. */
function reads(
  get: <T>(key: string, path: string, parse: Parse<T>) => Promise<ServiceAnswer<T>>,
): Pick<ServiceApi, "report" | "shown" | "lastStream"> {
  return {
    report: (key, path) => get(key, path, (body) => (typeof body === "object" && body !== null ? body : null)),
    shown: (key, booth_id) => {
      const path = `/api/booths/${encodeURIComponent(booth_id)}`;
      return get(key, path, (body) => {
        const fields = deviceFieldsShape.safeParse(body).data;
        return fields === undefined ? null : { ...fields, booth: shownIn(body, booth_id) };
      });
    },
    lastStream: (key, booth_id) => {
      const path = `/api/booths/latest_updates?filter=${encodeURIComponent(`booth_id:eq:${booth_id}`)}`;
      return get(key, path, (body) => ({ acked: lastStreamIn(body, booth_id) }));
    },
  };
}

/** What was never read stays out: a null would wipe what the service knows. A null date says "not since we look". */
function reportedOf(reported: Reported): ReportedWire {
  const { firmware_version, plc_program, plc_program_revision, last_active_mode } = reported;
  const { connectivity_status, plc, seq } = reported;
  const timeOf = (instant: number | null): string | null => (instant === null ? null : answerTime(instant));
  return {
    connectivity_status,
    plc,
    seq,
    ...(firmware_version === null
      ? {}
      : { firmware_version, last_firmware_update: timeOf(reported.last_firmware_update) }),
    ...(plc_program === null ? {} : { plc_program, last_program_update: timeOf(reported.last_program_update) }),
    ...(plc_program_revision === null ? {} : { plc_program_revision }),
    ...(last_active_mode === null ? {} : { last_active_mode }),
    sent_at: isoTime(reported.sent_at),
  };
}

/** The PLC's passwords are sealed before anybody else sees the record. */
function recordParser(sealer: Sealer): (body: unknown) => ServiceRecord | null {
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

/** The way to the one host, with what is known of it. */
interface Line extends ServiceApiParts {
  breaker: Breaker;
  /** Why the last request failed: what people are told while the host is left alone. */
  trouble: string;
  /** Validators of records as last read, by path; only what was read may be overwritten. */
  readonly tags: Map<string, string>;
}

/** Tries of a write whose record changes meanwhile. */
const MATCH_TRIES = 3;
/** A record's validators are as many as there are booths. */
const MAX_TAGS = 64;

function noteAnswer(line: Line, { method, path }: HttpRequest, { status, headers }: HttpAnswer): void {
  line.breaker = isDown(status)
    ? afterFailure(line.breaker, line.clock.mono(), () => line.random.next())
    : afterAnswer(line.breaker);
  const tag = headers["etag"];
  if (status < 300 && method !== "POST" && typeof tag === "string") {
    if (line.tags.size < MAX_TAGS || line.tags.has(path)) line.tags.set(path, tag);
  }
}

function isDown(status: number): boolean {
  return status === 500 || status === 502 || status === 503 || status === 504;
}

type Later = Extract<ServiceAnswer<never>, { kind: "keep" }>;

/** Tells p-retry to try once more, and what to answer when it has tried often enough. */
class TryAgain extends Error {
  readonly answer: Later;
  constructor(answer: Later) {
    super(answer.reason);
    this.answer = answer;
  }
}

type Parse<T> = (body: unknown) => T | null;

async function askFor<T>(parts: Line, request: HttpRequest, parse: Parse<T>): Promise<ServiceAnswer<T>> {
  const once = async (): Promise<ServiceAnswer<T>> => {
    const answer = await sendOnce(parts, request, parse);
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
        parts.clock.sleep(fullJitter(attemptNumber - 1, QUICK, () => parts.random.next())),
    });
  } catch (error) {
    if (error instanceof TryAgain) return error.answer;
    throw error;
  }
}

async function sendOnce<T>(parts: Line, request: HttpRequest, parse: Parse<T>): Promise<ServiceAnswer<T>> {
  const wait = heldOff(parts.breaker, parts.clock.mono());
  if (wait > 0) return { kind: "keep", reason: parts.trouble, after_ms: wait };
  try {
    const sent = parts.clock.mono();
    const answer = await parts.http.send(request);
    noteAnswer(parts, request, answer);
    const time = isOwn(answer.status) ? dateOf(answer.headers["date"]) : null;
    if (time !== null) parts.service_time.heard({ way: "http", time, sent, received: parts.clock.mono() });
    const outcome = answerOf(answer, parse, parts.clock.wall());
    if (outcome.kind === "keep") parts.trouble = outcome.reason;
    return outcome;
  } catch (error) {
    if (error instanceof HttpClosed) return { kind: "keep", reason: error.message, after_ms: 0 };
    parts.breaker = afterFailure(parts.breaker, parts.clock.mono(), () => parts.random.next());
    parts.trouble = `the service can't be reached: ${describe(error)}`;
    return { kind: "keep", reason: parts.trouble, after_ms: null };
  }
}

/** An answer of the service itself: whoever stands before it answers with an error or a redirect. */
function isOwn(status: number): boolean {
  return (status >= 200 && status < 300) || status === 404;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (["TimeoutError", "AbortError"].includes(error.name)) return "no answer in time";
  // Node tries several addresses and then reports all failures under one empty message.
  return error.message === "" && "code" in error ? String(error.code) : error.message;
}
