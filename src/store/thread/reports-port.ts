import type { MessagePort } from "node:worker_threads";
import { errorMessage } from "../../domain/error-message.ts";
import type { ReportParts } from "../port.ts";

/**
 * A request by the main thread: for a report or for plain data. Replies are sent on `port`. Each message from the main thread on `port`
 * requests the next part of the report. Closing `port` cancels the rest.
 */
export interface ReportCall {
  readonly kind: "report" | "value";
  readonly request: unknown;
  readonly port: MessagePort;
}

type Head = Pick<ReportParts, "status" | "headers">;

/** A reply: a part of a report (the first part with its head), plain data, or a failure. */
export type ReportReply =
  | {
      readonly kind: "part";
      readonly head?: Head;
      /**
       * UTF-8 text in memory that both threads share. The next part of the same report overwrites it. Transferred memory would be garbage
       * on the main thread: at 15 MB a second, collecting it takes 10 to 40 ms of each second.
       */
      readonly bytes: Uint8Array;
      readonly done: boolean;
    }
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "failed"; readonly message: string };

export type ReportPart = Extract<ReportReply, { kind: "part" }>;

/** Characters in one part of a report: large enough for few parts, small enough to let other reports run in between. */
const PART_CHARS = 65_536;

/** Functions that make the answers. Each answer shows the durable records of one moment. */
interface Makers {
  readonly report: (request: unknown) => Promise<Head & { readonly body: string | Iterable<string> }>;
  /** Returns plain data, such as a list, for a request that needs no report. */
  readonly value: (request: unknown) => Promise<unknown>;
}

/** Serves the thread's port. The body of a long report is made part by part, on request. */
export function serveReports(port: MessagePort, make: Makers): void {
  port.on("message", (call: ReportCall) => void serve(call, make));
}

async function serve({ kind, request, port }: ReportCall, make: Makers): Promise<void> {
  const reply = (message: ReportReply): void => port.postMessage(message);
  const tryTo = async (work: () => void | Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      reply({ kind: "failed", message: errorMessage(error) });
    }
  };
  await tryTo(async () => {
    if (kind === "value") {
      reply({ kind, value: await make.value(request) });
      return;
    }
    const { status, headers, body } = await make.report(request);
    const texts = (typeof body === "string" ? [body] : body)[Symbol.iterator]();
    const next = partMaker(texts);
    port.on("message", () => void tryTo(() => reply({ kind: "part", ...next() })));
    port.on("close", () => texts.return?.());
    reply({ kind: "part", head: { status, headers }, ...next() });
  });
}

/** Returns a function that makes the next part of a report. It uses its own memory, which grows if a part doesn't fit. */
function partMaker(texts: Iterator<string>): () => Pick<ReportPart, "bytes" | "done"> {
  let memory: Buffer = Buffer.alloc(0);
  return () => {
    let text = "";
    let done = false;
    while (!done && text.length < PART_CHARS) {
      const next = texts.next();
      if (next.done === true) done = true;
      else text += next.value;
    }
    const length = Buffer.byteLength(text);
    if (length > memory.length) memory = Buffer.from(new SharedArrayBuffer(Math.max(length, 2 * PART_CHARS)));
    memory.write(text);
    return { bytes: memory.subarray(0, length), done };
  };
}
