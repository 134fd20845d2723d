import { message, type Text } from "../domain/message.ts";
import { Worker } from "node:worker_threads";
import { type Choice, CommandError, type Io, type QuestionKind, type TableRow, type Values } from "../tools/command.ts";
import type { TagEntry } from "../tools/profile/file.ts";
import type { Live } from "../tools/profile/import-asks.ts";

/** A task of the profile workshop that runs in a separate thread. */
export type WorkshopJob =
  | { readonly kind: "import" | "preview"; readonly values: Values; readonly operands: readonly string[] }
  | { readonly kind: "status"; readonly folder: string };

interface Draft {
  readonly path: string;
  /** Text of the profile without its tags. */
  readonly text: string;
}

/** A request from the thread to the main thread, which can reach the person and the PLC. */
export type WorkshopAsk =
  | {
      readonly kind: "person";
      readonly question: Text;
      readonly how: QuestionKind | undefined;
      readonly choices: readonly Choice[] | undefined;
    }
  | { readonly kind: "plc"; readonly draft: Draft; readonly entries: readonly TagEntry[] };

/** A message from the thread to the main thread. */
export type WorkshopTold =
  | { readonly kind: "said"; readonly text: Text }
  | { readonly kind: "table"; readonly rows: readonly TableRow[] }
  | { readonly kind: "progress"; readonly text: Text }
  | { readonly kind: "ask"; readonly id: number; readonly asked: WorkshopAsk }
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly message: Text };

/** The main thread's answer to an `ask`. */
export interface WorkshopReply {
  readonly id: number;
  readonly value: unknown;
}

/** Heap limit of the thread. A list of 5 MB needs a fifth of it. When the limit is reached, only the thread ends, not the agent. */
const MAX_HEAP_MB = 192;

/** The functions of the main thread that a job uses: output, questions to the person, and reads of the PLC. */
export interface WorkshopHost {
  readonly io: Pick<Io, "out" | "table" | "progress" | "ask" | "signal">;
  readonly liveAt: (draft: Draft) => Live;
}

/**
 * Runs a job in a separate thread. Rejects with a CommandError for a mistake that a person can correct. An abort ends the thread at once.
 */
export async function onWorkshopThread(job: WorkshopJob, { io, liveAt }: WorkshopHost): Promise<unknown> {
  io.signal.throwIfAborted();
  const worker = new Worker(new URL("./workshop-worker.ts", import.meta.url), {
    workerData: job,
    name: "workshop",
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const done = Promise.withResolvers<unknown>();
  const leave = (): void => done.reject(io.signal.reason);
  io.signal.addEventListener("abort", leave, { once: true });
  const answer = async (asked: WorkshopAsk): Promise<unknown> =>
    asked.kind === "plc" ? liveAt(asked.draft)(asked.entries) : io.ask(asked.question, asked.how, asked.choices);
  worker.on("message", (reply: WorkshopTold) => {
    if (reply.kind === "said") io.out(reply.text);
    else if (reply.kind === "table") io.table(reply.rows);
    else if (reply.kind === "progress") io.progress(reply.text);
    else if (reply.kind === "done") done.resolve(reply.value);
    else if (reply.kind === "failed") done.reject(new CommandError(reply.message));
    else {
      const { id, asked } = reply;
      answer(asked).then((value) => worker.postMessage({ id, value } satisfies WorkshopReply), done.reject);
    }
  });
  worker.on("error", (cause) => done.reject(new CommandError(message("workshop.thread_ended"), undefined, cause)));
  worker.on("exit", () => done.reject(new CommandError(message("workshop.thread_ended"))));
  try {
    return await done.promise;
  } finally {
    io.signal.removeEventListener("abort", leave);
    await worker.terminate();
  }
}
