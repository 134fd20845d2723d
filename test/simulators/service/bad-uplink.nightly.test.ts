import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { storeCommand } from "../../../simulators/service/ingest/commands.ts";
import { row } from "../../../simulators/service/storage/db.ts";
import { evaluateAccount } from "../../../simulators/service/events/evaluate.ts";
import { HttpError } from "../../../simulators/service/base/errors.ts";
import { OPERATIONS } from "../../../simulators/service/resources/table.ts";
import { takeUplink } from "../../../simulators/service/ingest/uplink.ts";
import type { Random } from "../../../src/domain/machine.ts";
import { badJson, badValue, pick } from "../../support/bad-values.ts";
import { seedOf } from "../../support/seed.ts";
import {
  answerOf,
  batchOf,
  type Bench,
  boundBench,
  COUNTING,
  EPOCH,
  HOUR,
  type LogRecord,
  script,
} from "./service-log.ts";
import { seededRandom } from "../../support/seeded-random.ts";

const ROUNDS = 40;
const RECORDS = 60;
const TOPICS = ["state", "hello", "batch", "chunk", "result", "digest"];
const seed = seedOf("bad-uplink");

/** A value with something else in a place or two. */
function spoilt(random: Random, value: unknown, depth = 0): unknown {
  if (random.next() < 0.04 || typeof value !== "object" || value === null) {
    return random.next() < 0.15 + depth * 0.05 ? pick(random, [...EXTREMES, badValue(random)]) : value;
  }
  if (Array.isArray(value)) return value.map((item) => spoilt(random, item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, spoilt(random, inner, depth + 1)]));
}

const EXTREMES = [1e300, -1e300, 1e18, -1e18, 8.64e15, 1e-300, Number.MAX_SAFE_INTEGER, "NaN", "", true];

const KINDS: readonly (readonly [kind: string, value: unknown])[] = [
  ["h", { group: "fast", from: 0, to: HOUR, polls: 9, max_interval_ms: 1000 }],
  ["t", { wall: EPOCH, state: "synced" }],
  ["p", COUNTING],
  ["f", { filter: "exhaust_filter", source: "technician", installed_at: EPOCH + HOUR }],
  ["g", { from: 9_000, to: 9_001, reason: "budget" }],
  ["x", { seq: 3 }],
  ["i", { tag_name: "a", check: "b", logic: {}, reason: "c", first_seen_at: 1, last_seen_at: 2, resolved_at: null }],
  ["e", { event: "x" }],
];
const TAGS = Object.keys(COUNTING.tags);

/** Records of every kind, most of them believable. */
function hostileRecords(random: Random): LogRecord[] {
  return Array.from({ length: RECORDS }, () => {
    const mono = random.next() < 0.95 ? Math.floor(random.next() * 4 * HOUR) : pick(random, [-1, 1e15, 1e300]);
    if (random.next() < 0.6) {
      const value = random.next() < 0.9 ? Math.floor(random.next() * 9) : pick(random, [...EXTREMES, badValue(random)]);
      return { kind: "r", tag: pick(random, TAGS), mono, value, quality: pick(random, ["good", "good", "bad", "x"]) };
    }
    const [kind, value] = pick(random, KINDS);
    return { kind, tag: "", mono, value: spoilt(random, value), quality: "good" };
  });
}

function hostileState(random: Random): unknown {
  const booths = [{ serial: "ABCD1234", link: { kind: "up" }, mode: "spray" }, pick(random, [null, 1, "x", [], {}])];
  return spoilt(random, { v: 1, online: true, session: "s", booths: random.next() < 0.5 ? booths : booths.reverse() });
}

const DEFINITION = { name: "e", category: "Other", evaluation_period: "daily", min_duration: 0, booth_ids: ["b1"] };

const QUERIES = [
  {},
  { start: "2026-01-01 00:00:00Z", end: "2027-01-01 00:00:00Z", tags: TAGS.join(","), limit: "1000" },
  { includes: "cycle_count:utilization_times:energy_usage:bake_time:overuse_data", format: "csv", tags: "mode" },
];

const WATCHERS: readonly (readonly [method: string, path: string, body: unknown])[] = [
  ["PUT", "/api/alert_types", { name: "a", type: "time", base_tag: "mode", threshold: 1 }],
  ["PUT", "/api/alert_types", { name: "b", type: "tag", base_tag: "mode" }],
  ["PUT", "/api/alert_types", { name: "c", type: "tag_threshold", base_tag: "gas", extra_tag: "energy", threshold: 1 }],
  [
    "PUT",
    "/api/alert_types",
    { name: "d", type: "value_threshold", base_tag: "gas", threshold: 1, condition_over: 60 },
  ],
  ["POST", "/api/event_definitions", { ...DEFINITION, event_type: "tag", rules: [{ tag: "mode", op: ">", value: 2 }] }],
];

