import type { MessagePort } from "node:worker_threads";
import type { ReportParts } from "../port.ts";
import { errorMessage } from "../../domain/error-message.ts";

/** A message of the main thread: a request for a report or for plain data, for the next part of a report, or to drop the rest of it. */
export type ReportCall =
  | { readonly id: number; readonly kind: "ask" | "value"; readonly request: unknown }
  | { readonly id: number; readonly kind: "more" | "drop" };

/** A message of the reports thread: one part of a report, the first with its head, plain data, or a failure. */
export type ReportReply =
  | {
      readonly id: number;
      readonly kind: "part";
      readonly head?: Head;
      /**
       * UTF-8, in memory that both threads share and that the next part of the same report overwrites. Transferred memory would be
       * collected on the main thread: at 15 MB a second for 10 to 40 ms each second.
       */
      readonly bytes: Uint8Array;
      readonly done: boolean;
    }
  | { readonly id: number; readonly kind: "value"; readonly value: unknown }
  | { readonly id: number; readonly kind: "failed"; readonly message: string };

export type ReportPart = Extract<ReportReply, { kind: "part" }>;

type Head = Pick<ReportParts, "status" | "headers">;

interface MadeAnswer extends Head {
  readonly body: string | Iterable<string>;
}

/** Characters of one part: large enough to be few, small enough that another report gets its turn. */
const PART_CHARS = 65_536;

interface Body {
  readonly texts: Iterator<string>;
  memory: Buffer;
}

/** Writes the text into the body's memory, which grows if a part doesn't fit. */
function written(body: Body, text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  if (length > body.memory.length) body.memory = Buffer.from(new SharedArrayBuffer(Math.max(length, 2 * PART_CHARS)));
  body.memory.write(text);
  return body.memory.subarray(0, length);
}

/** The functions that make the answers, each from the durable records of one moment. */
interface Makers {
  readonly report: (request: unknown) => Promise<MadeAnswer>;
  /** Plain data. */
  readonly value: (request: unknown) => Promise<unknown>;
}

/** Serves the thread's port. A report's long body is made part by part on request. */
export function serveReports(port: MessagePort, make: Makers): void {
  const bodies = new Map<number, Body>();
  const reply = (message: ReportReply): void => port.postMessage(message);
  const part = (id: number, body: Body): Pick<ReportPart, "bytes" | "done"> => {
    let text = "";
    while (text.length < PART_CHARS) {
      const next = body.texts.next();
      if (next.done === true) {
        bodies.delete(id);
        return { bytes: written(body, text), done: true };
      }
      text += next.value;
    }
    bodies.set(id, body);
    return { bytes: written(body, text), done: false };
  };
  const serve = async (call: ReportCall): Promise<void> => {
    const { id } = call;
    try {
      if (call.kind === "value") reply({ id, kind: "value", value: await make.value(call.request) });
      else if (call.kind === "ask") {
        const { status, headers, body } = await make.report(call.request);
        const texts = typeof body === "string" ? [body] : body;
        const first = part(id, { texts: texts[Symbol.iterator](), memory: Buffer.alloc(0) });
        reply({ id, kind: "part", head: { status, headers }, ...first });
      } else if (call.kind === "more") {
        const body = bodies.get(id);
        if (body === undefined) reply({ id, kind: "failed", message: "there is no more of this report" });
        else reply({ id, kind: "part", ...part(id, body) });
      } else {
        bodies.get(id)?.texts.return?.();
        bodies.delete(id);
      }
    } catch (error) {
      bodies.delete(id);
      reply({ id, kind: "failed", message: errorMessage(error) });
    }
  };
  port.on("message", (call: ReportCall) => void serve(call));
}
