import { Worker } from "node:worker_threads";
import { evaluateRound, watchesAnything } from "../events/evaluator.ts";
import { HttpError } from "../base/errors.ts";
import type { Db } from "../storage/db.ts";
import type { Answer, Call, Operation, Service } from "../http/operation.ts";
import { type Caller, callerOf } from "../accounts/keys.ts";
import { admit } from "../http/guesses.ts";
import { keepMail, type Mail, type MailWay } from "../accounts/mail.ts";
import { sendDueMails } from "../events/mails.ts";
import { type Downlink, takeUplink } from "../ingest/uplink.ts";
import type { Uplink } from "../storage/port.ts";

/** Maximum number of reports that wait for an answer. Further callers get 503. */
const MAX_PENDING = 100;
/** Time in which a stopping thread may finish its work. */
const END_WITHIN_MS = 2000;

/** A request to the thread. Every field can be copied between threads. */
export type Asked =
  | {
      readonly kind: "answer";
      readonly method: Operation["method"];
      readonly path: string;
      readonly call: Omit<Call, "service">;
      readonly plain: boolean;
      readonly strict: boolean;
      readonly mqttUrl: string;
      readonly mqttWsUrl: string | undefined;
      readonly publicUrl: string;
      readonly queuesMails: boolean;
    }
  | { readonly kind: "evaluate"; readonly now: number }
  | { readonly kind: "mails"; readonly now: number; readonly publicUrl: string }
  | { readonly kind: "caller"; readonly authorization: string | undefined; readonly now: number }
  | { readonly kind: "admit"; readonly request: Requester; readonly now: number }
  | { readonly kind: "uplink"; readonly uplink: Uplink };

/** The thread's answer. `status` absent: an internal error. */
export type Said =
  | { readonly kind: "mail"; readonly mail: Mail }
  | { readonly id: number; readonly kind: "done"; readonly value: unknown }
  | {
      readonly id: number;
      readonly kind: "failed";
      readonly status: number | undefined;
      readonly text: string;
      readonly retry_after_s?: number | undefined;
    };

/** The sender of a request. */
export interface Requester {
  readonly authorization: string | undefined;
  readonly address: string;
}

/**
 * Makes reports from booths' whole logs on another thread than ingest. If the store is a server, handles all other
 * operations too.
 */
export interface Reports {
  /** Whether all operations are handled here, not only reports. */
  readonly takes_all: boolean;
  /** Throws an HttpError, or rejects with one, for every error answer. */
  readonly answer: (operation: Operation, call: Call) => Answer | Promise<Answer>;
  /** Returns the caller of an Authorization header; undefined: not valid. */
  readonly callerOf: (
    authorization: string | undefined,
    now: number,
  ) => Caller | undefined | Promise<Caller | undefined>;
  /** Returns the caller of a request, and counts a wrong key. Throws 429 after too many from an address. */
  readonly admit: (request: Requester, now: number) => Caller | undefined | Promise<Caller | undefined>;
  /** Stores a message of a gateway by itself. */
  readonly uplink: (uplink: Uplink) => Downlink | Promise<Downlink>;
  /** Runs a round over all watched booths. Returns a line for each failure. */
  readonly evaluate: (signal: AbortSignal) => Promise<string[]>;
  /** Sends all due mails. Returns a line for each dropped mail. */
  readonly sendMails: (signal: AbortSignal) => Promise<string[]>;
  /** Whether this process does the work that one process of a store does: evaluation and mails. */
  readonly leads: () => boolean;
  readonly stop: () => Promise<void>;
}

/** Runs in the caller's thread, for a database in memory, which other threads can't access. */
export function reportsHere(service: Service, way: MailWay = "files"): Reports {
  return {
    ...rowsHere(service, way),
    answer: (operation, call) => operation.handle(call),
    evaluate: (signal) => evaluateRound(service, signal),
    stop: () => Promise.resolve(),
  };
}

/** Answers that need few rows and are made in this thread. */
function rowsHere(
  { db, now, publicUrl = () => "" }: Service,
  way: MailWay,
): Pick<Reports, "takes_all" | "callerOf" | "admit" | "uplink" | "sendMails" | "leads"> {
  return {
    takes_all: false,
    sendMails: (signal) => sendDueMails({ db, way, now, publicUrl: publicUrl(), signal }),
    leads: () => true,
    callerOf: (authorization, now) => callerOf(db, authorization, now),
    admit: (request, now) => admit(db, request, now),
    uplink: (uplink) => takeUplink(db, uplink),
  };
}

