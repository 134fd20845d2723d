import { parentPort, workerData } from "node:worker_threads";
import { row } from "../storage/db.ts";
import { openDb } from "../storage/open.ts";
import { evaluateRound } from "../events/evaluator.ts";
import { HttpError } from "../base/errors.ts";
import type { Service } from "../http/operation.ts";
import { callerOf } from "../accounts/keys.ts";
import { admit } from "../http/guesses.ts";
import { tellOfMails } from "../accounts/mail.ts";
import { takeUplink } from "../ingest/uplink.ts";
import { isUnavailable } from "../storage/postgres/line.ts";
import { OPERATIONS } from "../resources/table.ts";
import type { Asked, Place, Said } from "./reports.ts";

const port = parentPort;
if (port === null) throw new Error("this is the entry of a thread");
const { where, folder } = workerData as Place;
const db = openDb(where, folder);
const end = new AbortController();
tellOfMails((mail) => port.postMessage({ kind: "mail", mail } satisfies Said));
/** The number of the lock that evaluation goes by. */
const EVALUATORS = 7_303;

port.on("message", (message: "end" | { readonly id: number; readonly asked: Asked }) => {
  if (message === "end") {
    end.abort();
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
  if (asked.kind === "evaluate") return alone(() => evaluateRound({ db, now: () => asked.now }, end.signal));
  if (asked.kind === "caller") return callerOf(db, asked.authorization, asked.now);
  if (asked.kind === "admit") return admit(db, asked.request, asked.now);
  if (asked.kind === "uplink") return takeUplink(db, asked.uplink);
  const { method, path, call, plain, strict, mqttUrl, mqttWsUrl } = asked;
  const operation = OPERATIONS.find((one) => one.method === method && one.path === path);
  if (operation === undefined) throw new Error(`no operation ${method} ${path}`);
  const ws = mqttWsUrl === undefined ? {} : { mqttWsUrl: () => mqttWsUrl };
  const service: Service = { db, now: () => call.now, mqttUrl: () => mqttUrl, plain, strict, ...ws };
  return operation.handle({ ...call, service });
}

/** Runs the round in one program only if several share a database. */
async function alone(round: () => Promise<string[]>): Promise<string[]> {
  if (db.engine === "sqlite") return round();
  const taken = row<{ taken: string }>(db, `SELECT pg_try_advisory_lock(${EVALUATORS})::text AS taken`);
  if (taken?.taken !== "true") return [];
  try {
    return await round();
  } finally {
    row(db, `SELECT pg_advisory_unlock(${EVALUATORS})`);
  }
}

function failureOf(error: unknown): Pick<Extract<Said, { kind: "failed" }>, "status" | "text" | "retry_after_s"> {
  if (isUnavailable(error)) return { status: 503, text: "the database can't be reached: ask again" };
  if (error instanceof HttpError) {
    return { status: error.status, text: error.message, retry_after_s: error.retry_after_s };
  }
  return { status: undefined, text: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
