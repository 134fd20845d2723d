import Database from "better-sqlite3";
import { commandSide, type CommandSide } from "../../src/cloud/commands.ts";
import { outcomeOf } from "../../src/cloud/ack-outcome.ts";
import { ServiceLinkError } from "../../src/core/service-link-error.ts";
import { ackShape, batchOf } from "../../src/wire/telemetry.ts";
import type { WorkingHours } from "../../src/core/types/booth.ts";
import type { HttpAnswer, HttpClient, HttpRequest } from "../../src/cloud/http.ts";
import type { BatchOutcome, Clock, LinkSession, ServiceLink, ServiceTime } from "../../src/ports.ts";
import { openDb, type Db } from "../../simulators/service/db.ts";
import { HttpError } from "../../simulators/service/http/errors.ts";
import type { Operation, Service } from "../../simulators/service/http/operation.ts";
import { ingestBatch } from "../../simulators/service/ingest/store.ts";
import { takeMessage } from "../../simulators/service/mqtt/uplink.ts";
import { callerOfKey } from "../../simulators/service/keys.ts";
import { OPERATIONS } from "../../simulators/service/resources/table.ts";
import { DEFAULT_HOURS, seedSite } from "../../simulators/service/seed.ts";

/** Faults of the way to the service; may be changed at any time. */
export interface ServiceWay {
  /** Nothing gets through, in either direction. */
  down: boolean;
  /** The service stores, and its answer is lost, this many times. */
  lose_acks: number;
  /** How many were lost so far. */
  lost_acks: number;
  latency_ms: number;
  /** Sees each HTTP request come in and its answer go out; what it returns is waited for. */
  passing: ((what: "request" | "answer", request: HttpRequest) => Promise<void>) | null;
  /** Whoever listens to what its acks say of the time. */
  listener: ServiceTime | null;
}

/** The reference service without sockets: its real provisioning, ingest and figures on SQLite in memory. */
export interface VirtualService {
  readonly db: Db;
  readonly way: ServiceWay;
  readonly facility: Required<Omit<Facility, "runtime_max_age_ms">>;
  readonly http: HttpClient;
  readonly link: ServiceLink;
  /** A report of the service as its users get it. Throws where it doesn't answer 200. */
  get(path: string, query?: Readonly<Record<string, string>>): Record<string, unknown>;
  /** Publishes on the gateway's down/cmd; nobody hears it without a session. */
  order(gateway: string, command: unknown): void;
  /** Every batch that came in, as it was on the wire. */
  readonly came: readonly unknown[];
  /** Another service that knows the same booth and gateway, and has none of its records yet. */
  forgetful(): VirtualService;
  close(): void;
}

const ADMIN_KEY = "admin-key";
const RUNTIME_AGE_MS = 24 * 3_600_000;
export const PROVISION_KEY = "provision-key";
export const SERIAL = "ABCD-123-123";

/** Where the booth stands. */
export interface Facility {
  /** The service offers what the interface document states, and no more. */
  readonly plain?: boolean;
  /** As the service's own; a read-back after each report costs a walk through the whole log else. */
  readonly runtime_max_age_ms?: number;
  readonly tz: string;
  readonly working_hours?: readonly WorkingHours[];
}

export function virtualService(clock: Clock, facility: Facility): VirtualService {
  const db = openDb(":memory:");
  const { booth_id } = seedSite(db, {
    serial: SERIAL,
    ...facility,
    provisionKey: PROVISION_KEY,
    adminKey: ADMIN_KEY,
    boothId: "b-1",
    now: clock.wall(),
  });
  if (booth_id !== "b-1") throw new Error("the site's booth has another id");
  return serviceOn(db, clock, facility);
}

