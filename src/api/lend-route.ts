import { LinkError } from "../core/link-error.ts";
import type { AgentControl } from "../ports.ts";
import { localPlcAskShape, type LocalPlcAnswer } from "../wire/local.ts";
import { jsonOf } from "./json-body.ts";
import { bad, type LocalAnswer, type LocalRequest } from "./routes.ts";

/** What tools at the PLC ask over the socket, so that they need no connection beside the agent's; null: something else. */
export async function routeLend(
  { method, path, body }: LocalRequest,
  control: AgentControl,
): Promise<LocalAnswer | null> {
  if (method === "GET" && path === "/plc/links") return { status: 200, body: { links: control.lentLinks() } };
  if (method !== "POST" || path !== "/plc/ask") return null;
  const parsed = localPlcAskShape.safeParse(jsonOf(body));
  if (!parsed.success) return bad("POST {link, unit, pdu}: a link of /plc/links, a unit id, and a reading PDU in hex");
  const { link, unit, pdu } = parsed.data;
  return { status: 200, body: await answerOf(control.askPlc(link, { unit, pdu: Buffer.from(pdu, "hex") })) };
}

function answerOf(asked: Promise<Uint8Array>): Promise<LocalPlcAnswer> {
  return asked.then(
    (pdu) => ({ kind: "answer", pdu: Buffer.from(pdu).toString("hex") }),
    (error: unknown) => {
      if (!(error instanceof LinkError)) throw error;
      return { kind: "failed", why: error.kind, message: error.message };
    },
  );
}
