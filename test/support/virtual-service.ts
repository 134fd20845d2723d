import Database from "better-sqlite3";
import type { commandSide } from "../../src/delivery/mqtt/link.ts";
import type { WorkingHours } from "../../src/domain/booth.ts";
import type { HttpAnswer, HttpClient, HttpRequest } from "../../src/delivery/http/client.ts";
import type { Clock } from "../../src/domain/machine.ts";
import type { ServiceLink } from "../../src/delivery/port.ts";
import { openSqlite, sqliteDb, type SqliteDb } from "../../simulators/service/storage/sqlite.ts";
import { HttpError } from "../../simulators/service/base/errors.ts";
import type { Answer, Operation, Service } from "../../simulators/service/http/operation.ts";
import { callerOfKey } from "../../simulators/service/accounts/keys.ts";
import { OPERATIONS } from "../../simulators/service/resources/table.ts";
import { DEFAULT_HOURS, seedSite } from "../../simulators/service/accounts/seed.ts";
import { type ServiceWay, type Told, virtualLinkTo } from "./virtual-link.ts";

/** The reference service without sockets: the real provisioning, ingest and figures on SQLite in memory. */
export interface VirtualService {
  readonly db: SqliteDb;
  readonly way: ServiceWay;
  readonly facility: Required<Omit<Facility, "runtime_max_age_ms">>;
  readonly http: HttpClient;
  readonly link: ServiceLink;
  /** Returns a report of the service as users get it. Throws if the status isn't 200. */
  get(path: string, query?: Readonly<Record<string, string>>): Record<string, unknown>;
  /** Returns the same report asynchronously: other work runs between its steps. */
  ask(path: string, query?: Readonly<Record<string, string>>): Promise<Record<string, unknown>>;
  /** Publishes a command on the gateway's down/cmd. Without a session the command is lost. */
  order(gateway: string, command: unknown): void;
  /** Publishes the text of a command. */
  orderText(gateway: string, text: string): void;
  /** Every received batch in its wire format, and the bytes of every chunk. */
  readonly came: readonly unknown[];
  /** Returns a copy of its database. */
  backup(): Buffer;
  /**
   * Replaces its data by those of a copy, while sessions and processes continue. Does nothing if a gateway has been
   * bound or got another key since the copy was made: its operator binds such a gateway again.
   */
  restore(copy: Buffer): void;
  /** Makes another service that has the same booth and gateway, but none of its records. */
  forgetful(): VirtualService;
  close(): void;
}

export const ADMIN_KEY = "admin-key";
const RUNTIME_AGE_MS = 24 * 3_600_000;
export const PROVISION_KEY = "provision-key";
export const SERIAL = "ABCD-123-123";

/** The site of the booth. */
export interface Facility {
  /**
   * The service offers only what the interface document requires. "strict": it also rejects everything that it may
   * reject.
   */
  readonly plain?: boolean | "strict";
  /**
   * Maximum age of the cached runtime in a booth's record. Without a cache, each read-back after a report scans the
   * whole log.
   */
  readonly runtime_max_age_ms?: number;
  readonly tz: string;
  readonly working_hours?: readonly WorkingHours[];
}

