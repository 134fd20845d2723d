import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { SqlValue } from "../port.ts";

/** Longer than any statement may take, its connection included: beyond it the helper itself is stuck. */
const ANSWER_MS = 90_000;

/** A request to the helper thread: a statement on one of its connections, or the end of a connection. */
export type Asked =
  | {
      readonly kind: "query";
      readonly connection: number;
      readonly url: string;
      readonly sql: string;
      readonly values: readonly SqlValue[];
      readonly as: "rows" | "arrays";
    }
  | { readonly kind: "close"; readonly connection: number };

export type Answered =
  | { readonly kind: "done"; readonly rows: unknown[]; readonly count: number }
  | { readonly kind: "failed"; readonly text: string; readonly code: string | undefined };

/** A statement failed; `code` is PostgreSQL's SQLSTATE, or Node's code of a socket's error. */
class PostgresError extends Error {
  readonly code: string | undefined;
  constructor(text: string, code: string | undefined) {
    super(text);
    this.code = code;
  }
}

/** Whether the database is away, ends connections, or has no space: a retry may succeed later. */
export function isUnavailable(error: unknown): boolean {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  if (code !== "") return /^(08|53|57P|25006|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND)/.test(code);
  // pg's errors about a connection that ends during a statement have no code.
  return (
    error instanceof Error && /timeout|terminated|doesn't answer|not queryable|client was closed/i.test(error.message)
  );
}

interface Line {
  readonly ask: (asked: Asked) => Answered;
}

let line: Line | undefined;

/** Asks the helper of this thread, which is begun by the first question, and waits for its answer. */
export function ask(asked: Asked): { rows: unknown[]; count: number } {
  line ??= begin();
  const answered = line.ask(asked);
  if (answered.kind === "failed") throw new PostgresError(answered.text, answered.code);
  return answered;
}

/** Node has no blocking sockets: the helper has the socket, and wakes the thread that waits. */
function begin(): Line {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(new URL("./helper.ts", import.meta.url), {
    workerData: { port: port2, flag },
    transferList: [port2],
  });
  worker.unref();
  port1.unref();
  return {
    ask: (asked) => {
      port1.postMessage(asked);
      // The call that wakes may still be that of the answer before, which was there before anybody waited: the flag alone counts.
      for (const until = performance.now() + ANSWER_MS; Atomics.load(flag, 0) === 0;) {
        if (Atomics.wait(flag, 0, 0, Math.max(0, until - performance.now())) !== "timed-out") continue;
        line = undefined;
        void worker.terminate();
        return { kind: "failed", text: "the database's client doesn't answer", code: undefined };
      }
      Atomics.store(flag, 0, 0);
      return (receiveMessageOnPort(port1) as { readonly message: Answered }).message;
    },
  };
}
