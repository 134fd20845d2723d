import { parentPort, workerData } from "node:worker_threads";
import type { NextChunks, RebuildCalls, StoreCalls } from "../port.ts";
import { COLLECT_AFTER_MS, collectGarbage, keepMemorySmall } from "./memory.ts";
import { StoreRefusal } from "./keeper.ts";
import { openOrStandBy, type FolderInput } from "./folder.ts";
import { errorMessage } from "../../domain/error-message.ts";

/** What the main thread asks, one call at a time; the answers come in the same order. */
export interface Call {
  readonly method: string;
  readonly args: readonly unknown[];
}

export type Answer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string; readonly code: string };

/** Between two slices of a rebuild or a check, so that commits come first and the core stays half free. */
const PAUSE_MS = 15;
/** Cold rows rot, too: all that is stored is looked through after the start, and then once a day. */
const FIRST_CHECK_MS = 10_000;
const CHECK_EVERY_MS = 24 * 3_600_000;

/** What may be asked for, by name. */
type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

function methodsOf(input: FolderInput): Methods {
  const opened = openOrStandBy(input);
  const { store: writer, identity } = opened;
  let isClosed = false;
  const rebuildOn = (): void => {
    if (!isClosed && writer.rebuildSlice()) setTimeout(rebuildOn, PAUSE_MS);
  };
  let isFirst = true;
  let isMending = false;
  const mendOn = (): void => {
    isMending = !isClosed && slice(() => writer.mend());
    if (isMending) setTimeout(mendOn, PAUSE_MS);
  };
  const checkOn = (): void => {
    if (isClosed) return;
    setTimeout(checkOn, slice(() => writer.check()) ? PAUSE_MS : CHECK_EVERY_MS).unref();
  };
  setTimeout(checkOn, FIRST_CHECK_MS).unref();
  return {
    ...writer,
    ...identity,
    ingest: (...args: Parameters<StoreCalls["ingest"]>) => {
      if (!isMending) setTimeout(mendOn, 0);
      if (isFirst) setTimeout(collectGarbage, COLLECT_AFTER_MS).unref();
      isFirst = false;
      return writer.ingest(...args);
    },
    rebuild: (...args: Parameters<RebuildCalls["start"]>) => {
      const progress = writer.rebuild(...args);
      setTimeout(rebuildOn, 0);
      return progress;
    },
    close: () => {
      isClosed = true;
      opened.close();
    },
  };
}

/** A piece of the check, or of what a wrong time left to be done; false: it is done, or the disk stops it, which the next commit tells. */
function slice(act: () => boolean): boolean {
  try {
    return act();
  } catch (error) {
    if (error instanceof StoreRefusal) return false;
    throw error;
  }
}

function answerTo(methods: Methods, call: Call): Answer {
  try {
    const method = methods[call.method];
    if (method === undefined) throw new Error(`the store has no method ${call.method}`);
    return { ok: true, value: method(...(call.args as never[])) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return { ok: false, message: errorMessage(error), code };
  }
}

/** Memory that goes with the answer rather than being copied once more. */
function handedOver({ method }: Call, answer: Answer): ArrayBuffer[] {
  if (method !== "chunks" || !answer.ok) return [];
  return (answer.value as NextChunks).flatMap(({ chunk }) =>
    chunk === null ? [] : [chunk.body.buffer as ArrayBuffer],
  );
}

if (parentPort !== null) {
  const port = parentPort;
  keepMemorySmall();
  const methods = methodsOf(workerData as FolderInput);
  port.on("message", (call: Call) => {
    const answer = answerTo(methods, call);
    port.postMessage(answer, handedOver(call, answer));
    if (call.method === "close") port.close();
  });
}
