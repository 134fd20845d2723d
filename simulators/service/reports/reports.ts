import { Worker } from "node:worker_threads";
import { evaluateRound, watchesAnything } from "../events/evaluator.ts";
import { HttpError } from "../http/errors.ts";
import type { Answer, Call, Operation, Service } from "../http/operation.ts";

/** Reports that wait for their answer, at once; a caller beyond them is told to come again. */
const MAX_PENDING = 100;
/** How long a thread that is told to end may take with what it is at. */
const END_WITHIN_MS = 2000;

/** What the thread is asked; everything in it can be copied from thread to thread. */
export type Asked =
  | {
      readonly kind: "answer";
      readonly method: Operation["method"];
      readonly path: string;
      readonly call: Omit<Call, "service">;
      readonly plain: boolean;
      readonly mqttUrl: string;
      readonly mqttWsUrl: string | undefined;
    }
  | { readonly kind: "evaluate"; readonly now: number };

/** `status` absent: it isn't the caller's fault. */
export type Said =
  | { readonly id: number; readonly kind: "done"; readonly value: unknown }
  | { readonly id: number; readonly kind: "failed"; readonly status: number | undefined; readonly text: string };

/** What is made from booths' whole logs, away from where records come in. */
export interface Reports {
  /** Throws an HttpError, or rejects with one, for anything but success. */
  readonly answer: (operation: Operation, call: Call) => Answer | Promise<Answer>;
  /** A round over all watched booths; what failed, a line each. */
  readonly evaluate: (signal: AbortSignal) => Promise<string[]>;
  readonly stop: () => Promise<void>;
}

/** In the caller's own thread: for a database in memory, which no other thread sees. */
export function reportsHere(service: Service): Reports {
  return {
    answer: (operation, call) => operation.handle(call),
    evaluate: (signal) => evaluateRound(service, signal),
    stop: () => Promise.resolve(),
  };
}

/**
 * In a thread of their own, which begins with the first of them: a report over years of fifty booths takes seconds, and a
 * gateway whose records are not acked meanwhile sends them again. A thread that dies is begun anew by the next report.
 */
export function reportsThread(service: Service, dataDir: string): Reports {
  let running: Thread | undefined;
  const ask = (asked: Asked): Promise<unknown> => {
    running ??= begin(dataDir, () => (running = undefined));
    return running.ask(asked);
  };
  return {
    answer: ({ method, path }, { caller, now, params, query, headers, body }) => {
      const { plain } = service;
      const call = { caller, now, params, query, headers, body };
      const asked = { method, path, call, plain, mqttUrl: service.mqttUrl(), mqttWsUrl: service.mqttWsUrl?.() };
      return ask({ kind: "answer", ...asked }) as Promise<Answer>;
    },
    evaluate: async () =>
      watchesAnything(service.db) ? ((await ask({ kind: "evaluate", now: service.now() })) as string[]) : [],
    stop: () => running?.stop() ?? Promise.resolve(),
  };
}

interface Thread {
  ask(asked: Asked): Promise<unknown>;
  stop(): Promise<void>;
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: Error) => void;
}

function begin(dataDir: string, ended: () => void): Thread {
  const pending = new Map<number, Pending>();
  const worker = new Worker(new URL("thread.ts", import.meta.url), { workerData: { dataDir } });
  worker.unref();
  let last = 0;
  worker.on("message", (said: Said) => {
    const waiting = pending.get(said.id);
    pending.delete(said.id);
    if (pending.size === 0) worker.unref();
    if (said.kind === "done") waiting?.resolve(said.value);
    else waiting?.reject(said.status === undefined ? new Error(said.text) : new HttpError(said.status, said.text));
  });
  // An error is followed by the exit.
  worker.on("error", () => undefined);
  const exited = new Promise<void>((resolve) => {
    worker.on("exit", () => {
      ended();
      for (const { reject } of pending.values()) reject(new HttpError(503, "the report was broken off: ask again"));
      pending.clear();
      resolve();
    });
  });
  return {
    ask: (asked) => {
      if (pending.size >= MAX_PENDING) return Promise.reject(new HttpError(503, "too many reports at once: ask again"));
      worker.ref();
      last += 1;
      worker.postMessage({ id: last, asked });
      return new Promise((resolve, reject) => pending.set(last, { resolve, reject }));
    },
    stop: async () => {
      worker.postMessage("end");
      const late = setTimeout(() => void worker.terminate(), END_WITHIN_MS);
      await exited;
      clearTimeout(late);
    },
  };
}
