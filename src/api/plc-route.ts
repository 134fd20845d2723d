import type { IncomingMessage, ServerResponse } from "node:http";
import { localDetectShape, localProbeShape } from "../contract/local.ts";
import { readBody, send, TOO_LARGE } from "./answer.ts";
import { jsonOf } from "./json-body.ts";
import { bad, boothOf, type LocalAnswer } from "./routes.ts";
import type { PlcToolbox, Services } from "./services.ts";

type Wish = Parameters<PlcToolbox["run"]>[0];

/** What a request wants of a PLC; a text: what it should have been. */
const WISHES: Readonly<Record<string, (body: unknown, services: Services) => Wish | string>> = {
  "/plc/probe": (body) => {
    const parsed = localProbeShape.safeParse(body);
    if (!parsed.success) return "POST {address, units}: an address like 192.0.2.10 or 192.0.2.10:502";
    const { address, units } = parsed.data;
    return { tool: "probe", operand: address, values: { units } };
  },
  "/plc/detect": (body, { control }) => {
    const parsed = localDetectShape.safeParse(body);
    if (!parsed.success)
      return "POST {booth, at, expect, unit}: a tag of the profile, or an address as a profile has it";
    const booth = boothOf(control, parsed.data.booth);
    if (booth === null) return "name the booth: this gateway serves several, or none of that name";
    const { at, expect, unit } = parsed.data;
    return { tool: "detect", operand: at, values: { booth, expect, unit } };
  },
};

export function isPlcTool(method: string, path: string): boolean {
  return method === "POST" && Object.hasOwn(WISHES, path);
}

/**
 * Has a tool look at a PLC and tells how it goes, as server-sent events: `progress {text}` for each step, then `done {answer,
 * text}` or `failed {error}`. Whoever leaves ends the looking.
 */
export async function sendPlcTool(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  path: string,
  services: Services,
): Promise<void> {
  const wanted = wantedOf(await readBody(request), path, services);
  if (wanted.kind === "refused") send(response, wanted.answer);
  else await look(response, wanted.desk, wanted.wish);
}

type Wanted =
  | { readonly kind: "refused"; readonly answer: LocalAnswer }
  | { readonly kind: "look"; readonly desk: PlcToolbox; readonly wish: Wish };

function wantedOf(body: string | null, path: string, services: Services): Wanted {
  if (body === null) return { kind: "refused", answer: TOO_LARGE };
  const desk = services.plc;
  if (desk === undefined) return { kind: "refused", answer: NO_TOOLS };
  const wish = WISHES[path]?.(jsonOf(body), services) ?? "there is no such tool";
  return typeof wish === "string" ? { kind: "refused", answer: bad(wish) } : { kind: "look", desk, wish };
}

const NO_TOOLS: LocalAnswer = { status: 501, body: { error: "this agent has no tools at the PLC" } };

async function look(response: ServerResponse, desk: PlcToolbox, wish: Wish): Promise<void> {
  const leaving = new AbortController();
  response.once("close", () => leaving.abort(new Error("nobody waits for it any more")));
  response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store" });
  const tell = (event: string, data: object): void =>
    void response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  await desk.run(wish, { signal: leaving.signal, progress: (text) => tell("progress", { text }) }).then(
    (done) => tell("done", done),
    (error: unknown) => tell("failed", { error: error instanceof Error ? error.message : String(error) }),
  );
  response.end();
}
