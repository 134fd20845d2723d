import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { type Cluster, startCluster } from "../../simulators/postgres-cluster.ts";
import { openDb } from "../../simulators/service/storage/open.ts";
import { boundGateways } from "../simulators/service/offering-gateways.ts";
import type { BenchOptions, Family, Figure } from "./figure.ts";
import type { WorkerCount, WorkerTask } from "./throughput-worker.ts";

/**
 * What ingest and PostgreSQL take of a fleet that is too large to have its sessions on one machine: two processes take in the batches of
 * 50,000 gateways, one each ten seconds and made beforehand, straight through the workers' port. No broker and no session is in it; what those cost is measured with
 * 10,000 (docs/fleet.md).
 */

const GATEWAYS = { quick: 5_000, full: 50_000 };
const SECONDS = { quick: 20, full: 60 };
const WARM_UP_S = 10;
const EVERY_MS = 10_000;
const PROCESSES = 2;

/** One is bound by a claim; the others are copies of its rows. */
function place(cluster: Cluster, gateways: number): void {
  const db = openDb(cluster.url);
  boundGateways(db, 1);
  const series = `generate_series(1, ${gateways - 1}) AS n`;
  const copy = (table: string, columns: string, values: string): void =>
    db.exec(`INSERT INTO ${table} (${columns}) SELECT ${values} FROM ${table} t, ${series}`);
  copy("gateways", "id, account_id, created_at", "'gw-' || n, account_id, created_at");
  copy(
    "booths",
    "id, account_id, facility_id, serial_number, name, config, created_at, updated_at",
    "'booth-' || n, account_id, facility_id, 'FLEET-' || n, name, config, created_at, updated_at",
  );
  copy(
    "provisionings",
    "booth_id, generation, gateway_id, status, completion_status, revision, provisioned_at, created_at, updated_at",
    "'booth-' || n, 1, 'gw-' || n, status, completion_status, revision, provisioned_at, created_at, updated_at",
  );
  copy(
    "streams",
    "stream_id, gateway_id, booth_id, generation, first_seq, acked_seq, bound_at",
    "'stream of FLEET-' || n, 'gw-' || n, 'booth-' || n, 1, 1, 0, bound_at",
  );
  // The first commit of a virtual log goes without its clock's word and parameters.
  db.exec("UPDATE streams SET first_seq = 3, acked_seq = 2");
  db.exec("ANALYZE");
  db.close();
}

interface Worker {
  /** It has made all that it sends. */
  readonly ready: Promise<void>;
  readonly counted: Promise<WorkerCount>;
  readonly begin: () => void;
}

function workerFor(task: WorkerTask): Worker {
  const child = fork(fileURLToPath(new URL("throughput-worker.ts", import.meta.url)));
  const gone = new Promise<never>((_, reject) => {
    child.once("exit", (code) => reject(new Error(`a process ended with ${String(code)}`)));
  });
  const ready = new Promise<void>((resolve) => child.once("message", () => resolve()));
  const counted = ready.then(
    () => new Promise<WorkerCount>((resolve) => child.once("message", (count: WorkerCount) => resolve(count))),
  );
  child.send(task);
  return {
    ready: Promise.race([ready, gone]),
    counted: Promise.race([counted, gone]),
    begin: () => child.send("begin"),
  };
}

/** CPU seconds of the server's connections and helpers, by now. */
function serverCpu(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return children.reduce((sum, one) => {
    try {
      const fields = readFileSync(`/proc/${one}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return sum + (Number(fields[11]) + Number(fields[12])) / 100;
    } catch {
      return sum; // gone meanwhile
    }
  }, 0);
}

/** Records that lie there, by SQL that the service doesn't use, and those that its rows say are held. */
async function stored(url: string): Promise<{ readonly lie: number; readonly held: number }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const sql = `SELECT (SELECT sum(to_seq - from_seq + 1) FROM segments)::float8 AS lie,
    (SELECT sum(upper(one) - lower(one)) FROM streams, unnest(held) AS one)::float8 AS held`;
  const { rows } = await client.query<{ lie: number; held: number }>(sql);
  await client.end();
  return rows[0] ?? { lie: 0, held: 0 };
}

async function measured({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const size = quick ? "quick" : "full";
  const gateways = GATEWAYS[size];
  const seconds = SECONDS[size];
  const log = { max_wal_size: "4GB", wal_compression: "lz4", checkpoint_timeout: "15min" };
  const cluster = await startCluster({ settings: { synchronous_commit: "on", shared_buffers: "512MB", ...log } });
  try {
    place(cluster, gateways);
    const share = gateways / PROCESSES;
    const task = { url: cluster.url, every_ms: EVERY_MS, warm_up_s: WARM_UP_S, seconds };
    const server = { before: 0, after: 0 };
    const workers = Array.from({ length: PROCESSES }, (_, nth) =>
      workerFor({ ...task, first: nth * share, end: (nth + 1) * share }),
    );
    await Promise.all(workers.map(({ ready }) => ready));
    setTimeout(() => (server.before = serverCpu(cluster.pid())), WARM_UP_S * 1_000);
    setTimeout(() => (server.after = serverCpu(cluster.pid())), (WARM_UP_S + seconds) * 1_000);
    for (const { begin } of workers) begin();
    const counts = await Promise.all(workers.map(({ counted }) => counted));
    const sum = (of: (count: WorkerCount) => number): number => counts.reduce((all, count) => all + of(count), 0);
    const rate = sum(({ batches }) => batches) / seconds;
    const { lie, held } = await stored(cluster.url);
    const percent = (cpu_s: number): string => `${((100 * cpu_s) / seconds).toFixed(0)} %`;
    process.stderr.write(
      `${gateways} gateways, ${(sum(({ readings }) => readings) / sum(({ batches }) => batches)).toFixed(1)} readings a batch of ${(sum(({ bytes }) => bytes) / sum(({ batches }) => batches)).toFixed(0)} bytes; ` +
        `of a core: ingest ${percent(sum(({ cpu_s }) => cpu_s))}, PostgreSQL ${percent(server.after - server.before)}; ` +
        `acked in p50 ${counts.map(({ p50_ms }) => p50_ms).join(", ")} ms, p99 ${counts.map(({ p99_ms }) => p99_ms).join(", ")} ms; ${sum(({ behind }) => behind)} behind, ${sum(({ wrong }) => wrong)} wrong; ${lie} records lie there, ${held} are held\n`,
    );
    if (lie !== held || sum(({ wrong }) => wrong) > 0) throw new Error("what was acked isn't what lies there");
    const wanted = gateways / (EVERY_MS / 1_000);
    const none = { anchor: null, ratio: null };
    return [
      {
        name: "throughput.batches_per_s",
        value: rate,
        unit: "1/s",
        ...none,
        target: `${wanted} of ${gateways} gateways, without sessions`,
        reached: rate >= 0.99 * wanted,
      },
      {
        name: "throughput.cpu_us_per_batch",
        value: (1e6 * (sum(({ cpu_s }) => cpu_s) + server.after - server.before)) / (rate * seconds),
        unit: "us",
        ...none,
        target: "ingest and PostgreSQL",
        reached: null,
      },
    ];
  } finally {
    await cluster.remove();
  }
}

export const throughputFamily: Family = { name: "throughput", run: measured };
