import type { AgentStatus, BoothStatus } from "../domain/status.ts";
import { askAgent } from "../tools/agent-client.ts";
import { CommandError, type Io } from "./command.ts";

/** How often a command that follows a booth looks at it. */
export const LOOK_EVERY_MS = 250;
/** Whoever waits longer in front of the screen is told that they needn't. */
export const PATIENCE_MS = 120_000;

/** The booth named, or the first one. Throws a CommandError where the agent serves no such booth. */
export async function lookAtBooth(socket: string, named: string | undefined): Promise<BoothStatus> {
  // The agent answers its own shape.
  const status = (await askAgent(socket, { method: "GET", path: "/status" })) as AgentStatus;
  const booth = status.booths.find((one) => named === undefined || one.booth === named);
  if (booth === undefined) throw new CommandError("the agent serves no such booth");
  return booth;
}

/** Asks a question that wants a yes. Throws a CommandError with `nobody` where there is no terminal, with `no` for anything else. */
export async function mustAgree(
  io: Io,
  { question, nobody, no }: { readonly question: string; readonly nobody: string; readonly no: string },
): Promise<void> {
  const said = await io.ask(`${question} [y/N] `);
  if (said === null) throw new CommandError(`nobody to ask: ${nobody}`);
  if (!/^y(es)?$/i.test(said.trim())) throw new CommandError(no);
}
