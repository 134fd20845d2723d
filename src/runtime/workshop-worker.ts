import { parentPort, workerData } from "node:worker_threads";
import type { LiveOf } from "../tools/profile/import.ts";
import type { Io } from "../tools/command.ts";
import { madeProfilesIn, withoutTags } from "../tools/profile/file.ts";
import type { WorkshopAsk, WorkshopJob, WorkshopReply, WorkshopTold } from "./workshop-thread.ts";
import { errorText } from "../domain/messages/message-error.ts";

/** Entry point of the workshop's thread. It reads lists and profiles that people send, so that a long file does not delay a poll. */
if (parentPort !== null) {
  const port = parentPort;
  const tell = (reply: WorkshopTold): void => port.postMessage(reply);
  const waiting = new Map<number, (value: unknown) => void>();
  let next = 0;
  const ask = (asked: WorkshopAsk): Promise<unknown> => {
    const reply = Promise.withResolvers<unknown>();
    waiting.set(next, reply.resolve);
    tell({ kind: "ask", id: next, asked });
    next += 1;
    return reply.promise;
  };
  port.on("message", ({ id, value }: WorkshopReply) => {
    waiting.get(id)?.(value);
    waiting.delete(id);
  });
  const io: Io = {
    out: (text) => tell({ kind: "said", text }),
    err: (text) => tell({ kind: "said", text }),
    table: (rows) => tell({ kind: "table", rows }),
    progress: (text) => tell({ kind: "progress", text }),
    ask: async (question, kind, choices) => {
      const reply = await ask({ kind: "person", question, how: kind, choices });
      return typeof reply === "string" ? reply : null;
    },
    isTerminal: true,
    colors: false,
    environment: {},
    // Never aborts, because the main thread terminates this thread instead.
    signal: new AbortController().signal,
  };
  const liveOf: LiveOf = (_, { path, text }) => {
    const plain = withoutTags(text);
    return async (entries) => {
      const values = await ask({ kind: "plc", draft: { path, text: plain }, entries });
      return Array.isArray(values) ? values.map((value) => (typeof value === "string" ? value : null)) : null;
    };
  };
  const job = workerData as WorkshopJob;
  const run = async (): Promise<unknown> => {
    if (job.kind === "status") return madeProfilesIn(job.folder);
    const call = { values: job.values, operands: job.operands, io };
    if (job.kind === "import") return (await import("../tools/profile/import.ts")).importCommand(liveOf)(call);
    return (await import("../tools/import/preview.ts")).previewOf(call, job.operands[1] ?? "", liveOf);
  };
  Promise.resolve()
    .then(run)
    .then(
      (value) => tell({ kind: "done", value }),
      (error: unknown) => tell({ kind: "failed", message: errorText(error) }),
    )
    .finally(() => port.close());
}
