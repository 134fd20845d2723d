import { LinkError } from "../domain/link-error.ts";
import type { BodyOf, LocalPlcAnswer } from "../contract/local.ts";
import { talkSaid, wantsSaid } from "./said.ts";
import {
  boothOf,
  type Call,
  type LocalAnswer,
  needed,
  type PlcToolbox,
  type Services,
  type Workshop,
} from "./operation.ts";
import { errorMessage } from "../domain/error-message.ts";

const NO_TOOLS = "this agent has no tools at the PLC";

export function probe(call: Call<BodyOf<"probe">>, { plc }: Services): LocalAnswer {
  const tools = needed(plc, NO_TOOLS);
  const { address, units } = call.body();
  return looking(call, tools, { tool: "probe", operand: address, values: { units } });
}

export function detect(call: Call<BodyOf<"detect">>, { plc, control }: Services): LocalAnswer {
  const tools = needed(plc, NO_TOOLS);
  const { booth: named, at, expect, unit } = call.body();
  const values = { booth: boothOf(control, named).booth, expect, unit };
  return looking(call, tools, { tool: "detect", operand: at, values });
}

export function find(call: Call<BodyOf<"set_up_find">>, { plc }: Services): LocalAnswer {
  return looking(call, needed(plc, NO_TOOLS), { tool: "find", ...call.body() });
}

export function rank(call: Call<BodyOf<"set_up_rank">>, { plc }: Services): LocalAnswer {
  return looking(call, needed(plc, NO_TOOLS), { tool: "rank", ...call.body() });
}

/** Has a tool look at a PLC and tells how it goes: `progress {text}` for each step, then `done {answer, text}`. */
function looking(call: Pick<Call, "query">, tools: PlcToolbox, wish: Parameters<PlcToolbox["run"]>[0]): LocalAnswer {
  return telling(call, (tell, signal) => tools.run(wish, { signal, progress: (text) => tell("progress", { text }) }));
}

/**
 * Work that tells how it goes, as server-sent events; at its end `done` with what came of it, or `failed {error}`. Whoever leaves ends it.
 */
function telling(
  { query }: Pick<Call, "query">,
  work: (tell: (event: string, data: object) => void, signal: AbortSignal) => Promise<object>,
): LocalAnswer {
  const spoken = (data: object): unknown => (wantsSaid(query) ? talkSaid(data) : data);
  return {
    writes: async (response) => {
      const leaving = new AbortController();
      response.once("close", () => leaving.abort(new Error("nobody waits for it any more")));
      response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store" });
      const tell = (event: string, data: object): void =>
        void response.write(`event: ${event}\ndata: ${JSON.stringify(spoken(data))}\n\n`);
      await work(tell, leaving.signal).then(
        (done) => tell("done", done),
        (error: unknown) => tell("failed", { error: errorMessage(error) }),
      );
      response.end();
    },
  };
}

/** Links of the agent that tools share, so that they need no connection beside it. */
export function links(_: Call, { control }: Services): LocalAnswer {
  return { status: 200, body: { links: control.sharedLinks() } };
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
  return { status: 200, body };
}

/** What the command `profile` does, as a talk of events and replies. */
function workshopOf({ workshop }: Services): Workshop {
  return needed(workshop, "this agent has no profile workshop");
}

export async function workshopState(_: Call, services: Services): Promise<LocalAnswer> {
  return { status: 200, body: await workshopOf(services).status() };
}

/** `said {text}`, `progress {text}` and `ask {question, kind, choices}` as it goes, then `done {ok, list}` or `failed {error}`. */
export function workshopRun(call: Call<BodyOf<"workshop_run">>, services: Services): LocalAnswer {
  const workshop = workshopOf(services);
  const wish = call.body();
  return telling(call, (tell, signal) =>
    workshop.run(wish, {
      signal,
      say: (text) => tell("said", { text }),
      progress: (text) => tell("progress", { text }),
      ask: (question) => tell("ask", question),
    }),
  );
}

export async function workshopAnswer(call: Call<BodyOf<"workshop_answer">>, services: Services): Promise<LocalAnswer> {
  await workshopOf(services).answer(call.body().reply);
  return { status: 200, body: {} };
}

export async function keepList(call: Call<BodyOf<"workshop_list">>, services: Services): Promise<LocalAnswer> {
  const { name, text } = call.body();
  await workshopOf(services).keepList(name, text);
  return { status: 200, body: await workshopOf(services).status() };
}
