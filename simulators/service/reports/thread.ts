import { parentPort, workerData } from "node:worker_threads";
import { openDb } from "../storage/open.ts";
import { evaluateRound } from "../events/evaluator.ts";
import { HttpError } from "../base/errors.ts";
import type { Service } from "../http/operation.ts";
import { callerOf } from "../accounts/keys.ts";
import { admit } from "../http/guesses.ts";
import { tellOfMails } from "../accounts/mail.ts";
import { takeUplink } from "../ingest/uplink.ts";
import { isUnavailable } from "../storage/postgres/line.ts";
import { OPERATIONS, PAGE_OPERATIONS } from "../resources/table.ts";
import { sendDueMails } from "../events/mails.ts";
import { type Lease, leaseOf } from "../storage/postgres/lease.ts";
import type { Asked, Place, Said } from "./reports.ts";

const port = parentPort;
if (port === null) throw new Error("this is the entry of a thread");
const { where, folder, mails } = workerData as Place;
const db = openDb(where, folder);
const end = new AbortController();
tellOfMails((mail) => port.postMessage({ kind: "mail", mail } satisfies Said));
const leases = {
  evaluate: leaseOf(db, "evaluate", end.signal),
  mails: leaseOf(db, "mails", end.signal),
};

port.on("message", (message: "end" | { readonly id: number; readonly asked: Asked }) => {
  if (message === "end") {
    end.abort();
    for (const lease of Object.values(leases)) release(lease);
    db.close();
    port.close();
    return;
  }
  const { id, asked } = message;
  const say = (said: Said): void => {
    if (!end.signal.aborted) port.postMessage(said);
  };
  carryOut(asked).then(
    (value) => say({ id, kind: "done", value }),
    (error: unknown) => say({ id, kind: "failed", ...failureOf(error) }),
  );
});

async function carryOut(asked: Asked): Promise<unknown> {
  if (asked.kind === "evaluate")
    return alone(leases.evaluate, (signal) => evaluateRound({ db, now: () => asked.now }, signal));
  if (asked.kind === "mails") {
    const { publicUrl, now } = asked;
    const since = performance.now();
    const clock = (): number => Math.floor(now + performance.now() - since);
    return alone(leases.mails, (signal) => sendDueMails({ db, way: mails, publicUrl, now: clock, signal }));
  }
  if (asked.kind === "caller") return callerOf(db, asked.authorization, asked.now);
  if (asked.kind === "admit") return admit(db, asked.request, asked.now);
  if (asked.kind === "uplink") return takeUplink(db, asked.uplink);
  const { method, path, call, plain, strict, mqttUrl, mqttWsUrl, publicUrl, queuesMails } = asked;
  const operation = [...OPERATIONS, ...PAGE_OPERATIONS].find((one) => one.method === method && one.path === path);
  if (operation === undefined) throw new Error(`no operation ${method} ${path}`);
  const ws = mqttWsUrl === undefined ? {} : { mqttWsUrl: () => mqttWsUrl };
  const mailing = { publicUrl: () => publicUrl, queuesMails };
  const service: Service = { db, now: () => call.now, mqttUrl: () => mqttUrl, plain, strict, ...ws, ...mailing };
  return operation.handle({ ...call, service });
}

type EndSignal = Pick<AbortSignal, "aborted">;

/** Runs the round in one process only if several share a database. Returns null if another process does the work. */
async function alone(lease: Lease, round: (signal: EndSignal) => Promise<string[]>): Promise<string[] | null> {
  if (db.engine === "sqlite") return round(end.signal);
  return lease.take() ? round(lease.signal) : null;
}

function release(lease: Lease): void {
  try {
    lease.release();
  } catch {
    // The database can't be reached. The lease ends by itself.
  }
}

function failureOf(error: unknown): Pick<Extract<Said, { kind: "failed" }>, "status" | "text" | "retry_after_s"> {
  if (isUnavailable(error)) return { status: 503, text: "the database can't be reached: ask again" };
  if (error instanceof HttpError) {
    return { status: error.status, text: error.message, retry_after_s: error.retry_after_s };
  }
  return { status: undefined, text: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
