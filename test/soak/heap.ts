import { once } from "node:events";

/** Access to the memory of a running Node process over its inspector (started with --inspect=127.0.0.1:0). */
export interface HeapWatch {
  /** Returns the memory in use after a full collection: MB of the main thread's heap and its external memory. */
  live(): Promise<number>;
  close(): void;
}

interface Answer {
  readonly id?: number;
  readonly result?: { readonly result?: { readonly value?: unknown } };
  readonly error?: { readonly message: string };
}

const LIVE = "(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())";

/** @param line the line printed by Node: "Debugger listening on ws://..." */
export async function heapWatch(line: string): Promise<HeapWatch> {
  const url = /ws:\/\/\S+/.exec(line)?.[0];
  if (url === undefined) throw new Error(`no inspector in: ${line}`);
  const socket = new WebSocket(url);
  await once(socket, "open");
  const waiting = new Map<number, (answer: Answer) => void>();
  let last = 0;
  socket.addEventListener("message", ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer;
    waiting.get(answer.id ?? 0)?.(answer);
  });
  const ask = async (method: string, params: object = {}): Promise<unknown> => {
    last += 1;
    const id = last;
    const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await answered;
    waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result?.result?.value;
  };
  return {
    live: async () => {
      await ask("HeapProfiler.collectGarbage");
      return Number(await ask("Runtime.evaluate", { expression: LIVE })) / 1_000_000;
    },
    close: () => socket.close(),
  };
}
