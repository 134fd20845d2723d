import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { SOCKET_NAME } from "../../src/tools/agent-client.ts";
import type { ServerCounts } from "../../simulators/plc/counts.ts";
import { eventually } from "./eventually.ts";
import type { Program } from "./processes.ts";

/**
 * Checks whether an agent kept its link to a simulated PLC. On a busy machine the PLC's answers are sometimes late. The
 * agent then reconnects and retries, and reports a degraded link if that is frequent. Neither counts as a break.
 */

/** The answer timeout for tests in which the link must not break, however busy the machine is. */
export const PATIENT = { answer_timeout_ms: 20_000 } as const;

/** Returns the lines of the agent's log about broken links. */
export function breaksTold({ lines }: Program): readonly string[] {
  return lines.filter((line) => line.includes('"event":"plc_down"'));
}

/**
 * Waits until a late answer accounts for each connection after the agent's first. The agent counts late answers at the
 * end of a poll. A late answer also explains a connection that the PLC refused because the previous connection was
 * still open.
 */
export async function onlyItsOwn({ connections, refused }: ServerCounts, runtimeDir: string): Promise<void> {
  await eventually(`${connections} connections to the PLC are the agent's`, async () => {
    const missed = await answersMissed(runtimeDir);
    return (connections - refused <= 1 + missed && (refused === 0 || missed > 0)) || undefined;
  });
}

/** Returns the number of late answers. Each of them costs a connection. */
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
