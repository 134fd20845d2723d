import { Worker } from "node:worker_threads";

/** How long it may take with the booth it is at. */
const END_WITHIN_MS = 10_000;

export interface FiguresOptions {
  readonly url: string;
  /** Older records go, thirty days at a time; absent: none. */
  readonly keep_days?: number | undefined;
  /** The service's clock less the machine's, ms. */
  readonly clock_offset_ms?: number | undefined;
  /** A line for each change worth telling. */
  readonly log?: ((line: string) => void) | undefined;
}

/** Folds booths' logs into facts, makes finished days small and drops old ones, in a thread. Any number of them share the booths of a database. */
export function startFigures({ log, ...options }: FiguresOptions): { readonly stop: () => Promise<void> } {
  let ended = false;
  let worker: Worker | undefined;
  let exited = Promise.resolve();
  const begin = (): void => {
    const made = new Worker(new URL("./figures-thread.ts", import.meta.url), { workerData: options });
    worker = made;
    made.on("message", (line: string) => log?.(line));
    made.on("error", (error) => log?.(`figures: ${String(error)}`));
    exited = new Promise((resolve) => {
      made.on("exit", () => {
        resolve();
        if (!ended) setTimeout(() => ended || begin(), 1_000);
      });
    });
  };
  begin();
  return {
    stop: async () => {
      ended = true;
      worker?.postMessage("end");
      const late = setTimeout(() => void worker?.terminate(), END_WITHIN_MS);
      await exited;
      clearTimeout(late);
    },
  };
}
