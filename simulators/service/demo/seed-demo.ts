import { setImmediate as turn } from "node:timers/promises";
import { createBooth } from "../../plc/model/booth.ts";
import { type Db, inTransaction, run, type SqlValue } from "../storage/db.ts";
import { storeHistory } from "../ingest/store.ts";
import { advance, findStream, settleFirstSeq } from "../ingest/streams.ts";
import { idOf, seedSite } from "../accounts/seed.ts";
import { hashPassword } from "../accounts/users.ts";
import { historyOf } from "./history.ts";
import { demoSerial, demoStory } from "./stories.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

export const DEMO_ACCOUNT = "Northside Collision Group";
export const DEMO_ADMIN_KEY = "demo-admin";
const DEMO_USER_KEY = "demo-user";
const DEMO_PASSWORD = "demo password";

const FACILITIES = [
  ["Chicago Loop", "America/Chicago"],
  ["Naperville", "America/Chicago"],
  ["Denver West", "America/Denver"],
  ["Boulder", "America/Denver"],
  ["Phoenix", "America/Phoenix"],
  ["Seattle", "America/Los_Angeles"],
  ["Portland", "America/Los_Angeles"],
  ["Atlanta", "America/New_York"],
  ["Boston", "America/New_York"],
  ["St. John's", "America/St_Johns"],
] as const;

const USERS = [
  ["Avery Quinn", "admin"],
  ["Jordan Reyes", "user"],
  ["Sam Okafor", "user"],
] as const;

interface DemoOptions {
  readonly seed: number;
  readonly booths: number;
  readonly days: number;
  /** The history's end in epoch ms, rounded down to the hour. */
  readonly now: number;
  /** Called after each booth. */
  readonly onBooth?: (done: number, records: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Creates a fleet with its history. The same options give the same data, byte for byte. An existing booth is unchanged,
 * so that an interrupted seeding can continue. Returns the number of stored records.
 */
export async function seedDemo(db: Db, options: DemoOptions): Promise<number> {
  const end = Math.floor(options.now / 3_600_000) * 3_600_000;
  const window = { start: end - options.days * DAY_MS, end };
  await seedUsers(db, seedFleet(db, options, window.start), window.start);
  let records = 0;
  for (let nth = 0; nth < options.booths; nth += 1) {
    options.signal?.throwIfAborted();
    records += inTransaction(db, () => seedBooth(db, nth, { options, window }));
    options.onBooth?.(nth + 1, records);
    await turn();
  }
  return records;
}

function facilityOf(nth: number): (typeof FACILITIES)[number] {
  return FACILITIES[nth % FACILITIES.length] ?? FACILITIES[0];
}

/** Creates the booths with their facilities. Returns the account's id. */
function seedFleet(db: Db, { booths }: DemoOptions, now: number): string {
  const keys = { adminKey: DEMO_ADMIN_KEY, userKey: DEMO_USER_KEY };
  for (let nth = 0; nth < booths; nth += 1) {
    const [facility, tz] = facilityOf(nth);
    seedSite(db, { serial: demoSerial(nth), account: DEMO_ACCOUNT, facility, tz, boothName: `Booth ${nth + 1}`, now });
  }
  const [facility, tz] = facilityOf(0);
  return seedSite(db, { serial: demoSerial(0), account: DEMO_ACCOUNT, facility, tz, ...keys, now }).account_id;
}

async function seedUsers(db: Db, account_id: string, now: number): Promise<void> {
  for (const [user_name, role] of USERS) {
    const email = `${user_name.toLowerCase().replace(" ", ".")}@northside.example`;
    const password = await hashPassword(DEMO_PASSWORD, Buffer.from(email));
    insert(db, "users", { id: idOf("user", user_name), account_id, user_name, email, role, password, created_at: now });
  }
}

interface Seeding {
  readonly options: DemoOptions;
  readonly window: { readonly start: number; readonly end: number };
}

function seedBooth(db: Db, nth: number, { options, window }: Seeding): number {
  const serial = demoSerial(nth);
  const stream_id = `stream-of-${serial}`;
  if (findStream(db, stream_id) !== undefined) return 0;
  const gateway_id = `gateway-of-${serial}`;
  const booth_id = idOf("booth", serial);
  const { start, end } = window;
  const account_id = idOf("acc", DEMO_ACCOUNT);
  const created = { created_at: start, updated_at: start };
  insert(db, "gateways", { id: gateway_id, account_id, agent_version: "0.1.0", last_seen_at: end, created_at: start });
  const status = { status: "provisioned", completion_status: "COMPLETE", revision: 1, provisioned_at: start };
  insert(db, "provisionings", { booth_id, generation: 1, gateway_id, ...status, ...created, ...reportedAt(end) });
  insert(db, "streams", { stream_id, gateway_id, booth_id, generation: 1, bound_at: start, last_received_at: end });
  settleFirstSeq(db, stream_id, 1);
  const stream = findStream(db, stream_id);
  if (stream === undefined) throw new Error(`stream ${stream_id} was not stored`);
  const [, tz] = facilityOf(nth);
  const scenario = demoStory(nth, { seed: options.seed, tz, days: options.days });
  const booth = createBooth({ scenario, seed: options.seed + nth, start });
  const records = historyOf(booth, nth, window);
  storeHistory(db, stream, records);
  advance(db, stream);
  return records.length;
}

function reportedAt(end: number): Record<string, SqlValue> {
  const told = { firmware_version: "3.41", plc_program: "BOOTH-24", plc_program_revision: "14C" };
  return { reported: JSON.stringify({ ...told, connectivity_status: "Idle", seq: 1, sent_at: end }), reported_seq: 1 };
}

/** The table and field names are constants of this program, never user input. */
function insert(db: Db, table: string, fields: Readonly<Record<string, SqlValue>>): void {
  const names = Object.keys(fields);
  const sql = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")}) ON CONFLICT DO NOTHING`;
  run(db, sql, ...Object.values(fields));
}
