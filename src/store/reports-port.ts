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
      readonly text: string;
      readonly done: boolean;
    }
  | { readonly id: number; readonly kind: "failed"; readonly message: string };

export interface MadeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Iterable<string>;
}

/** Characters of one part: large enough to be few, small enough that another report gets its turn. */
const PART_CHARS = 65_536;

/** Serves the thread's port: `answer` makes a report, synchronously; a long body is made part by part as it is asked for. */
export function serveReports(port: MessagePort, answer: (request: unknown) => MadeAnswer): void {
  const bodies = new Map<number, Iterator<string>>();
  const reply = (message: ReportReply): void => port.postMessage(message);
  const part = (id: number, body: Iterator<string>): Pick<Extract<ReportReply, { kind: "part" }>, "text" | "done"> => {
    let text = "";
    while (text.length < PART_CHARS) {
      const next = body.next();
      if (next.done === true) {
        bodies.delete(id);
        return { text, done: true };
      }
      text += next.value;
    }
    bodies.set(id, body);
    return { text, done: false };
  };
  port.on("message", (call: ReportCall) => {
    const { id } = call;
    try {
      if (call.kind === "ask") {
        const { status, headers, body } = answer(call.request);
        const first = typeof body === "string" ? { text: body, done: true } : part(id, body[Symbol.iterator]());
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
