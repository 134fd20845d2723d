import { parentPort, workerData } from "node:worker_threads";
import type { NextChunks, RebuildCalls, StoreCalls } from "../port.ts";
import { COLLECT_AFTER_MS, collectGarbage, keepMemorySmall } from "./memory.ts";
import { StoreRefusal } from "./keeper.ts";
import { openOrStandBy, type FolderInput } from "./folder.ts";
import type { Text } from "../../domain/message.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import { DAY_MS } from "../../domain/time.ts";

/** A call by the main thread. Answers are sent in the order of the calls. */
export interface Call {
  readonly method: string;
  readonly args: readonly unknown[];
}

export type Answer =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly text: Text; readonly code: string };

/** Pause between two slices of a rebuild or a check. It lets commits run and leaves half of the core free. */
const PAUSE_MS = 15;
/** Time from the start to the first check of the whole store. The check is repeated daily, because unused rows can be damaged too. */
const FIRST_CHECK_MS = 10_000;
const CHECK_EVERY_MS = DAY_MS;

/** The functions that the main thread can call, by name. */
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

/** Runs a piece of work. Returns false if the work is done, or if the disk refuses, which the next commit reports. */
function slice(step: () => boolean): boolean {
  try {
    return step();
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
    return { ok: false, text: errorText(error), code };
  }
}

/** Returns the memory that is transferred with an answer instead of copied. */
function transferred({ method }: Call, answer: Answer): ArrayBuffer[] {
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
    port.postMessage(answer, transferred(call, answer));
    if (call.method === "close") port.close();
  });
}
