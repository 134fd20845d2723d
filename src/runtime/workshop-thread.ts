import { Worker } from "node:worker_threads";
import { CommandError, type Io } from "../tools/command.ts";
import type { Live } from "../tools/profile/live.ts";
import { say } from "../domain/sentences.ts";
import type { WorkshopAsk, WorkshopJob, WorkshopReply, WorkshopTold } from "./workshop-port.ts";

/** A list of 5 MB takes a fifth of it. A thread that needs more ends by itself, never the agent. */
const MAX_HEAP_MB = 192;

/** What the main thread has and the workshop's thread hasn't. */
export interface WorkshopHost {
  readonly io: Pick<Io, "out" | "progress" | "ask" | "signal">;
  readonly liveAt: (draft: { readonly path: string; readonly text: string }) => Live;
}

/**
 * Does a job on a thread of its own, which ends with it. Rejects with a CommandError for what a person can act on. An abort ends the
 * thread in the midst of its work.
 */
export async function onWorkshopThread(job: WorkshopJob, { io, liveAt }: WorkshopHost): Promise<unknown> {
  io.signal.throwIfAborted();
  const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB };
  const worker = new Worker(new URL("./workshop-worker.ts", import.meta.url), {
    workerData: job,
    name: "workshop",
    resourceLimits,
  });
  const done = Promise.withResolvers<unknown>();
  const leave = (): void => done.reject(io.signal.reason);
  io.signal.addEventListener("abort", leave, { once: true });
  const answer = async (asked: WorkshopAsk): Promise<unknown> =>
    asked.kind === "plc" ? liveAt(asked.draft)(asked.entries) : io.ask(asked.question, asked.how, asked.choices);
  worker.on("message", (told: WorkshopTold) => {
    if (told.kind === "said") io.out(told.text);
    else if (told.kind === "progress") io.progress(told.text);
    else if (told.kind === "done") done.resolve(told.value);
    else if (told.kind === "failed") done.reject(new CommandError(told.message));
    else {
      const { id, asked } = told;
      answer(asked).then((value) => worker.postMessage({ id, value } satisfies WorkshopReply), done.reject);
    }
  });
  worker.on("error", (cause) => done.reject(new CommandError(say("workshop.thread_ended"), undefined, cause)));
  worker.on("exit", () => done.reject(new CommandError(say("workshop.thread_ended"))));
  try {
    return await done.promise;
  } finally {
    io.signal.removeEventListener("abort", leave);
    await worker.terminate();
  }
}
