/**
 * A process that takes in what many gateways send: makes all of their batches, says so, and once it is told to begin offers each to ingest as
 * it falls due and counts those whose ack has the hash of what was sent. Says in the end what it did.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { constants, zstdCompressSync } from "node:zlib";
import { mixed, recordsOf, seqAfter } from "../../simulators/fleet/virtual-log.ts";
import { latencies } from "../../simulators/fleet/meter.ts";
import { startIngest } from "../../simulators/service/fleet/ingest.ts";
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
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Due and not sent by the end. */
  readonly behind: number;
}

/** Batches under way: what two brokers give a worker unconfirmed. */
const MOST_UNDER_WAY = 800;
const STEP_MS = 10;
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: 4_096 };

interface Made {
  readonly payload: (nth: number) => Uint8Array;
  readonly hash: (nth: number) => string;
}

/** Everything that is to be sent, in the order in which it falls due: a gateway makes its own, so that none of it is the service's. */
function madeFor({ first, end, every_ms, warm_up_s, seconds }: WorkerTask): Made {
  const gateways = end - first;
  const batches = Math.ceil((((warm_up_s + seconds) * 1_000) / every_ms) * gateways);
  const began = Date.now() - 3_600_000;
  const ends = new Float64Array(batches);
  const hashes: string[] = [];
  // In one piece: each by itself would keep the room that it was packed in.
  let bytes = Buffer.alloc(1 << 20);
  for (let [nth, at] = [0, 0]; nth < batches; nth += 1) {
    const number = first + (nth % gateways);
    const commit = 1 + Math.floor(nth / gateways);
    const log = { seed: mixed(7, number), start: began, clock_steps: [], variants: [] };
    const records = recordsOf(log, seqAfter(commit - 1) + 1 + (commit === 1 ? 2 : 0), seqAfter(commit));
    // As throughput.ts has placed them.
    const head = { gateway_id: `gw-${number}`, generation: 1, stream: `stream of FLEET-${number}` };
    const payload = zstdCompressSync(JSON.stringify(batchOf(head, records, Date.now())), ZSTD);
    if (at + payload.byteLength > bytes.byteLength) bytes = Buffer.concat([bytes], 2 * bytes.byteLength);
    bytes.set(payload, at);
    ends[nth] = at += payload.byteLength;
    hashes.push(hashOf(records));
  }
  return {
    payload: (nth) => bytes.subarray(nth === 0 ? 0 : ends[nth - 1], ends[nth]),
    hash: (nth) => hashes[nth] ?? "",
  };
}

async function carryOut(task: WorkerTask, made: Made): Promise<WorkerCount> {
  const { url, first, end, every_ms, warm_up_s, seconds } = task;
  const uplinks = startIngest({ url, alone: () => Promise.reject(new Error("nothing of it is unusual")) });
  const count = { batches: 0, readings: 0, bytes: 0, wrong: 0 };
  const took = latencies();
  let handed = 0;
  let underWay = 0;
  let cpu = process.cpuUsage();
  const gateways = end - first;
  const send = (nth: number): void => {
    const payload = made.payload(nth);
    const at = performance.now();
    underWay += 1;
    void uplinks
      .take({ gateway: `gw-${first + (nth % gateways)}`, topic: "batch", payload, now: Date.now() })
      .then(({ ack }) => {
        took.add(performance.now() - at);
        count.batches += 1;
        count.bytes += payload.byteLength;
        // One of a batch's records is its coverage.
        count.readings += ack !== undefined && "n" in ack ? ack.n - 1 : 0;
        if (ack === undefined || !("hash" in ack) || ack.hash !== made.hash(nth)) count.wrong += 1;
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
      Object.assign(count, { batches: 0, readings: 0, bytes: 0 });
      cpu = process.cpuUsage();
    }
    if (passed >= (warm_up_s + seconds) * 1_000) break;
    const due = Math.floor((passed / every_ms) * gateways);
    while (handed < due && underWay < MOST_UNDER_WAY) send(handed++);
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
  const made = madeFor(task);
  process.once("message", () => {
    void carryOut(task, made).then((counted) => {
      process.send?.(counted);
      process.disconnect();
    });
  });
  process.send?.("made");
});
