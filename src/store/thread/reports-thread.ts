import { Worker } from "node:worker_threads";
import type { ReportParts } from "../port.ts";
import type { ReportCall, ReportPart, ReportReply } from "./reports-port.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import { monotonicMs } from "../../monotonic.ts";

/** Most reports under way or waiting at once: only a few people and pages ask. */
const MAX_OPEN = 16;
/** Time without a request after which the thread ends and frees its memory. */
const IDLE_MS = MINUTE_MS;
/** A report that needs more ends its thread, never the agent. */
const MAX_HEAP_MB = 192;

/** No report at the moment: too many are being made, or the thread has ended. */
class ReportsBusy extends Error {}

/** The types of the thread's requests and of its plain data. */
interface ReportsAsked {
  readonly report: unknown;
  readonly wish: unknown;
  readonly value: unknown;
}

/** Reports made on a thread of their own, which is started on demand. */
export interface ReportsThread<Asked extends ReportsAsked = ReportsAsked> {
  /** Rejects with the thread's error, or with ReportsBusy. */
  ask(request: Asked["report"]): Promise<ReportParts>;
  /** Returns plain data. Rejects as `ask` does. */
  value(wish: Asked["wish"]): Promise<Asked["value"]>;
  close(): Promise<void>;
}

/** The thread itself, started again by the first call after it has ended. When it ends, all waiting calls reject. */
function oneThread(entry: URL, workerData: unknown, onLost: () => void) {
  const waiting = new Map<number, PromiseWithResolvers<ReportReply>>();
  let worker: Worker | null = null;
  const lost = (ended: Worker, error: Error): void => {
    if (worker !== ended) return;
    worker = null;
    onLost();
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const started = (): Worker => {
    if (worker !== null) return worker;
    const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB };
    const fresh = new Worker(entry, { workerData, name: "reports", resourceLimits });
    worker = fresh;
    fresh.on("message", (reply: ReportReply) => {
      const call = waiting.get(reply.id);
      waiting.delete(reply.id);
      call?.resolve(reply);
    });
    fresh.on("error", (error) => lost(fresh, error instanceof Error ? error : new Error(String(error))));
    fresh.on("exit", () => lost(fresh, new ReportsBusy("the reports thread has ended; ask again")));
    return fresh;
  };
  return {
    call(message: ReportCall): Promise<ReportReply> {
      const reply = Promise.withResolvers<ReportReply>();
      waiting.set(message.id, reply);
      started().postMessage(message);
      return reply.promise;
    },
    /** Sends a message without an answer, if the thread runs. */
    tell: (message: ReportCall): void => worker?.postMessage(message),
    async end(): Promise<void> {
      const old = worker;
      if (old === null) return;
      lost(old, new ReportsBusy("the reports thread has ended; ask again"));
      await old.terminate();
    },
  };
}

/** Time for a part of 64 kB: 3 to 5 ms on a fast machine, measured on each. */
const PART_MS = { least: 8, most: 40, forgotten: 0.98 };

/**
 * Opens the reports thread. `entry`: its file, which serves its port with `serveReports`. `gap` resolves at a gap between polls of the given
 * length; it is awaited before each further part of a long report.
 */
export function openReportsThread<Asked extends ReportsAsked>(
  entry: URL,
  workerData: unknown,
  gap: (needed_ms: number) => Promise<void> = () => Promise.resolve(),
): ReportsThread<Asked> {
  const open = new Set<number>();
  const thread = oneThread(entry, workerData, () => open.clear());
  let idle: NodeJS.Timeout | undefined;
  let last = 0;
  let part_ms = PART_MS.least;
  const begin = (): number => {
    if (open.size >= MAX_OPEN) throw new ReportsBusy("too many reports are being made; ask again");
    clearTimeout(idle);
    open.add(++last);
    return last;
  };
  const finish = (id: number): void => {
    open.delete(id);
    if (open.size > 0) return;
    clearTimeout(idle);
    idle = setTimeout(() => void thread.end(), IDLE_MS).unref();
  };
  return {
    async ask(request) {
      const id = begin();
      try {
        const first = partIn(await thread.call({ id, kind: "ask", request }));
        const { status, headers } = first.head ?? { status: 500, headers: {} };
        const more = async (): Promise<ReportReply> => {
          await gap(part_ms);
          const began = monotonicMs();
          const part = await thread.call({ id, kind: "more" });
          const took = Math.max(part_ms * PART_MS.forgotten, monotonicMs() - began);
          part_ms = Math.min(PART_MS.most, Math.max(PART_MS.least, took));
          return part;
        };
        const drop = (): void => thread.tell({ id, kind: "drop" });
        return { status, headers, body: partsOf(first, { more, drop, finish: () => finish(id) }) };
      } catch (error) {
        finish(id);
        throw error;
      }
    },
    async value(wish) {
      const id = begin();
      try {
        const reply = await thread.call({ id, kind: "value", request: wish });
        if (reply.kind !== "value") throw new Error(reply.kind === "failed" ? reply.message : "no value came");
        return reply.value;
      } finally {
        finish(id);
      }
    },
    async close() {
      clearTimeout(idle);
      await thread.end();
    },
  };
}

function partIn(reply: ReportReply): ReportPart {
  if (reply.kind !== "part") throw new Error(reply.kind === "failed" ? reply.message : "no report came");
  return reply;
}

interface Rest {
  readonly more: () => Promise<ReportReply>;
  readonly drop: () => void;
  readonly finish: () => void;
}

/**
 * Returns the parts, each requested after the previous one was taken. A reader that stops early ends the report. Not a generator: if one is
 * stopped before its first part, its `finally` never runs.
 */
function partsOf(first: ReportPart, rest: Rest): AsyncIterable<Uint8Array> {
  let ready: Uint8Array | null = first.bytes;
  let isDone: boolean = first.done;
  let isOver: boolean = false;
  const over = (): void => {
    if (!isOver) rest.finish();
    isOver = true;
  };
  if (isDone) over();
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    if (ready !== null) {
      const value = ready;
      ready = null;
      return { done: false, value };
    }
    if (isDone) return { done: true, value: undefined };
    const reply = await rest.more();
    isDone = reply.kind !== "part" || reply.done;
    if (isDone) over();
    return { done: false, value: partIn(reply).bytes };
  };
  const leave = (): Promise<IteratorResult<Uint8Array, undefined>> => {
    if (!isDone) rest.drop();
    isDone = true;
    over();
    return Promise.resolve({ done: true, value: undefined });
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
}
