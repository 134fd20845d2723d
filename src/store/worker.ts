import { randomUUID } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import { deriveFold } from "./derive-fold.ts";
import type { LogRecord } from "../core/types/record.ts";
import type { StoreBudget } from "../core/storage.ts";
import { openIdentity } from "./identity.ts";
import { openStoreFile } from "./open.ts";
import { createWriter } from "./writer.ts";

/** What the main thread asks, one call at a time and in order; `reply` is the number the answer carries. */
export interface Call {
  readonly reply: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

export type Answer =
  | { readonly reply: number; readonly ok: true; readonly value: unknown }
  | { readonly reply: number; readonly ok: false; readonly message: string; readonly code: string };

export interface WorkerInput {
  readonly dataDir: string;
  /** What each booth may keep. */
  readonly budget: StoreBudget;
}

/** Between two slices of a rebuild, so that commits come first and the core stays half free. */
const REBUILD_PAUSE_MS = 15;

/** Maps a method's name to the call it makes. */
type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

function methodsOf(input: WorkerInput): Methods {
  const db = openStoreFile(input.dataDir);
  const uuid = (): string => randomUUID();
  const identity = openIdentity(input.dataDir, uuid);
  const clocks = { now: () => performance.now(), wall: () => Date.now() };
  const writer = createWriter({ db, fold: deriveFold, uuid, ...clocks, budget: input.budget });
  const rebuildOn = (): void => {
    if (db.open && writer.rebuilder.slice()) setTimeout(rebuildOn, REBUILD_PAUSE_MS);
  };
  return {
    openStream: (booth: string) => writer.openStream(booth),
    ingest: (stream: string, records: readonly LogRecord[], take: number) => writer.ingest(stream, records, take),
    read: (stream: string, from: number, limit: number) => writer.read(stream, from, limit),
    ack: (stream: string, upTo: number) => writer.ack(stream, upTo),
    resend: (stream: string, from: number) => writer.resend(stream, from),
    info: (stream: string) => writer.info(stream),
    state: (stream: string) => writer.state(stream),
    rebuild: (stream: string, current: boolean) => {
      const progress = writer.rebuilder.start(stream, current);
      setTimeout(rebuildOn, 0);
      return progress;
    },
    rebuildProgress: (stream: string) => writer.rebuilder.progress(stream),
    gateway: () => identity.gateway(),
    setCredential: (credential: string | null) => {
      identity.setCredential(credential);
    },
    provisioning: (booth: string) => identity.provisioning(booth),
    setProvisioning: (booth: string, row: unknown) => {
      identity.setProvisioning(booth, row);
    },
    learned: (booth: string) => identity.learned(booth),
    setLearned: (booth: string, what: unknown) => {
      identity.setLearned(booth, what);
    },
    close: () => {
      writer.close();
      identity.close();
    },
  };
}

function answerTo(methods: Methods, call: Call): Answer {
  try {
    const method = methods[call.method];
    if (method === undefined) throw new Error(`the store has no method ${call.method}`);
    return { reply: call.reply, ok: true, value: method(...(call.args as never[])) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return { reply: call.reply, ok: false, message: error instanceof Error ? error.message : String(error), code };
  }
}

if (parentPort !== null) {
  const port = parentPort;
  const methods = methodsOf(workerData as WorkerInput);
  port.on("message", (call: Call) => {
    port.postMessage(answerTo(methods, call));
    if (call.method === "close") port.close();
  });
}
