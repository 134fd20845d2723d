import { parentPort, workerData } from "node:worker_threads";
import { openDb } from "../db.ts";
import { evaluateRound } from "../events/evaluator.ts";
import { HttpError } from "../http/errors.ts";
import type { Answer, Service } from "../http/operation.ts";
import { OPERATIONS } from "../resources/table.ts";
import type { Asked, Said } from "./reports.ts";

const port = parentPort;
if (port === null) throw new Error("this is the entry of a thread");
const { dataDir } = workerData as { readonly dataDir: string };
const db = openDb(dataDir);
const end = new AbortController();

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

async function carryOut(asked: Asked): Promise<Answer | string[]> {
  if (asked.kind === "evaluate") return evaluateRound({ db, now: () => asked.now }, end.signal);
  const { method, path, call, plain, mqttUrl, mqttWsUrl } = asked;
  const operation = OPERATIONS.find((one) => one.method === method && one.path === path);
  if (operation === undefined) throw new Error(`no operation ${method} ${path}`);
  const ws = mqttWsUrl === undefined ? {} : { mqttWsUrl: () => mqttWsUrl };
  const service: Service = { db, now: () => call.now, mqttUrl: () => mqttUrl, plain, ...ws };
  return operation.handle({ ...call, service });
}

function failureOf(error: unknown): { readonly status: number | undefined; readonly text: string } {
  if (error instanceof HttpError) return { status: error.status, text: error.message };
  return { status: undefined, text: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
