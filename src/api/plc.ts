import { message } from "../domain/message.ts";
import { errorText } from "../domain/messages/message-error.ts";
import { rendered } from "../domain/messages/render.ts";
import { wantsMessages } from "./wants-messages.ts";
import { LinkError } from "../domain/link-error.ts";
import type { BodyOf, LocalPlcAnswer } from "../contract/local.ts";
import {
  boothOf,
  type Call,
  type LocalAnswer,
  needed,
  ok,
  type PlcWish,
  type Services,
  type Workshop,
} from "./operation.ts";

export function probe(call: Call<BodyOf<"probe">>, services: Services): LocalAnswer {
  return runTool(call, services, () => {
    const { address, units } = call.body();
    return { tool: "probe", operand: address, values: { units } };
  });
}

export function detect(call: Call<BodyOf<"detect">>, services: Services): LocalAnswer {
  return runTool(call, services, () => {
    const { booth: named, at, expect, unit } = call.body();
    const { booth } = boothOf(services.control, named);
    return { tool: "detect", operand: at, values: { booth, expect, unit } };
  });
}

export function find(call: Call<BodyOf<"set_up_find">>, services: Services): LocalAnswer {
  return runTool(call, services, () => ({ tool: "find", ...call.body() }));
}

export function rank(call: Call<BodyOf<"set_up_rank">>, services: Services): LocalAnswer {
  return runTool(call, services, () => ({ tool: "rank", ...call.body() }));
}

/** Runs a tool at a PLC. Sends `progress {text}` for each step, then `done {answer, text}` or `failed {error}`. */
function runTool(call: Pick<Call, "query">, { plc }: Services, wish: () => PlcWish): LocalAnswer {
  const tools = needed(plc, message("ask.lacks.plc"));
  const wished = wish();
  return eventStream(call, (send, signal) =>
    tools.run(wished, { signal, progress: (text) => send("progress", { text }) }),
  );
}

/**
 * Runs a task and streams its events, with `done` and the result at the end, or `failed {error}`. The task is aborted if the reader
 * disconnects.
 */
function eventStream(
  { query }: Pick<Call, "query">,
  task: (send: (event: string, data: object) => void, signal: AbortSignal) => Promise<object>,
): LocalAnswer {
  const said = wantsMessages(query);
  return {
    writes: async (response) => {
      const leaving = new AbortController();
      response.once("close", () => leaving.abort(new Error("nobody waits for it any more")));
      response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store" });
      const send = (event: string, data: object): void =>
        void response.write(`event: ${event}\ndata: ${JSON.stringify(rendered(data, { said }))}\n\n`);
      await task(send, leaving.signal).then(
        (done) => send("done", done),
        (error: unknown) => send("failed", { error: errorText(error) }),
      );
      response.end();
    },
  };
}

/** Returns the agent's links. A tool uses them instead of opening a second connection to a PLC. */
export function links(_: Call, { control }: Services): LocalAnswer {
  return ok({ links: control.sharedLinks() });
}

export async function ask(call: Call<BodyOf<"plc_ask">>, { control }: Services): Promise<LocalAnswer> {
  const { link, unit, pdu } = call.body();
  const asked = control.askPlc(link, { unit, pdu: Buffer.from(pdu, "hex") });
  const body = await asked.then(
    (answer): LocalPlcAnswer => ({ kind: "answer", pdu: Buffer.from(answer).toString("hex") }),
    (error: unknown): LocalPlcAnswer => {
      if (!(error instanceof LinkError)) throw error;
      return { kind: "failed", why: error.kind, message: error.message };
    },
  );
  return ok(body);
}

function workshopOf({ workshop }: Services): Workshop {
  return needed(workshop, message("ask.lacks.workshop"));
}

export async function workshopState(_: unknown, services: Services): Promise<LocalAnswer> {
  return ok(await workshopOf(services).status());
}

/**
 * Runs the command `profile` as a dialogue. Sends `said {text}`, `table {rows}`, `progress {text}` and `ask {question, kind, choices}`,
 * then `done {ok, list, preview}` or `failed {error}`.
 */
export function workshopRun(call: Call<BodyOf<"workshop_run">>, services: Services): LocalAnswer {
  const workshop = workshopOf(services);
  const wish = call.body();
  return eventStream(call, (send, signal) =>
    workshop.run(wish, {
      signal,
      say: (text) => send("said", { text }),
      table: (rows) => send("table", { rows }),
      progress: (text) => send("progress", { text }),
      ask: (question) => send("ask", question),
    }),
  );
}

export async function workshopAnswer(call: Call<BodyOf<"workshop_answer">>, services: Services): Promise<LocalAnswer> {
  await workshopOf(services).answer(call.body().reply);
  return ok({});
}

export async function keepList(call: Call<BodyOf<"workshop_list">>, services: Services): Promise<LocalAnswer> {
  const list = call.body();
  const bytes = "text" in list ? Buffer.from(list.text) : Buffer.from(list.base64, "base64");
  await workshopOf(services).keepList(list.name, bytes);
  return workshopState(call, services);
}
