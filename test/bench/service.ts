import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import mqtt, { type MqttClient } from "mqtt";
import { type Db, inTransaction, rows, run as runSql } from "../../simulators/service/storage/db.ts";
import { openDb } from "../../simulators/service/storage/open.ts";
import { DEMO_ADMIN_KEY, seedDemo } from "../../simulators/service/demo/seed-demo.ts";
import { CONTRACT } from "../../simulators/service/http/contract-table.ts";
import { callerOfKey } from "../../simulators/service/accounts/keys.ts";
import { provision } from "../../simulators/service/provisioning/provision.ts";
import { seedSite } from "../../simulators/service/accounts/seed.ts";
import { startService } from "../../simulators/service/start.ts";
import { batchOf, claimBody, EPOCH, type LogRecord } from "../simulators/service/service-log.ts";
import { type BenchOptions, type Family, type Figure, median, percentile } from "./figure.ts";
import { chunkFigures } from "./service-chunks.ts";

/** The reference service: a fleet that delivers at once, and reports over three months of fifty booths. */

const CHILD = new URL("../simulators/service/service-child.ts", import.meta.url);
const GATEWAYS = 100;
const SIZE = 500;
const BATCHES = { quick: 1, full: 10 };
const NOW = Date.UTC(2026, 10, 20);
const ROUNDS = { quick: 2, full: 9 };

function recordsOf(batch: number): LogRecord[] {
  return Array.from({ length: SIZE }, (_, i) => {
    const seq = batch * SIZE + i;
    return { kind: "r", tag: `tag_${seq % 20}`, mono: seq * 1000, value: seq % 97, quality: "good" };
  });
}

function prepareFleet(dataDir: string): void {
  const db = openDb(dataDir);
  for (let nth = 0; nth < GATEWAYS; nth += 1) {
    const serial_number = `BENCH-${nth}`;
    seedSite(db, { serial: serial_number, provisionKey: "prov" });
    const caller = callerOfKey(db, "prov", EPOCH);
    if (caller === undefined) throw new Error("no key");
    const service = { db, now: () => EPOCH, mqttUrl: () => "", plain: false };
    provision(service, { caller, body: claimBody(`gw-b${nth}`, { serial_number }), now: EPOCH });
  }
  db.close();
}

interface Lane {
  readonly client: MqttClient;
  readonly payloads: readonly Buffer[];
}

async function lane(url: string, nth: number, batches: number): Promise<Lane> {
  const gateway = `gw-b${nth}`;
  const auth = { clientId: gateway, username: gateway, password: `secret of ${gateway}`, reconnectPeriod: 0 };
  const client = await mqtt.connectAsync(url, auth);
  await client.subscribeAsync(`bg/v1/${gateway}/down/#`, { qos: 1 });
  const payloads = Array.from({ length: batches }, (_, batch) => {
    const at = { gateway, stream: `stream of ${gateway}`, s0: batch * SIZE + 1 };
    return gzipSync(JSON.stringify(batchOf(recordsOf(batch), at)), { level: 1 });
  });
  return { client, payloads };
}

/** Sends a lane's batches, the next as soon as the one before it is acked; the time of each from publishing to its ack. */
async function deliver({ client, payloads }: Lane, nth: number): Promise<number[]> {
  const lags: number[] = [];
  for (const payload of payloads) {
    const sent = performance.now();
    const acked = new Promise<Buffer>((resolve) => client.once("message", (_, message) => resolve(message)));
    client.publish(`bg/v1/gw-b${nth}/up/batch`, payload, { qos: 1 });
    const ack = await acked;
    if ((JSON.parse(ack.toString()) as { n: number }).n !== SIZE) throw new Error(`refused: ${ack.toString()}`);
    lags.push(performance.now() - sent);
  }
  return lags;
}

/** Records a second that SQLite takes from the same records, a transaction a batch, with nothing looked at: what is possible. */
function bareInserts(dataDir: string, batches: number): number {
  const db = openDb(join(dataDir, "bare"));
  db.exec(
    "CREATE TABLE bare (stream, seq, kind, tag, boot, mono, time, value, quality, PRIMARY KEY (stream, seq)) WITHOUT ROWID",
  );
  const insert = "INSERT INTO bare VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
  const start = performance.now();
  for (let batch = 0; batch < batches; batch += 1) {
    inTransaction(db, () => {
      for (const [i, { kind, tag, mono, value, quality }] of recordsOf(0).entries()) {
        runSql(db, insert, batch, i, kind, tag, 1, mono, mono, String(value), quality);
      }
    });
  }
  const rate = (batches * SIZE) / ((performance.now() - start) / 1000);
  db.close();
  return rate;
}

