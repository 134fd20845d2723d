import { LinkError } from "../domain/link-error.ts";
import type { LinkSharer, PlcAsk } from "../domain/shared-link.ts";
import { ConfigError } from "../config/config-error.ts";
import { localPlcAnswerShape, localPlcLinksShape } from "../contract/local.ts";
import { askAgent, socketPath } from "./agent-client.ts";
import { CommandError, EXIT, type Io, type Values } from "../cli/command.ts";

const NOTHING: LinkSharer = {
  links: [],
  ask: () => Promise.reject(new LinkError("config", "no agent lends a link")),
};

/** What the running agent lends; without one, nothing. Throws a CommandError for who has no right to ask it. */
export async function linksToShare(values: Values, io: Io): Promise<LinkSharer> {
  try {
    const socket = await socketPath(values, io);
    const { links } = localPlcLinksShape.parse(await askAgent(socket, { method: "GET", path: "/plc/links" }));
    return { links, ask: (link, ask) => askOver(socket, link, ask) };
  } catch (error) {
    // No agent runs, or no configuration says where it would: then nobody holds a link.
    const isNobody = error instanceof ConfigError || (error instanceof CommandError && error.exit === EXIT.unavailable);
    if (isNobody) return NOTHING;
    throw error;
  }
}

async function askOver(socket: string, link: string, { unit, pdu }: PlcAsk): Promise<Uint8Array> {
  const body = { link, unit, pdu: Buffer.from(pdu).toString("hex") };
  const said = await askAgent(socket, { method: "POST", path: "/plc/ask", body }).catch((cause: unknown) => {
    throw new LinkError("closed", `the agent lends its link no longer: ${(cause as Error).message}`, cause);
  });
  const answer = localPlcAnswerShape.parse(said);
  if (answer.kind === "failed") throw new LinkError(answer.why, answer.message);
  return Buffer.from(answer.pdu, "hex");
}
