import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import { type Cluster, startCluster } from "../../simulators/postgres-cluster.ts";
import { type Db, row, run } from "../../simulators/service/storage/db.ts";
import { openDb } from "../../simulators/service/storage/open.ts";
import { type Downlink, takeUplink } from "../../simulators/service/ingest/uplink.ts";
import { startService } from "../../simulators/service/start.ts";
import { compactStream, dropEmptied } from "../../simulators/service/fleet/compact.ts";
import { foldBooth } from "../../simulators/service/fleet/facts.ts";
import { startIngest } from "../../simulators/service/fleet/ingest.ts";
import type { Uplinks } from "../../simulators/service/storage/port.ts";
import { boundGateways } from "../simulators/service/offering-gateways.ts";
import { batchOf, EPOCH, type LogRecord, PARAMETERS } from "../simulators/service/service-log.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { type BenchOptions, type Family, type Figure, percentile } from "./figure.ts";
import { sixtyTags } from "./sixty-tags.ts";

/**
 * The reference service on PostgreSQL: what it costs to take in a booth of sixty tags whose gateway sends every ten seconds, what a reading
 * takes at rest once its days are compacted, and how long reports over a fleet take. One booth's log is taken in and folded; the other
 * booths are copies of it made inside the database, with other names, since what is measured of them is their size and their number.
 */

const POLLS_PER_BATCH = 10;
const DAY_S = 86_400;
const DAYS = { quick: 1, full: 7 };
const BOOTHS = { quick: 5, full: 100 };
const FLEET = { quick: 1_000, full: 10_000 };
const ROUNDS = { quick: 10, full: 100 };
/** Coverage is told once a minute, a stage once a quarter of an hour. */
const COVERAGE_POLLS = 60;
const STAGE_POLLS = 900;
const AT_ONCE = 64;

const tags = Object.fromEntries(
  Array.from({ length: 24 }, (_, nth) => [`measured_value_${nth}`, { bay: 0, unit: "", factor: 1, group: "fast" }]),
);
const roles = {
  mode: PARAMETERS.tags["mode"],
  counter_0: PARAMETERS.tags["gas"],
  counter_1: PARAMETERS.tags["energy"],
};

interface Taken {
  readonly readings: number;
  readonly batches: number;
  readonly cpu_s: number;
  readonly server_cpu_s: number;
  readonly now: number;
}

/** A booth's days as its gateway sends them. */
function* batchesOf(
  days: number,
): Generator<{ readonly payload: Buffer; readonly readings: number; readonly mono: number }> {
  const random = seededRandom(1);
  const poll = sixtyTags("s", () => random.next());
  let s0 = 1;
  for (let polls = 0; polls < days * DAY_S; polls += POLLS_PER_BATCH) {
    const records: LogRecord[] = [...recordsOf(Array.from({ length: POLLS_PER_BATCH }, poll), () => 1_000)];
    const mono = records.at(-1)?.mono ?? 0;
    const readings = records.filter(({ kind }) => kind === "r").length;
    if (polls === 0) {
      const value = { ...PARAMETERS, tags: { ...tags, ...roles } };
      records.push({ kind: "p", tag: "", mono, value, quality: "good" });
    }
    if (polls % COVERAGE_POLLS === 0) {
      const value = {
        group: "fast",
        from: mono,
        to: mono + COVERAGE_POLLS * 1000,
        polls: COVERAGE_POLLS,
        max_interval_ms: 1000,
      };
      records.push({ kind: "h", tag: "fast", mono, value, quality: "good" });
    }
    if (polls % STAGE_POLLS === 0) {
      const value = { mode: "spray", bay: 0, start: EPOCH + mono, end: EPOCH + mono + 60_000, next: "flash" };
      records.push({ kind: "m", tag: "", mono, value, quality: "good" });
    }
    const batch = batchOf(records, { gateway: "gw-0", stream: "stream of FLEET-0", s0 });
    s0 += records.length;
    yield { payload: gzipSync(JSON.stringify(batch), { level: 6 }), readings, mono };
  }
}