export function virtualService(clock: Clock, facility: Facility): VirtualService {
  const db = openSqlite(":memory:");
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

function goodWay(): ServiceWay {
  return {
    down: false,
    lose_acks: 0,
    lost_acks: 0,
    latency_ms: 20,
    passing: null,
    broker_learns_ms: null,
    listener: null,
    says: (time) => time,
    takes: ["chunk/1"],
    answers: truthfully,
    hear: (own) => own,
    refused: new Set(),
  };
}

/** Answers a batch as the real service does. */
export function truthfully(_batch: unknown, take: () => Told): readonly string[] {
  return [JSON.stringify(take())];
}

function serviceOn(db: SqliteDb, clock: Clock, facility: Facility): VirtualService {
  const service: Service = {
    db,
    now: () => clock.wall(),
    mqttUrl: () => "mqtt://virtual",
    plain: facility.plain !== undefined && facility.plain !== false,
    strict: facility.plain === "strict",
    runtime_max_age_ms: facility.runtime_max_age_ms ?? 0,
  };
  // The gateway reads its record every few minutes. The runtime in it isn't used, but takes the whole log to compute.
  const forBoxes: Service = { ...service, runtime_max_age_ms: RUNTIME_AGE_MS };
  const way = goodWay();
  const came: unknown[] = [];
  const sessions = new Map<string, ReturnType<typeof commandSide>>();
  const orderText = (gateway: string, text: string): void => {
    if (!way.down) sessions.get(gateway)?.receive(Buffer.from(text));
  };
  const order = (gateway: string, command: unknown): void => orderText(gateway, JSON.stringify(command));
  const look = (path: string, query: Readonly<Record<string, string>>): HttpAnswer | Promise<HttpAnswer> => {
    const search = new URLSearchParams(query).toString();
    return carryOut(service, { method: "GET", path: search === "" ? path : `${path}?${search}`, key: ADMIN_KEY });
  };
  return {
    db,
    way,
    facility: { working_hours: DEFAULT_HOURS, plain: false, ...facility },
    came,
    backup: () => db.file.serialize(),
    restore: (copy) => restoreFrom(db, copy),
    forgetful: () => serviceOn(forgetfulCopy(db), clock, facility),
    http: {
      async send(request) {
        await clock.sleep(way.latency_ms);
        if (way.down) throw new Error("no route to the service");
        await way.passing?.("request", request);
        const answer = withDate(await carryOut(forBoxes, request), way.says(clock.wall(), "http"));
        await way.passing?.("answer", request);
        return answer;
      },
      close: () => undefined,
    },
    link: virtualLinkTo({ db, clock, way, came, sessions, order }),
    order,
    orderText,
    get(path, query = {}) {
      const answer = look(path, query);
      if (answer instanceof Promise) throw new Error(`${path} takes real time`);
      return read(path, answer);
    },
    ask: async (path, query = {}) => read(path, await look(path, query)),
    close: () => db.close(),
  };
}

function withDate(answer: HttpAnswer, time: number): HttpAnswer {
  // The time is out of the range of Date. A header can contain such a time too.
  const date = Math.abs(time) > 8.64e15 ? time.toString() : new Date(time).toUTCString();
  return { ...answer, headers: { ...answer.headers, date } };
}

function forgetfulCopy(db: SqliteDb): SqliteDb {
  const copy = sqliteDb(new Database(db.file.serialize()));
  copy.exec(
    "DELETE FROM records; DELETE FROM segments; DELETE FROM seq_gaps; UPDATE streams SET acked_seq = first_seq - 1, version = 0",
  );
  return copy;
}

const BINDINGS = [
  "SELECT booth_id, generation, gateway_id, status FROM provisionings ORDER BY booth_id, generation",
  "SELECT id, hash, revoked_at FROM api_keys ORDER BY id",
  "SELECT stream_id, generation, superseded_at, withdrawn_at FROM streams ORDER BY id",
];

function restoreFrom({ file }: SqliteDb, copy: Buffer): void {
  const old = new Database(copy);
  try {
    const bound = (one: Database.Database): string => JSON.stringify(BINDINGS.map((sql) => one.prepare(sql).all()));
    if (bound(old) !== bound(file)) return;
    const tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    const names = old.prepare<[], string>(tables).pluck().all();
    const replace = file.transaction(() => {
      file.pragma("defer_foreign_keys = ON");
      for (const name of names) file.exec(`DELETE FROM ${name}`);
      for (const name of names) {
        const columns = old.pragma(`table_info(${name})`) as readonly { readonly name: string }[];
        const list = columns.map((column) => column.name).join(", ");
        const insert = file.prepare(`INSERT INTO ${name} (${list}) VALUES (${columns.map(() => "?").join(", ")})`);
        for (const row of old.prepare(`SELECT ${list} FROM ${name}`).raw().iterate() as IterableIterator<unknown[]>)
          insert.run(...row);
      }
    });
    replace();
  } finally {
    old.close();
  }
}

function read(path: string, { status, text }: HttpAnswer): Record<string, unknown> {
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

function carryOut(service: Service, request: HttpRequest): HttpAnswer | Promise<HttpAnswer> {
  const url = new URL(request.path, "http://service");
  // Fixed paths match before paths with an id, as in any router.
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
      address: "",
      params: found.params ?? {},
      query: Object.fromEntries(url.searchParams),
      headers,
      body,
    });
    const told = ({ status, body, headers }: Answer): HttpAnswer => answer(status, body, headers);
    return said instanceof Promise ? said.then(told) : told(said);
  } catch (error) {
    if (error instanceof HttpError) return answer(error.status, { error: error.message });
    throw error;
  }
}

function match(operation: Operation, method: string, path: string): Record<string, string> | null {
  const pattern = operation.path.split("/");
  const parts = path.split("/");
  if (operation.method !== method || pattern.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, name] of pattern.entries()) {
    const part = parts[index] ?? "";
    if (name.startsWith(":")) params[name.slice(1)] = decodeURIComponent(part);
    else if (name !== part) return null;
  }
  return params;
}
