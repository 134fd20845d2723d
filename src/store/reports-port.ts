import type { MessagePort } from "node:worker_threads";

/** What the main thread sends: a question, a wish for the next part of its answer, or that nobody reads it any more. */
export type ReportCall =
  | { readonly id: number; readonly kind: "ask"; readonly request: unknown }
  | { readonly id: number; readonly kind: "more" | "drop" };

/** One part of an answer, the first with its head. */
export type ReportReply =
  | {
      readonly id: number;
      readonly kind: "part";
      readonly head?: { readonly status: number; readonly headers: Readonly<Record<string, string>> };
      /** UTF-8, its memory handed over and not copied: the main thread has nothing to do with it but to send it on. */
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly done: boolean;
    }
  | { readonly id: number; readonly kind: "failed"; readonly message: string };

type ReportPart = Extract<ReportReply, { kind: "part" }>;

export interface MadeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Iterable<string>;
}

/** Characters of one part: large enough to be few, small enough that another report gets its turn. */
const PART_CHARS = 65_536;
const encoder = new TextEncoder();

/** Serves the thread's port: `answer` makes a report, synchronously; a long body is made part by part as it is asked for. */
export function serveReports(port: MessagePort, answer: (request: unknown) => MadeAnswer): void {
  const bodies = new Map<number, Iterator<string>>();
  const reply = (message: ReportReply): void =>
    port.postMessage(message, message.kind === "part" ? [message.bytes.buffer] : []);
  const part = (id: number, body: Iterator<string>): Pick<ReportPart, "bytes" | "done"> => {
    let text = "";
    while (text.length < PART_CHARS) {
      const next = body.next();
      if (next.done === true) {
        bodies.delete(id);
        return { bytes: encoder.encode(text), done: true };
      }
      text += next.value;
    }
    bodies.set(id, body);
    return { bytes: encoder.encode(text), done: false };
  };
  port.on("message", (call: ReportCall) => {
    const { id } = call;
    try {
      if (call.kind === "ask") {
        const { status, headers, body } = answer(call.request);
        const first =
          typeof body === "string" ? { bytes: encoder.encode(body), done: true } : part(id, body[Symbol.iterator]());
        reply({ id, kind: "part", head: { status, headers }, ...first });
      } else if (call.kind === "more") {
        const body = bodies.get(id);
        if (body === undefined) reply({ id, kind: "failed", message: "there is no more of this report" });
        else reply({ id, kind: "part", ...part(id, body) });
      } else {
        bodies.get(id)?.return?.();
        bodies.delete(id);
      }
    } catch (error) {
      bodies.delete(id);
      reply({ id, kind: "failed", message: error instanceof Error ? error.message : String(error) });
    }
  });
}
