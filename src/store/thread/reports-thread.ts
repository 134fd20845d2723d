import { once } from "node:events";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { MINUTE_MS } from "../../domain/time.ts";
import { monotonicMs } from "../../monotonic.ts";
import type { ReportParts } from "../port.ts";
import type { ReportCall, ReportPart, ReportReply } from "./reports-port.ts";

/** Maximum number of reports that run or wait: only a few people and pages request reports. */
const MAX_OPEN = 16;
/** Time without a request after which the thread ends to free its memory. */
const IDLE_MS = MINUTE_MS;
/** Heap limit of the thread. A report that needs more memory ends its thread, but never the agent. */
const MAX_HEAP_MB = 192;
/**
 * Bounds of the estimated time to make a 64 kB part of a report: 3 to 5 ms on a fast machine. `forgotten` is the factor by which the
 * highest measured time decays.
 */
const PART_MS = { least: 8, most: 40, forgotten: 0.98 };

/** An error: no report can be made now, because too many are being made or the thread has ended. */
class ReportsBusy extends Error {}

/** The types of the thread's requests and of its plain data. */
interface ReportsAsked {
  readonly report: unknown;
  readonly wish: unknown;
  readonly value: unknown;
}

/** A thread that makes reports and is started on demand. */
export interface ReportsThread<Asked extends ReportsAsked = ReportsAsked> {
  /** Returns a report in parts. Rejects with the thread's error, or with ReportsBusy. */
  ask(request: Asked["report"]): Promise<ReportParts>;
  /** Returns plain data. Rejects with the same errors as `ask`. */
  value(wish: Asked["wish"]): Promise<Asked["value"]>;
  close(): Promise<void>;
}

/** A running request, with the signal that is aborted when its thread ends. */
interface OpenRequest {
  readonly port: MessagePort;
  readonly ended: AbortSignal;
}

/** Returns access to the thread, which the next request starts if it isn't running. `onLost` is called when the thread ends. */
function oneThread(entry: URL, workerData: unknown, onLost: () => void) {
  let running: { readonly worker: Worker; readonly ending: AbortController } | null = null;
  const lost = (worker: Worker, reason: unknown): void => {
    if (running?.worker !== worker) return;
    running.ending.abort(reason);
    running = null;
    onLost();
  };
  const start = () => {
    const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB };
    const worker = new Worker(entry, { workerData, name: "reports", resourceLimits });
    worker.on("error", (error) => lost(worker, error));
    worker.on("exit", () => lost(worker, new ReportsBusy("the reports thread has ended; ask again")));
    return { worker, ending: new AbortController() };
  };
  return {
    send(kind: ReportCall["kind"], request: unknown): OpenRequest {
      const { worker, ending } = (running ??= start());
      const { port1, port2 } = new MessageChannel();
      worker.postMessage({ kind, request, port: port2 } satisfies ReportCall, [port2]);
      return { port: port1, ended: ending.signal };
    },
    async end(): Promise<void> {
      const worker = running?.worker;
      if (worker === undefined) return;
      lost(worker, new ReportsBusy("the reports thread has ended; ask again"));
      await worker.terminate();
    },
  };
}

/**
 * Opens access to the reports thread. `entry` is the thread's file, which serves its port with `serveReports`. `gap` resolves in the next
 * pause of the given length between polls; each further part of a long report waits for it.
 */
export function openReportsThread<Asked extends ReportsAsked>(
  entry: URL,
  workerData: unknown,
  gap: (needed_ms: number) => Promise<void> = () => Promise.resolve(),
): ReportsThread<Asked> {
  const open = new Set<OpenRequest>();
  const thread = oneThread(entry, workerData, () => open.clear());
  let idle: NodeJS.Timeout | undefined;
  let part_ms = PART_MS.least;
  const begin = (kind: ReportCall["kind"], asked: unknown): OpenRequest => {
    if (open.size >= MAX_OPEN) throw new ReportsBusy("too many reports are being made; ask again");
    clearTimeout(idle);
    const request = thread.send(kind, asked);
    open.add(request);
    return request;
  };
  const finish = (request: OpenRequest): void => {
    request.port.close();
    if (!open.delete(request) || open.size > 0) return;
    clearTimeout(idle);
    idle = setTimeout(() => void thread.end(), IDLE_MS).unref();
  };
  const more = async (request: OpenRequest): Promise<ReportPart> => {
    await gap(part_ms);
    const began = monotonicMs();
    request.port.postMessage("more");
    const part = partIn(await replyTo(request));
    const took = Math.max(part_ms * PART_MS.forgotten, monotonicMs() - began);
    part_ms = Math.min(PART_MS.most, Math.max(PART_MS.least, took));
    return part;
  };
  return {
    async ask(asked) {
      const request = begin("report", asked);
      try {
        const first = partIn(await replyTo(request));
        const { status, headers } = first.head ?? { status: 500, headers: {} };
        return { status, headers, body: partsOf(first, { more: () => more(request), finish: () => finish(request) }) };
      } catch (error) {
        finish(request);
        throw error;
      }
    },
    async value(wish) {
      const request = begin("value", wish);
      try {
        const reply = await replyTo(request);
        if (reply.kind !== "value") throw new Error(reply.kind === "failed" ? reply.message : "no value came");
        return reply.value;
      } finally {
        finish(request);
      }
    },
    async close() {
      clearTimeout(idle);
      await thread.end();
    },
  };
}

async function replyTo({ port, ended }: OpenRequest): Promise<ReportReply> {
  try {
    const [reply] = (await once(port, "message", { signal: ended })) as [ReportReply];
    return reply;
  } catch (error) {
    throw ended.aborted ? ended.reason : error;
  }
}

function partIn(reply: ReportReply): ReportPart {
  if (reply.kind !== "part") throw new Error(reply.kind === "failed" ? reply.message : "no report came");
  return reply;
}

interface Rest {
  readonly more: () => Promise<ReportPart>;
  readonly finish: () => void;
}

/**
 * Returns the parts of a report. Each part is requested after the reader took the previous one. A reader that stops early ends the report.
 * A generator can't do that: if it is stopped before its first part, its `finally` never runs.
 */
function partsOf(first: ReportPart, { more, finish }: Rest): AsyncIterable<Uint8Array> {
  let ready: ReportPart | null = first;
  let isDone: boolean = first.done;
  if (isDone) finish();
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    if (ready === null && isDone) return { done: true, value: undefined };
    try {
      const part: ReportPart = ready ?? (await more());
      ready = null;
      isDone = part.done;
      return { done: false, value: part.bytes };
    } catch (error) {
      isDone = true;
      throw error;
    } finally {
      if (isDone) finish();
    }
  };
  const leave = (): Promise<IteratorResult<Uint8Array, undefined>> => {
    isDone = true;
    ready = null;
    finish();
    return Promise.resolve({ done: true, value: undefined });
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
}