async function ingestFigures(folder: string, batches: number): Promise<Figure[]> {
  prepareFleet(folder);
  const child = fork(CHILD, [folder], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  child.send("open");
  const [{ mqttUrl }] = (await once(child, "message")) as [{ mqttUrl: string }];
  const lanes = await Promise.all(Array.from({ length: GATEWAYS }, (_, nth) => lane(mqttUrl, nth, batches)));
  const start = performance.now();
  const lags = (await Promise.all(lanes.map(deliver))).flat();
  const value = (GATEWAYS * batches * SIZE) / ((performance.now() - start) / 1000);
  for (const { client } of lanes) await client.endAsync(true);
  child.kill("SIGKILL");
  await once(child, "exit");
  const anchor = bareInserts(folder, GATEWAYS * 2);
  const rate = { name: "service.ingest_records_per_s", value, unit: "records/s", anchor, ratio: value / anchor };
  const p50 = percentile(lags, 50);
  const p99 = percentile(lags, 99);
  const lag = { name: "service.ingest_lag_p99_ms", value: p99, unit: "ms", anchor: p50, ratio: p99 / p50 };
  return [
    { ...rate, target: `${GATEWAYS} gateways at once over MQTT; anchor: bare inserts`, reached: null },
    { ...lag, target: "publish to ack, all at once; anchor: the median", reached: null },
  ];
}

/** Every GET of a report, with the ids of the demo and a window of its whole history. */
function reportPaths(db: Db, start: number): string[] {
  const first = (table: string): string => rows<{ id: string }>(db, `SELECT id FROM ${table} ORDER BY id`)[0]?.id ?? "";
  const ids = new Map(["accounts", "facilities", "booths"].map((table) => [table, first(table)]));
  const asked = {
    start: new Date(start).toISOString(),
    end: new Date(NOW).toISOString(),
    limit: "1000",
    tags: "mode,gas",
    includes: "cycle_count:utilization_times:energy_usage:bake_time:overuse_data",
  };
  const query = new URLSearchParams(asked).toString();
  return CONTRACT.filter(
    ({ method, path }) => method === "GET" && !/provisioning|notifications|definitions/.test(path),
  ).map(
    ({ path }) =>
      `${path.replaceAll(/(\w+)\/\{\w+\}/g, (_, name: string) => `${name}/${ids.get(name) ?? ""}`)}?${query}`,
  );
}

/** How SQLite carries out every statement that the report needed, beyond those used before. */
function plansOf(db: Db, before: readonly string[]): string[] {
  const used = db.used().filter((sql) => !before.includes(sql));
  return used.flatMap((sql) => {
    const marks = Array.from({ length: sql.split("?").length - 1 }, () => null);
    const steps = rows<{ detail: string }>(db, `EXPLAIN QUERY PLAN ${sql}`, ...marks);
    return [`  ${sql.replaceAll(/\s+/g, " ").slice(0, 150)}`, ...steps.map(({ detail }) => `      ${detail}`)];
  });
}

/** CPU of this process, service and caller, and time by the clock, which others on the machine lengthen. */
interface Cost {
  readonly cpu_ms: number;
  readonly ms: number;
}

interface Asking {
  readonly dataDir: string;
  readonly rounds: number;
}

async function reportFigures(
  { dataDir, rounds }: Asking,
  { booths, days }: { booths: number; days: number },
): Promise<Figure[]> {
  const clock = { now: NOW };
  const open = () => startService({ dataDir, port: 0, mqttPort: 0, clock: { wall: () => (clock.now += 1) } });
  const ask = async (url: string, path: string): Promise<Cost> => {
    const begun = performance.now();
    const before = process.cpuUsage();
    await (await fetch(url + path, { headers: { authorization: DEMO_ADMIN_KEY } })).text();
    const { user, system } = process.cpuUsage(before);
    return { cpu_ms: (user + system) / 1000, ms: performance.now() - begun };
  };
  const service = await open();
  const paths = reportPaths(service.db, NOW - days * 86_400_000);
  const cold = await ask(service.url, paths.find((path) => path.startsWith("/api/utilization?")) ?? "");
  const costs: (Cost & { readonly path: string })[] = [];
  for (const path of paths) {
    const asked: Cost[] = [];
    for (let round = 0; round < rounds; round += 1) asked.push(await ask(service.url, path));
    costs.push({ path, cpu_ms: median(asked.map(({ cpu_ms }) => cpu_ms)), ms: median(asked.map(({ ms }) => ms)) });
  }
  await service.stop();
  const [heaviest] = costs.sort((a, b) => b.cpu_ms - a.cpu_ms);
  if (heaviest === undefined) throw new Error("no report");
  const again = await open();
  const before = again.db.used();
  await ask(again.url, heaviest.path);
  const plan = plansOf(again.db, before);
  await again.stop();
  const name = heaviest.path.replace(/\?.*/, "");
  process.stdout.write(`heaviest report: ${name}\n${plan.join("\n")}\n`);
  const size = `over ${booths} booths and ${days} days`;
  const heavy = { name: "service.heaviest_report_ms", value: heaviest.cpu_ms, unit: "ms", anchor: heaviest.ms };
  const first = { name: "service.first_report_ms", value: cold.cpu_ms, unit: "ms", anchor: cold.ms };
  return [
    {
      ...heavy,
      ratio: heaviest.cpu_ms / heaviest.ms,
      target: `at most 200 ms of CPU ${size}; anchor: by the clock`,
      reached: heaviest.cpu_ms <= 200,
    },
    {
      ...first,
      ratio: cold.cpu_ms / cold.ms,
      target: `the first after a start, ${size}; anchor: by the clock`,
      reached: null,
    },
  ];
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "bg-bench-service-"));
  try {
    // First: what months of fifty booths leave behind would be collected while chunks are taken.
    const chunks = await chunkFigures(folder, quick);
    const size = quick ? { booths: 2, days: 5 } : { booths: 50, days: 90 };
    const dataDir = join(folder, "demo");
    const db = openDb(dataDir);
    await seedDemo(db, { seed: 1, ...size, now: NOW });
    db.close();
    const reports = await reportFigures({ dataDir, rounds: quick ? ROUNDS.quick : ROUNDS.full }, size);
    const batches = await ingestFigures(join(folder, "fleet"), quick ? BATCHES.quick : BATCHES.full);
    return [...batches, ...chunks, ...reports];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const serviceFamily: Family = { name: "service", run };