/** Alert types of each kind and an event definition, which look at whatever the gateway sends. */
async function watch({ service, caller }: Bench): Promise<void> {
  for (const [method, path, body] of WATCHERS) {
    const operation = OPERATIONS.find((one) => one.method === method && one.path === path);
    const at = { service, caller: caller("admin"), now: EPOCH - HOUR, params: {}, query: {}, headers: {}, body };
    expect((await operation?.handle(at))?.status).toBeLessThan(300);
  }
}

/** The errors of all GET operations that are no refusals. */
async function failures(bench: Bench): Promise<string[]> {
  const { id: facility = "" } = row<{ id: string }>(bench.service.db, "SELECT facility_id AS id FROM booths") ?? {};
  const found: string[] = [];
  for (const { path } of OPERATIONS.filter(({ method }) => method === "GET")) {
    const id = path.includes("facilities") ? facility : path.includes("accounts") ? "acc-demo-body-shop" : "b1";
    const params = { id, booth_id: id, account_id: id, serial_number: "ABCD1234" };
    for (const query of QUERIES) {
      try {
        JSON.stringify(await answerOf(bench, path, { now: EPOCH + 5 * HOUR, params, query }));
      } catch (error) {
        if (!(error instanceof HttpError)) found.push(`GET ${path}: ${String(error)}`);
      }
    }
  }
  return found;
}

describe("messages of a hostile gateway", () => {
  it("can't settle another gateway's command", () => {
    const { db } = boundBench();
    const command = { gateway_id: "gw-2", type: "digest", args: {}, expires_at: EPOCH + HOUR } as const;
    const { id } = storeCommand(db, command, EPOCH);
    const stateOf = (): string | undefined => row<{ state: string }>(db, "SELECT state FROM commands")?.state;
    const payload = Buffer.from(JSON.stringify({ cmd_id: id, state: "done" }));
    takeUplink(db, { gateway: "gw-1", topic: "result", payload, now: EPOCH });
    expect(stateOf()).toBe("sent");
    takeUplink(db, { gateway: "gw-2", topic: "result", payload, now: EPOCH });
    expect(stateOf()).toBe("done");
  });

  it("make no report fail", async () => {
    const random = seededRandom(seed);
    let taken = 0;
    let alerts = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const bench = boundBench();
      await watch(bench);
      bench.ingest(batchOf(script(COUNTING).stage("spray", HOUR).stage("bake", HOUR).stage("off", HOUR).records()));
      const epoch = random.next() < 0.9 ? EPOCH : pick(random, [0, 1e15, 1e300, -1e300]);
      const ack = bench.ingest(batchOf(hostileRecords(random), { s0: 1000, epoch }));
      taken += ack.n - ack.reject.length;
      const payload = Buffer.from(JSON.stringify(hostileState(random)));
      takeUplink(bench.db, { gateway: "gw-1", topic: "state", payload, now: EPOCH + 5 * HOUR });
      await evaluateAccount(bench.db, "acc-demo-body-shop", EPOCH + 48 * HOUR);
      alerts += row<{ n: number }>(bench.db, "SELECT count(*) AS n FROM alerts")?.n ?? 0;
      expect(await failures(bench)).toEqual([]);
    }
    expect(taken).toBeGreaterThan(ROUNDS * 10);
    expect(alerts).toBeGreaterThan(0);
  });

  it("don't break the service, and only batches add records", () => {
    const random = seededRandom(seed);
    const { db } = boundBench();
    const count = (): number => row<{ n: number }>(db, "SELECT count(*) AS n FROM records")?.n ?? -1;
    for (let i = 0; i < 2_000; i += 1) {
      const topic = pick(random, TOPICS);
      const text =
        random.next() < 0.5 ? badJson(random) : JSON.stringify(spoilt(random, batchOf(hostileRecords(random))));
      const zipped = topic === "batch" && random.next() < 0.8;
      const payload = zipped ? gzipSync(text) : Buffer.from(text);
      const before = count();
      const { ack } = takeUplink(db, { gateway: "gw-1", topic, payload, now: EPOCH });
      if (topic === "chunk") expect([ack?.n, count()]).toEqual([0, before]);
      else if (topic !== "batch") expect([ack, count()]).toEqual([undefined, before]);
      else expect(ack?.n ?? -1).toBeGreaterThanOrEqual(0);
    }
  });
});