function serviceOn(db: Db, clock: Clock, facility: Facility): VirtualService {
  const service: Service = {
    db,
    now: () => clock.wall(),
    mqttUrl: () => "mqtt://virtual",
    plain: facility.plain ?? false,
    runtime_max_age_ms: facility.runtime_max_age_ms ?? 0,
  };
  // The box reads its record each few minutes, and the runtime in it, which it doesn't use, takes the whole log to compute.
  const forBoxes: Service = { ...service, runtime_max_age_ms: RUNTIME_AGE_MS };
  const way: ServiceWay = { down: false, lose_acks: 0, lost_acks: 0, latency_ms: 20, passing: null, listener: null };
  const came: unknown[] = [];
  const sessions = new Map<string, CommandSide>();
  const order = (gateway: string, command: unknown): void => {
    if (!way.down) sessions.get(gateway)?.came(Buffer.from(JSON.stringify(command)));
  };
  return {
    db,
    way,
    facility: { working_hours: DEFAULT_HOURS, plain: false, ...facility },
    came,
    forgetful: () => serviceOn(forgetfulCopy(db), clock, facility),
    http: {
      async send(request) {
        await clock.sleep(way.latency_ms);
        if (way.down) throw new Error("no route to the service");
        await way.passing?.("request", request);
        const answer = carryOut(forBoxes, request);
        await way.passing?.("answer", request);
        return answer;
      },
      close: () => undefined,
    },
    link: linkTo({ db, clock, way, came, sessions, order }),
    order,
    get(path, query = {}) {
      const search = new URLSearchParams(query).toString();
      const answer = carryOut(service, {
        method: "GET",
        path: search === "" ? path : `${path}?${search}`,
        key: ADMIN_KEY,
      });
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status.toString()} ${answer.text}`);
      return JSON.parse(answer.text) as Record<string, unknown>;
    },
    close: () => db.close(),
  };
}

function forgetfulCopy(db: Db): Db {
  const copy = new Database(db.serialize());
  copy.exec("DELETE FROM records; DELETE FROM seq_gaps; UPDATE streams SET acked_seq = first_seq - 1, version = 0");
  return copy;
}

function carryOut(service: Service, request: HttpRequest): HttpAnswer {
  const url = new URL(request.path, "http://service");
  // Fixed paths come before those with an id, as in any router.
  const [found] = OPERATIONS.map((operation) => ({
    operation,
    params: match(operation, request.method, url.pathname),
  }))
    .filter(({ params }) => params !== null)
    .sort((a, b) => Object.keys(a.params ?? {}).length - Object.keys(b.params ?? {}).length);
  const caller = callerOfKey(service.db, request.key, service.now());
  const answer = (status: number, body: unknown, more: Readonly<Record<string, string>> = {}): HttpAnswer => ({
    status,
    headers: { date: new Date(service.now()).toUTCString(), ...more },
    text: JSON.stringify(body),
  });
  if (caller === undefined) return answer(401, { error: "who?" });
  if (found === undefined) return answer(404, { error: "no such path" });
  const headers = Object.fromEntries(
    Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const body: unknown = request.body === undefined ? null : JSON.parse(JSON.stringify(request.body));
  try {
    const said = found.operation.handle({
      service,
      caller,
      now: service.now(),
      params: found.params ?? {},
      query: Object.fromEntries(url.searchParams),
      headers,
      body,
    });
    if (said instanceof Promise) throw new Error(`${request.path} takes real time`);
    return answer(said.status, said.body, said.headers);
  } catch (error) {
    if (error instanceof HttpError) return answer(error.status, { error: error.message });
    throw error;
  }
}

function match(operation: Operation, method: string, path: string): Record<string, string> | null {
  const [pattern, parts] = [operation.path.split("/"), path.split("/")];
  if (operation.method !== method || pattern.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, name] of pattern.entries()) {
    const part = parts[index] ?? "";
    if (name.startsWith(":")) params[name.slice(1)] = decodeURIComponent(part);
    else if (name !== part) return null;
  }
  return params;
}

interface LinkParts {
  readonly db: Db;
  readonly clock: Clock;
  readonly way: ServiceWay;
  readonly came: unknown[];
  /** By gateway: who listens to commands. */
  readonly sessions: Map<string, CommandSide>;
  readonly order: (gateway: string, command: unknown) => void;
}

/** Batches as they are on the wire, without broker: JSON there and back, the service's own ingest, its own hash. */
function linkTo({ db, clock, way, came, sessions, order }: LinkParts): ServiceLink {
  return {
    async connect(account, signal): Promise<LinkSession> {
      await clock.sleep(way.latency_ms, signal);
      if (way.down) throw new ServiceLinkError("unreachable", "no route to the broker");
      const caller = callerOfKey(db, account.credential, clock.wall());
      if (caller?.gateway_id !== account.gateway_id)
        throw new ServiceLinkError("credential", "the broker refuses the key");
      const side = commandSide(async (topic, payload) => {
        await pass();
        if (way.down) throw new Error("the connection to the broker is gone");
        take(topic.replace("up/", ""), JSON.parse(payload) as Record<string, unknown>);
      });
      const take = (topic: string, message: Record<string, unknown>): void => {
        const gateway = account.gateway_id;
        for (const command of takeMessage(db, { gateway, topic, now: clock.wall(), message })) order(gateway, command);
      };
      sessions.set(account.gateway_id, side);
      let end: (reason: ServiceLinkError) => void = () => undefined;
      const closed = new Promise<ServiceLinkError>((resolve) => (end = resolve));
      const pass = async (): Promise<void> => {
        await clock.sleep(way.latency_ms);
        if (way.down) end(new ServiceLinkError("closed", "the connection to the broker is gone"));
      };
      return {
        url: account.url,
        closed,
        window: () => 4,
        async hello(booths) {
          await pass();
          if (way.down) throw new Error("the connection to the broker is gone");
          const named = booths.map(({ stream, ...booth }) => ({ stream_id: stream, ...booth }));
          take("hello", { booths: named });
        },
        heartbeat: pass,
        commands: (take_them) => side.commands(take_them),
        say: (message) => side.say(message),
        async send(stream, generation, records): Promise<BatchOutcome> {
          const sent = clock.mono();
          await pass();
          if (way.down) return { kind: "keep", reason: "the connection to the broker is gone" };
          const wire = batchOf({ gateway_id: account.gateway_id, generation, stream }, records, clock.wall());
          const batch: unknown = JSON.parse(JSON.stringify(wire));
          const ack = ingestBatch(db, { gatewayId: account.gateway_id, nowMs: clock.wall() }, batch);
          came.push(batch);
          await pass();
          if (way.lose_acks > 0) {
            way.lose_acks -= 1;
            way.lost_acks += 1;
            return { kind: "keep", reason: "no ack in time" };
          }
          way.listener?.heard({ time: ack.server_time, sent, received: clock.mono() });
          const outcome = outcomeOf(ackShape.parse(JSON.parse(JSON.stringify(ack))), { stream, records }, true);
          return outcome === null || outcome.kind === "unclear"
            ? { kind: "keep", reason: `no answer to it: ${JSON.stringify(ack)}` }
            : outcome;
        },
        close: () => {
          if (sessions.get(account.gateway_id) === side) sessions.delete(account.gateway_id);
          return Promise.resolve();
        },
      };
    },
  };
}