async function takenIn(db: Db, cluster: Cluster, days: number): Promise<Taken> {
  boundGateways(db, 1);
  const uplinks: Uplinks<Downlink> = startIngest({
    url: cluster.url,
    alone: (uplink) => takeUplink(db, uplink),
    gather_ms: 1,
  });
  const taken = { readings: 0, batches: 0, cpu_s: 0, server_cpu_s: 0, now: 0 };
  let ready: { payload: Buffer; readings: number; mono: number }[] = [];
  const flush = async (): Promise<void> => {
    const before = process.cpuUsage();
    const serverBefore = cpuOf(cluster.pid());
    const answers = await Promise.all(
      ready.map(({ payload, mono }) => uplinks.take({ gateway: "gw-0", topic: "batch", payload, now: EPOCH + mono })),
    );
    const { user, system } = process.cpuUsage(before);
    taken.cpu_s += (user + system) / 1e6;
    taken.server_cpu_s += cpuOf(cluster.pid()) - serverBefore;
    for (const { ack } of answers) if (ack === undefined || ack.n === 0) throw new Error(JSON.stringify(ack));
    ready = [];
  };
  for (const batch of batchesOf(days)) {
    ready.push(batch);
    taken.readings += batch.readings;
    taken.batches += 1;
    taken.now = EPOCH + batch.mono;
    if (ready.length === AT_ONCE) await flush();
  }
  if (ready.length > 0) await flush();
  await uplinks.stop();
  return taken;
}

/** CPU seconds of a server and of all its processes, those that are over as well. */
function cpuOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  const ticks = [pid.toString(), ...children].map((one) => {
    try {
      const fields = readFileSync(`/proc/${one}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      const own = Number(fields[11]) + Number(fields[12]);
      return one === pid.toString() ? own + Number(fields[13]) + Number(fields[14]) : own;
    } catch {
      return 0; // gone meanwhile
    }
  });
  return ticks.reduce((sum, one) => sum + one, 0) / 100;
}

const SIZES = `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c
  WHERE c.relkind IN ('r', 'm') AND c.relnamespace = 'public'::regnamespace`;

/** Booths beside the first: its rows under other names. */
function copyBooths(
  db: Db,
  { from, to, logs }: { readonly from: number; readonly to: number; readonly logs: boolean },
): void {
  const copy = (table: string, columns: Readonly<Record<string, string>>, where: string): void => {
    const sql = `SELECT column_name AS name FROM information_schema.columns WHERE table_name = ? AND table_schema = 'public' ORDER BY ordinal_position`;
    const names = (db.all(sql, [table]) as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => columns[name] !== "-");
    const values = names.map((name) => columns[name] ?? `t.${name}`).join(", ");
    const series = `generate_series(${from}, ${to}) AS n`;
    db.exec(`INSERT INTO ${table} (${names.join(", ")}) SELECT ${values} FROM ${table} t, ${series} WHERE ${where}`);
  };
  const booth = (column: string): string => `t.${column} || '-' || n`;
  const first = row<{ id: string }>(db, "SELECT id FROM booths WHERE serial_number = 'FLEET-0'")?.id ?? "";
  const ofBooth = `booth_id = '${first}'`;
  copy("gateways", { id: booth("id") }, "id = 'gw-0'");
  copy("booths", { id: booth("id"), serial_number: booth("serial_number"), name: booth("name") }, `id = '${first}'`);
  copy("provisionings", { booth_id: booth("booth_id"), gateway_id: booth("gateway_id") }, ofBooth);
  copy("booth_facts", { booth_id: booth("booth_id") }, ofBooth);
  copy("booth_hours", { booth_id: booth("booth_id") }, ofBooth);
  copy("booth_days", { booth_id: booth("booth_id") }, ofBooth);
  const stream = row<{ id: number }>(db, "SELECT id FROM streams WHERE stream_id = 'stream of FLEET-0'")?.id ?? 0;
  const names = {
    id: "t.id + 10000 + n",
    stream_id: booth("stream_id"),
    gateway_id: booth("gateway_id"),
    booth_id: booth("booth_id"),
  };
  copy("streams", names, `id = ${stream}`);
  if (!logs) return;
  copy("segments", { stream_no: "t.stream_no + 10000 + n" }, `stream_no = ${stream}`);
  copy("records", { stream_no: "t.stream_no + 10000 + n", gateway_id: booth("gateway_id") }, `stream_no = ${stream}`);
}

async function reportTimes(cluster: Cluster, { now, rounds }: { now: number; rounds: number }): Promise<Figure[]> {
  const clock = { wall: () => now };
  const service = await startService({ dataDir: ":memory:", store: cluster.url, port: 0, mqttPort: 0, clock });
  const paths = ["booths", "booths/booth_status_summary", "utilization", "bucketed_utilization"];
  const window = `start=${new Date(EPOCH).toISOString().slice(0, 19)}Z`;
  const figures: Figure[] = [];
  for (const path of paths) {
    const asked: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const begun = performance.now();
      const answer = await fetch(`${service.url}/api/${path}?${window}`, { headers: { authorization: "admin" } });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${path}: ${text}`);
      // The first one begins a thread.
      if (round > 0) asked.push(performance.now() - begun);
    }
    const p99 = percentile(asked, 99);
    const name = `postgres.report_${path.split("/").at(-1) ?? ""}_p99_ms`;
    figures.push({
      name,
      value: p99,
      unit: "ms",
      anchor: null,
      ratio: null,
      target: "under 500 ms",
      reached: p99 < 500,
    });
  }
  await service.stop();
  return figures;
}

