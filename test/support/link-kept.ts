import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { SOCKET_NAME } from "../../src/tools/agent-client.ts";
import type { ServerCounts } from "../../simulators/plc/counts.ts";
import { eventually } from "./eventually.ts";
import type { Program } from "./processes.ts";

/**
 * Whether an agent kept its link to a simulated PLC. On a machine that is busy elsewhere the PLC is now and then too late with an
 * answer: the agent then takes a fresh connection and asks again, and calls the link degraded where that becomes frequent. Neither
 * is a break.
 */

/** How long an agent waits for an answer where a link must not break, whatever else the machine does meanwhile. */
export const PATIENT = { answer_timeout_ms: 20_000 } as const;

/** What the agent's log says of links that broke. */
export function breaksTold({ lines }: Program): readonly string[] {
  return lines.filter((line) => line.includes('"event":"plc_down"'));
}

/**
 * Waits until each connection that the PLC took but the agent's first is accounted for by an answer that came too late: those are counted
 * as a poll ends. One that the PLC refused since it hadn't heard yet of the end of the one before comes of such an answer too.
 */
export async function onlyItsOwn({ connections, refused }: ServerCounts, runtimeDir: string): Promise<void> {
  await eventually(`${connections} connections to the PLC are the agent's`, async () => {
    const missed = await answersMissed(runtimeDir);
    return (connections - refused <= 1 + missed && (refused === 0 || missed > 0)) || undefined;
  });
}

/** How many answers came too late: each costs a connection of its own. */
async function answersMissed(runtimeDir: string): Promise<number> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ socketPath: join(runtimeDir, SOCKET_NAME), path: "/metrics" }, resolve)
      .on("error", reject)
      .end();
  });
  const figures = await text(answer);
  const missed = /plc_requests_total\{[^}]*outcome="missed"[^}]*\} (\d+)/.exec(figures)?.[1];
  if (missed === undefined) throw new Error(`no count of requests: ${figures.slice(0, 500)}`);
  return Number(missed);
}
