/**
 * A process that takes in what many gateways send: makes each one's batches as they fall due, offers them to ingest and counts those whose
 * ack has the hash of what was sent. Told by its parent when to begin; says in the end what it did.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { constants, zstdCompressSync } from "node:zlib";
import { mixed, recordsOf, seqAfter } from "../../simulators/fleet/virtual-log.ts";
import { latencies } from "../../simulators/fleet/meter.ts";
import { startIngest } from "../../simulators/service/storage/postgres/ingest.ts";
import { hashOf } from "../../src/contract/hash.ts";
import { batchOf } from "../../src/contract/telemetry.ts";

export interface WorkerTask {
  readonly url: string;
  /** Of the gateways' numbers; the last isn't one of them. */
  readonly first: number;
  readonly end: number;
  /** Real time in which each gateway sends a batch. */
  readonly every_ms: number;
  readonly warm_up_s: number;
  readonly seconds: number;
}

export interface WorkerCount {
  readonly batches: number;
  readonly readings: number;
  readonly bytes: number;
  readonly wrong: number;
  readonly cpu_s: number;
  /** Of it, what making the batches and checking their hashes took. */
  readonly making_s: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Due and not sent by the end. */
  readonly behind: number;
}

/** Batches under way: what two brokers give a worker unconfirmed. */
const MOST_UNDER_WAY = 800;
const STEP_MS = 10;
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: 4_096 };

async function carryOut({ url, first, end, every_ms, warm_up_s, seconds }: WorkerTask): Promise<WorkerCount> {
  const uplinks = startIngest({ url, alone: () => Promise.reject(new Error("nothing of it is unusual")) });
  const started = Date.now();
  const count = { batches: 0, readings: 0, bytes: 0, wrong: 0, making_s: 0 };
  const took = latencies();
  let [handed, underWay, cpu] = [0, 0, process.cpuUsage()];
  const gateways = end - first;
  const send = (nth: number): void => {
    const [number, commit] = [first + (nth % gateways), 1 + Math.floor(nth / gateways)];
    const log = { seed: mixed(7, number), start: started - 3_600_000, clock_steps: [], variants: [] };
    const records = recordsOf(log, seqAfter(commit - 1) + 1 + (commit === 1 ? 2 : 0), seqAfter(commit));
    // As throughput.ts has placed them.
    const head = { gateway_id: `gw-${number}`, generation: 1, stream: `stream of FLEET-${number}` };
    const payload = zstdCompressSync(JSON.stringify(batchOf(head, records, Date.now())), ZSTD);
    const hash = hashOf(records);
    const at = performance.now();
    underWay += 1;
    void uplinks
      .take({ gateway: head.gateway_id, topic: "batch", payload, now: Date.now() })
      .then(({ ack }) => {
        took.add(performance.now() - at);
        count.batches += 1;
        count.bytes += payload.byteLength;
        count.readings += records.length - 1;
        if (ack === undefined || !("hash" in ack) || ack.hash !== hash) count.wrong += 1;
      })
      .catch(() => (count.wrong += 1))
      .finally(() => (underWay -= 1));
  };
  const begun = performance.now();
  let isWarm = false;
  for (;;) {
    const passed = performance.now() - begun;
    if (!isWarm && passed >= warm_up_s * 1_000) {
      isWarm = true;
      Object.assign(count, { batches: 0, readings: 0, bytes: 0, making_s: 0 });
      cpu = process.cpuUsage();
    }
    if (passed >= (warm_up_s + seconds) * 1_000) break;
    const due = Math.floor((passed / every_ms) * gateways);
    // Nothing else has its turn in between: what is taken begins a while later.
    const making = process.cpuUsage();
    while (handed < due && underWay < MOST_UNDER_WAY) send(handed++);
    const made = process.cpuUsage(making);
    count.making_s += (made.user + made.system) / 1e6;
    await sleep(STEP_MS);
  }
  const { user, system } = process.cpuUsage(cpu);
  const told = { ...count, cpu_s: (user + system) / 1e6, p50_ms: took.quantile(0.5), p99_ms: took.quantile(0.99) };
  const behind = Math.floor((((warm_up_s + seconds) * 1_000) / every_ms) * gateways) - handed;
  while (underWay > 0) await sleep(STEP_MS);
  await uplinks.stop();
  return { ...told, wrong: count.wrong, behind };
}

process.once("message", (task: WorkerTask) => {
  void carryOut(task).then((counted) => {
    process.send?.(counted);
    process.disconnect();
  });
});
