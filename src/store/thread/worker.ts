import { randomUUID } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import type { LogRecord } from "../../domain/record.ts";
import type { StoreBudget } from "../../domain/storage.ts";
import { StoreRefusal } from "./keeper.ts";
import { openFolder } from "./opened.ts";
import { openOrStandBy } from "./standby.ts";
import type { Writer } from "./writer.ts";
import type { Refusal } from "../port.ts";

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
  /** A folder in memory, for copies while the data folder takes no writes. */
  readonly standbyDir: string;
  /** What each booth may keep. */
  readonly budget: StoreBudget;
}

/** Between two slices of a rebuild or a check, so that commits come first and the core stays half free. */
const PAUSE_MS = 15;
/** Cold rows rot, too: all that is stored is looked through after the start, and then once a day. */
const FIRST_CHECK_MS = 10_000;
const CHECK_EVERY_MS = 24 * 3_600_000;

/** Maps a method's name to the call it makes. */
type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

function methodsOf(input: WorkerInput): Methods {
  const uuid = (): string => randomUUID();
  const { budget, ...folders } = input;
  const opened = openOrStandBy({ ...folders, uuid, open: (folder, names) => openFolder(folder, budget, names) });
  const { store: writer, identity } = opened;
  let isClosed = false;
  const rebuildOn = (): void => {
    if (!isClosed && writer.rebuilder.slice()) setTimeout(rebuildOn, PAUSE_MS);
  };
  let isMending = false;
  const mendOn = (): void => {
    isMending = !isClosed && mendSlice(writer);
    if (isMending) setTimeout(mendOn, PAUSE_MS);
  };
  const checkOn = (): void => {
    if (isClosed) return;
    setTimeout(checkOn, sliceOf(writer) ? PAUSE_MS : CHECK_EVERY_MS).unref();
  };
  setTimeout(checkOn, FIRST_CHECK_MS).unref();
  return {
    openStream: (booth: string) => writer.openStream(booth),
    ingest: (stream: string, records: readonly LogRecord[], take: number) => {
      if (!isMending) setTimeout(mendOn, 0);
      return writer.ingest(stream, records, take);
    },
    read: (stream: string, from: number, limit: number) => writer.read(stream, from, limit),
    terms: (stream: string, from: number, end: number) => writer.terms(stream, from, end),
    ack: (stream: string, upTo: number) => writer.ack(stream, upTo),
    setAside: (stream: string, refusals: readonly Refusal[]) => writer.setAside(stream, refusals),
    refused: (stream: string) => writer.refused(stream),
    asideSince: (stream: string, since: number) => writer.asideSince(stream, since),
    takenAfterAll: (stream: string, seqs: readonly number[]) => writer.takenAfterAll(stream, seqs),
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
    kept: (name: string) => identity.kept(name),
    keep: (name: string, what: unknown) => {
      identity.keep(name, what);
    },
    promote: (credential: string, name: string, what: unknown) => {
      identity.promote(credential, name, what);
    },
    close: () => {
      isClosed = true;
      opened.close();
    },
  };
}

/** A piece of the check; false: it is through, or the disk doesn't let it go on, which the next commit tells. */
function sliceOf(writer: Writer): boolean {
  try {
    return writer.check();
  } catch (error) {
    if (error instanceof StoreRefusal) return false;
    throw error;
  }
}

/** A piece of what a wrong time left to be done; false: it is done, or the disk doesn't let it go on, and the next commit tries again. */
function mendSlice(writer: Writer): boolean {
  try {
    return writer.mend();
  } catch (error) {
    if (error instanceof StoreRefusal) return false;
    throw error;
  }
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