/**
 * Runs reports on a thread that the first report starts. A report over years of fifty booths takes seconds, and
 * gateways without acks meanwhile would resend their records. After a crash of the thread the next report starts a new
 * one.
 */
export function reportsThread(service: Service, dataDir: string, way: MailWay = "files"): Reports {
  let running: Thread | undefined;
  const ask = (asked: Asked): Promise<unknown> => {
    running ??= begin(
      { where: dataDir, folder: undefined, mails: "none" },
      { db: service.db, ended: () => (running = undefined) },
    );
    return running.ask(asked);
  };
  return {
    ...rowsHere(service, way),
    answer: (operation, call) => ask(askedOf(service, operation, call)) as Promise<Answer>,
    evaluate: async () =>
      watchesAnything(service.db) ? ((await ask({ kind: "evaluate", now: service.now() })) as string[]) : [],
    stop: () => running?.stop() ?? Promise.resolve(),
  };
}

/** URL of a database on a server, and the folder of its files. */
export interface Place {
  readonly where: string;
  readonly folder: string | undefined;
  readonly mails: MailWay;
}

/**
 * Runs everything in `count` threads, each with a connection for which it waits. The caller's thread, which has the
 * sockets, never waits. Threads start on demand, and a request is sent to the thread with the fewest pending requests.
 */
export function reportsThreads(service: Service, place: Place, count: number): Reports {
  const running = new Set<Thread>();
  let leads = false;
  /** Asks for work that one process does. An answer of null means that another process does it. */
  const askLeader = async (asked: Asked): Promise<string[]> => {
    const lines = (await ask(asked).catch((error: unknown) => {
      leads = false;
      throw error;
    })) as string[] | null;
    leads = lines !== null;
    return lines ?? [];
  };
  const ask = (asked: Asked): Promise<unknown> => {
    const [idlest] = [...running].sort((one, other) => one.pending() - other.pending());
    if (idlest !== undefined && (idlest.pending() === 0 || running.size >= count)) return idlest.ask(asked);
    const made = begin(place, { db: service.db, ended: () => running.delete(made) });
    running.add(made);
    return made.ask(asked);
  };
  return {
    takes_all: true,
    answer: (operation, call) => ask(askedOf(service, operation, call)) as Promise<Answer>,
    callerOf: (authorization, now) => ask({ kind: "caller", authorization, now }) as Promise<Caller | undefined>,
    admit: (request, now) => ask({ kind: "admit", request, now }) as Promise<Caller | undefined>,
    uplink: (uplink) => ask({ kind: "uplink", uplink }) as Promise<Downlink>,
    evaluate: () => askLeader({ kind: "evaluate", now: service.now() }),
    sendMails: () => askLeader({ kind: "mails", now: service.now(), publicUrl: service.publicUrl?.() ?? "" }),
    leads: () => leads,
    stop: async () => {
      await Promise.all(Array.from(running, (one) => one.stop()));
    },
  };
}

function askedOf(service: Service, { method, path }: Operation, call: Call): Asked {
  const { service: _, ...copied } = call;
  const { plain, strict = false, publicUrl = () => "", queuesMails = false } = service;
  const urls = { mqttUrl: service.mqttUrl(), mqttWsUrl: service.mqttWsUrl?.() };
  return { kind: "answer", method, path, call: copied, plain, strict, publicUrl: publicUrl(), queuesMails, ...urls };
}

interface Thread {
  pending(): number;
  ask(asked: Asked): Promise<unknown>;
  stop(): Promise<void>;
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: Error) => void;
}

function begin(place: Place, { db, ended }: { readonly db: Db; readonly ended: () => void }): Thread {
  const pending = new Map<number, Pending>();
  const worker = new Worker(new URL("./thread.ts", import.meta.url), { workerData: place });
  worker.unref();
  let last = 0;
  worker.on("message", (said: Said) => {
    if (said.kind === "mail") {
      keepMail(db, said.mail);
      return;
    }
    const waiting = pending.get(said.id);
    pending.delete(said.id);
    if (pending.size === 0) worker.unref();
    if (said.kind === "done") waiting?.resolve(said.value);
    else if (said.status === undefined) waiting?.reject(new Error(said.text));
    else waiting?.reject(new HttpError(said.status, said.text, said.retry_after_s));
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
    pending: () => pending.size,
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
