/** A running reference service on free loopback ports, with a site and a gateway bound to its booth. */
import { type RunningService, startService } from "../../../simulators/service/start.ts";
import { seedSite } from "../../../simulators/service/accounts/seed.ts";
import { outbox } from "../../../simulators/service/accounts/mail.ts";
import { ingestBatch } from "../../../simulators/service/ingest/store.ts";
import { freshStore } from "./store-under-test.ts";
import { batchOf, claimBody, EPOCH, type Script } from "./service-log.ts";

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** {} if the answer isn't JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface Running {
  readonly running: RunningService;
  /** The service's wall clock; the test may set it. */
  readonly clock: { now: number };
  readonly call: (
    method: string,
    path: string,
    more?: { key?: string | null; body?: unknown; headers?: Record<string, string> },
  ) => Promise<Reply>;
}

interface BenchOptions {
  readonly plain?: boolean | "strict";
  readonly dataDir?: string;
  readonly trustedProxies?: readonly string[];
}

export async function startBench(options: BenchOptions = {}): Promise<Running> {
  const clock = { now: EPOCH };
  const ports = { port: 0, mqttPort: 0, adminPort: 0, dataDir: options.dataDir ?? freshStore() };
  const { plain = false, trustedProxies } = options;
  const running = await startService({ ...ports, clock: { wall: () => clock.now }, plain, trustedProxies });
  const keys = { provisionKey: "prov", adminKey: "admin", userKey: "user" };
  seedSite(running.db, { serial: "ABCD1234", boothId: "b1", ...keys, now: EPOCH });
  const call: Running["call"] = async (method, path, more = {}) => {
    const key = more.key === undefined ? "admin" : more.key;
    const headers: Record<string, string> = { ...(key === null ? {} : { authorization: key }), ...more.headers };
    if (more.body !== undefined) headers["content-type"] = "application/json";
    const text = typeof more.body === "string" ? more.body : JSON.stringify(more.body);
    const answer = await fetch(running.url + path, {
      method,
      headers,
      ...(more.body === undefined ? {} : { body: text }),
    });
    const found = await answer.text();
    const isJson = answer.headers.get("content-type")?.startsWith("application/json") === true && found !== "";
    const parsed = (isJson ? JSON.parse(found) : {}) as Record<string, unknown>;
    return { status: answer.status, headers: answer.headers, body: parsed, text: found };
  };
  return { running, clock, call };
}

export async function claim(
  bench: Running,
  gateway = "gw-1",
  more: Readonly<Record<string, unknown>> = {},
): Promise<Reply> {
  return bench.call("POST", "/api/booths_provisioning", { key: "prov", body: claimBody(gateway, more) });
}

/** Ingests a log of gateway gw-1, and sets the service's clock to its end. */
export function feed({ running, clock }: Running, log: Script): void {
  clock.now = EPOCH + log.now();
  ingestBatch(running.db, { gatewayId: "gw-1", nowMs: clock.now }, batchOf(log.records()));
}

/** Returns the token in the link of the last mail. */
export function lastToken({ running }: Running): string {
  return /token=(\S+)/.exec(outbox(running.db).at(-1)?.text ?? "")?.[1] ?? "";
}

/** Invites Ann, sets her password, and returns her id and her session's Authorization header. */
export async function signedIn(
  bench: Running,
  role = "user",
): Promise<{ readonly id: string; readonly bearer: string }> {
  const email = "ann@example.com";
  const new_password = "long enough to be one";
  const { body } = await bench.call("POST", "/api/users", { body: { user_name: "Ann", email, role } });
  await bench.call("POST", "/api/users/change_password", { body: { token: lastToken(bench), new_password } });
  const session = await bench.call("POST", "/api/authenticate", { body: { email, password: new_password } });
  return { id: String(body["id"]), bearer: `Bearer ${String(session.body["session_token"])}` };
}
