import { Worker } from "node:worker_threads";
import type { ReportParts } from "../port.ts";
import type { ReportCall, ReportReply } from "./reports-port.ts";

/** Reports under way or waiting at once; people and one page ask, not a crowd. */
const MAX_OPEN = 16;
/** Without a question for this long the thread ends, and its memory is free again. */
const IDLE_MS = 60_000;
/** A report that needs more ends its thread, never the agent. */
const MAX_HEAP_MB = 192;

const NO_WAIT = (): Promise<void> => Promise.resolve();

/** No report at the moment: too many are being made, or the thread has died. */
export class ReportsBusy extends Error {}

/** Reports made on a thread of their own, started when one is asked for. */
export interface ReportsThread {
  /** `request` as the entry's answering function takes it. Rejects with the thread's error, or with ReportsBusy. */
  ask(request: unknown): Promise<ReportParts>;
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: (reply: ReportReply) => void;
  readonly reject: (error: Error) => void;
}

/**
 * `entry`: the thread's file, which serves its port with `serveReports`. `gap` is waited for before each further part of a long
 * report is made, so that it never runs beside a poll that is due.
 */
export function openReportsThread(entry: URL, workerData: unknown, gap = NO_WAIT): ReportsThread {
  const waiting = new Map<number, Waiting>();
  const open = new Set<number>();
  let worker: Worker | null = null;
  let idle: NodeJS.Timeout | undefined;
  let last = 0;
  const lost = (own: Worker, error: Error): void => {
    if (worker !== own) return;
    worker = null;
    open.clear();
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const started = (): Worker => {
    if (worker !== null) return worker;
    const fresh = new Worker(entry, {
      workerData,
      name: "reports",
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
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
  const call = (message: ReportCall): Promise<ReportReply> =>
    new Promise((resolve, reject) => {
      waiting.set(message.id, { resolve, reject });
      started().postMessage(message);
    });
  const finish = (id: number): void => {
    open.delete(id);
    if (open.size > 0) return;
    clearTimeout(idle);
    idle = setTimeout(() => void end(), IDLE_MS).unref();
  };
  const end = async (): Promise<void> => {
    const old = worker;
    if (old === null) return;
    lost(old, new ReportsBusy("the reports thread has ended; ask again"));
    await old.terminate();
  };
  return {
    async ask(request) {
      if (open.size >= MAX_OPEN) throw new ReportsBusy("too many reports are being made; ask again");
      const id = ++last;
      clearTimeout(idle);
      open.add(id);
      try {
        const first = await call({ id, kind: "ask", request });
        if (first.kind === "failed") throw new Error(first.message);
        const { status, headers } = first.head ?? { status: 500, headers: {} };
        const body = partsOf(first, { id, gap, call, drop: () => worker?.postMessage({ id, kind: "drop" }), finish });
        return { status, headers, body };
      } catch (error) {
        finish(id);
        throw error;
      }
    },
    async close() {
      clearTimeout(idle);
      await end();
    },
  };
}

interface Rest {
  readonly id: number;
  readonly gap: () => Promise<void>;
  readonly call: (message: ReportCall) => Promise<ReportReply>;
  readonly drop: () => void;
  readonly finish: (id: number) => void;
}

/**
 * The parts, each asked for when the one before is taken; a reader that leaves early stops the making. Not a generator: one
 * that is left before its first part would never come to its `finally`.
 */
function partsOf(first: Extract<ReportReply, { kind: "part" }>, rest: Rest): AsyncIterable<Uint8Array> {
  let [ready, isDone, isOver]: [Uint8Array | null, boolean, boolean] = [first.bytes, first.done, false];
  const over = (): void => {
    if (!isOver) rest.finish(rest.id);
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
    await rest.gap();
    const reply = await rest.call({ id: rest.id, kind: "more" });
    isDone = reply.kind === "failed" || reply.done;
    if (isDone) over();
    if (reply.kind === "failed") throw new Error(reply.message);
    return { done: false, value: reply.bytes };
  };
  const leave = (): Promise<IteratorResult<Uint8Array, undefined>> => {
    if (!isDone) rest.drop();
    isDone = true;
    over();
    return Promise.resolve({ done: true, value: undefined });
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
}