async function measured({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const size = quick ? "quick" : "full";
  const cluster = await startCluster({
    settings: { synchronous_commit: "on", shared_buffers: "256MB", max_wal_size: "2GB" },
  });
  try {
    const db = openDb(cluster.url);
    const empty = row<{ bytes: number }>(db, SIZES)?.bytes ?? 0;
    const taken = await takenIn(db, cluster, DAYS[size]);
    const raw = row<{ bytes: number }>(db, SIZES)?.bytes ?? 0;
    // All of its days are over.
    const later = taken.now + 2 * DAY_S * 1000;
    const before = process.cpuUsage();
    const compacted = compactStream(db, "stream of FLEET-0", later);
    const { user } = process.cpuUsage(before);
    dropEmptied(db, later);
    const boothId = row<{ id: string }>(db, "SELECT id FROM booths WHERE serial_number = 'FLEET-0'")?.id ?? "";
    foldBooth(db, boothId, later);
    copyBooths(db, { from: 1, to: BOOTHS[size] - 1, logs: true });
    const held = row<{ bytes: number }>(db, SIZES)?.bytes ?? 0;
    const readings = taken.readings * BOOTHS[size];
    const rest = (held - empty) / readings;
    const cpu = (1e6 * taken.cpu_s) / taken.batches;
    const server = (1e6 * taken.server_cpu_s) / taken.batches;
    process.stderr.write(
      `${taken.batches} batches of ${(taken.readings / taken.batches).toFixed(1)} readings, ${compacted.segments} segments made ${compacted.into} in ${(user / 1e6).toFixed(1)} s of CPU, ${((raw - empty) / taken.readings).toFixed(2)} bytes a reading before; `,
    );
    copyBooths(db, { from: BOOTHS[size], to: FLEET[size] - 1, logs: false });
    run(db, "UPDATE api_keys SET account_id = (SELECT account_id FROM booths LIMIT 1)");
    run(
      db,
      "INSERT INTO api_keys (id, account_id, name, prefix, hash, scope, created_at) SELECT 'adm', account_id, 'adm', '', encode(sha256('admin'), 'hex'), 'admin', 0 FROM booths LIMIT 1",
    );
    // As the server does by itself some time after.
    db.exec("VACUUM ANALYZE");
    const none = { anchor: null, ratio: null };
    return [
      {
        name: "postgres.bytes_per_reading",
        value: rest,
        unit: "bytes",
        ...none,
        target: `at most 2, over ${DAYS[size]} days of ${BOOTHS[size]} booths`,
        reached: rest <= 2,
      },
      {
        name: "postgres.ingest_cpu_us_per_batch",
        value: cpu,
        unit: "us",
        ...none,
        target: "with the next at most 1,000 us: 1,000 batches a second by a core",
        reached: cpu + server <= 1_000,
      },
      { name: "postgres.server_cpu_us_per_batch", value: server, unit: "us", ...none, target: "", reached: null },
      ...(await reportTimes(cluster, { now: later, rounds: ROUNDS[size] })),
    ];
  } finally {
    await cluster.remove();
  }
}

export const postgresFamily: Family = { name: "postgres", run: measured };
