/** Lets bad requests loose on a service that holds two accounts, and judges every answer. */
import { CONTRACT } from "../../../simulators/service/http/contract-table.ts";
import { type Db, rows, run } from "../../../simulators/service/storage/db.ts";
import { ingestBatch } from "../../../simulators/service/ingest/store.ts";
import { callerOfKey } from "../../../simulators/service/accounts/keys.ts";
import { provision } from "../../../simulators/service/provisioning/provision.ts";
import { type SeededSite, seedSite } from "../../../simulators/service/accounts/seed.ts";
import { freshStore } from "./store-under-test.ts";
import { type RunningService, startService } from "../../../simulators/service/start.ts";
import { hashPassword } from "../../../simulators/service/accounts/users.ts";
import { badRequest, type Target } from "./bad-requests.ts";
import { pick } from "../../support/bad-values.ts";
import { type RawAnswer, sendRaw } from "../../support/raw-http.ts";
import { batchOf, claimBody, EPOCH, HOUR, script } from "./service-log.ts";
import { seededRandom } from "../../support/seeded-random.ts";

/** A fresh service every so often, so that what the requests make doesn't pile up. */
const ROUND = 2_500;
const AT_ONCE = 8;
const MAX_MADE = 20;
/** Stands in everything that belongs to the other account, and in no request. */
const MARK = "PLANTED";
const SQL_OR_STACK =
  /SQLITE|sqlite|SELECT |INSERT |UPDATE |no such (?:table|column)|node_modules|node:internal|\.ts:\d+|\bat \w+ \(/;
const HASH = /\b[0-9a-f]{64}\b/;

export interface BadInputCounts {
  requests: number;
  readonly by_status: Record<string, number>;
  /** Requests per operation that came through to its handler or its checks, by the least often hit. */
  readonly by_operation: Record<string, number>;
  /** Answers that must not be, with the request that brought them; the first few. */
  readonly faults: string[];
}

interface Shop {
  readonly site: SeededSite;
  readonly keys: readonly string[];
}

async function plantShop(running: RunningService, name: string, serial: string): Promise<Shop> {
  const { db } = running;
  const keys = { provisionKey: `${name} prov`, adminKey: `${name} admin`, userKey: `${name} user` };
  const site = seedSite(db, { serial, account: `${name} Shop`, facility: `${name} Street`, ...keys, now: EPOCH });
  const gateway = `gw-${serial}`;
  const stream = `stream of ${serial}`;
  const caller = callerOfKey(db, keys.provisionKey, EPOCH);
  if (caller === undefined) throw new Error("no key");
  const body = claimBody(gateway, { serial_number: serial, stream_id: stream });
  provision(running.service, { caller, body, now: EPOCH });
  const log = script().stage("spray", HOUR).set(`${name} tag`, `${name} value`).stage("bake", HOUR).stage("off", HOUR);
  ingestBatch(db, { gatewayId: gateway, nowMs: EPOCH }, batchOf(log.records(), { gateway, stream }));
  const user = `INSERT INTO users (id, account_id, user_name, email, role, password, created_at) VALUES (?, ?, ?, ?, 'admin', ?, 0)`;
  run(db, user, `user-${serial}`, site.account_id, `${name} Ann`, `${name}@example.com`, await hashPassword(name));
  run(db, "UPDATE booths SET old_password = ?, new_password = ? WHERE id = ?", name, name, site.booth_id);
  return { site, keys: [keys.adminKey, ...Object.values(keys), `secret of ${gateway}`] };
}

function idsOf(db: Db): string[] {
  const tables = ["accounts", "regions", "facilities", "booths", "users"];
  const ids = tables.flatMap((table) => rows<{ id: string }>(db, `SELECT id FROM ${table}`).map(({ id }) => id));
  return [...ids, "OWN-1", "OTHER-1", "gw-OWN-1", "gw-OTHER-1", "stream of OTHER-1", "own-1", "nobody"];
}

/** Everything of the other account, as text. */
function belongings(db: Db, accountId: string): string {
  const tables = rows<{ name: string }>(db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  const owned = tables.map(({ name }) => {
    const columns = rows<{ name: string }>(db, `SELECT name FROM pragma_table_info('${name}')`).map((one) => one.name);
    const where = columns.includes("account_id")
      ? "account_id = ?"
      : columns.includes("gateway_id")
        ? "gateway_id = ?"
        : "";
    const whose = columns.includes("account_id") ? accountId : "gw-OTHER-1";
    return where === "" ? [] : rows(db, `SELECT * FROM "${name}" WHERE ${where}`, whose);
  });
  return JSON.stringify(owned);
}

/** Why this answer must not be; undefined where it may. */
export function faultOf(answer: RawAnswer, request: string): string | undefined {
  const { status, head, body } = answer;
  const all = `${head}\n${body}`;
  if (status >= 500) return `status ${status}`;
  if (all.includes(MARK)) return "another account's data";
  if (SQL_OR_STACK.test(all)) return "SQL or a stack trace";
  const hash = HASH.exec(all)?.[0];
  if (hash !== undefined && !request.includes(hash)) return "a stored secret's hash";
  if (status >= 400 && !request.startsWith("HEAD ") && !isError(body)) return `an error that isn't {error}: ${body}`;
  return undefined;
}

function isError(body: string): boolean {
  try {
    const value = JSON.parse(body) as Record<string, unknown>;
    return Object.keys(value).join() === "error" && typeof value["error"] === "string";
  } catch {
    return false;
  }
}

/** Remembers the id of a created item, so that later requests read, change and delete it. */
function keepId(made: Map<string, string[]>, path: string, body: string): void {
  const collection = path.slice(path.lastIndexOf("/") + 1);
  const { id } = JSON.parse(body) as { id?: unknown };
  if (typeof id === "string") made.set(collection, [...(made.get(collection) ?? []), id].slice(-MAX_MADE));
}

async function round(counts: BadInputCounts, { seed, count }: { seed: number; count: number }): Promise<void> {
  const random = seededRandom(seed);
  const clock = { wall: () => EPOCH + 4 * HOUR };
  const running = await startService({ dataDir: freshStore(), port: 0, mqttPort: 0, clock });
  const own = await plantShop(running, "own", "OWN-1");
  const other = await plantShop(running, MARK, "OTHER-1");
  const { account_id, region_id, facility_id, booth_id } = own.site;
  const made = new Map<string, string[]>([
    ["accounts", [account_id]],
    ["regions", [region_id]],
    ["facilities", [facility_id]],
    ["booths", [booth_id]],
    ["users", ["user-OWN-1"]],
    ["booths_provisioning", ["OWN-1"]],
  ]);
  const target: Target = { keys: own.keys, ids: idsOf(running.db), own: made };
  const before = belongings(running.db, other.site.account_id);
  const port = Number(new URL(running.url).port);
  const one = async (): Promise<void> => {
    const row = pick(random, CONTRACT);
    const bytes = badRequest(random, row, target);
    const answer = await sendRaw(port, bytes);
    counts.requests += 1;
    counts.by_status[answer.status] = (counts.by_status[answer.status] ?? 0) + 1;
    const name = `${row.method} ${row.path}`;
    counts.by_operation[name] = (counts.by_operation[name] ?? 0) + 1;
    const request = bytes.toString("utf8");
    if (answer.status === 201) keepId(made, row.path, answer.body);
    const fault = faultOf(answer, request);
    if (fault !== undefined && counts.faults.length < 20) counts.faults.push(`${fault}: ${request.slice(0, 600)}`);
  };
  for (let done = 0; done < count; done += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - done) }, one));
  }
  if (belongings(running.db, other.site.account_id) !== before)
    counts.faults.push("another account's rows were changed");
  await running.stop();
}

/** Sends so many requests, all made from the seed. */
export async function badInput({ seed, requests }: { seed: number; requests: number }): Promise<BadInputCounts> {
  const counts: BadInputCounts = { requests: 0, by_status: {}, by_operation: {}, faults: [] };
  for (let sent = 0; sent < requests; sent += ROUND) {
    await round(counts, { seed: seed + sent, count: Math.min(ROUND, requests - sent) });
  }
  return counts;
}
