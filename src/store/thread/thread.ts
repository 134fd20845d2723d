import { Worker } from "node:worker_threads";
import type { Identity, Rebuilds, Store } from "../port.ts";
import { callsBy, IDENTITY_CALLS, STORE_CALLS } from "./calls.ts";
import type { FolderInput } from "./folder.ts";
import type { Answer, Call } from "./worker.ts";
import { message, type Text } from "../../domain/message.ts";
import { errorText, MessageError } from "../../domain/messages/message-error.ts";

/** A failed call of the store. `code` is SQLite's error code, e.g. SQLITE_FULL, or "". */
class StoreError extends MessageError {
  readonly code: string;
  constructor(text: Text, code: string) {
    super(text);
    this.code = code;
  }
}

/** Maximum number of waiting calls. Ingest and reads for delivery and provisioning together stay far below it. */
const MAX_WAITING = 256;

/**
 * Starts the store in a thread of its own, so that a slow fsync never delays a poll. When the thread ends, waiting and later calls reject
 * with a StoreError.
 */
export function openStoreThread(input: FolderInput): {
  readonly store: Store;
  readonly identity: Identity;
  readonly rebuilds: Rebuilds;
  /** Ends the thread immediately. Uncommitted records are lost from the store, as in a crash. */
  readonly terminate: () => Promise<unknown>;
} {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: input, name: "store" });
  /** Waiting calls, in the order of their answers. */
  const waiting: Omit<PromiseWithResolvers<unknown>, "promise">[] = [];
  let dead: Error | null = null;
  const die = (error: Error): void => {
    dead ??= error;
    for (const { reject } of waiting.splice(0)) reject(error);
  };
  worker.on("message", (answer: Answer) => {
    const call = waiting.shift();
    if (answer.ok) call?.resolve(answer.value);
    else call?.reject(new StoreError(answer.text, answer.code));
  });
  worker.on("error", (error) => die(new StoreError(errorText(error), "")));
  worker.on("exit", () => die(new StoreError(message("store.closed"), "CLOSED")));
  const call = <T>(method: string, args: readonly unknown[]): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      if (dead !== null || waiting.length >= MAX_WAITING) {
        reject(dead ?? new StoreError(message("store.busy"), "BUSY"));
        return;
      }
      // TypeScript can't see that the worker answers each method with that method's result.
      waiting.push({ resolve: resolve as (value: unknown) => void, reject });
      worker.postMessage({ method, args } satisfies Call);
    });
  return {
    store: {
      ...callsBy<Omit<Store, "close">>(STORE_CALLS, call),
      close: () => call("close", []),
    },
    rebuilds: {
      start: (stream, current) => call("rebuild", [stream, current]),
      progress: (stream) => call("rebuildProgress", [stream]),
    },
    identity: callsBy<Identity>(IDENTITY_CALLS, call),
    terminate: () => worker.terminate(),
  };
}
