import { setTimeout as delay } from "node:timers/promises";
import type { AgentStatus, BacklogStatus } from "../domain/status.ts";
import { askAgent, socketPath } from "../tools/agent-client.ts";
import { drainOf, lookAt, type Look } from "./backlog-drain.ts";
import { backlogAnswer, backlogText, type BacklogAnswer } from "./backlog-text.ts";
import type { Run } from "./command.ts";
import { show } from "./show.ts";
import { styleOf } from "./style.ts";

/** Between the two looks that a pace is taken from. */
const MEASURE_MS = 1_000;
/** Of a watch; the pace is that of the last half minute, the bar counts from the most that was seen. */
const MAX_LOOKS = 3_600;

/** `booth-gateway backlog`: what waits for the service, and when it will have gone. */
export const backlogCommand: Run = async ({ values, io }) => {
  const socket = await socketPath(values, io);
  const seen = new Map<string, readonly Look[]>();
  const look = async (): Promise<BacklogAnswer> => {
    // The agent answers its own shapes.
    const status = (await askAgent(socket, { method: "GET", path: "/status" })) as AgentStatus;
    const backlog = (await askAgent(socket, { method: "GET", path: "/backlog" })) as readonly BacklogStatus[];
    const mono = performance.now();
    for (const one of backlog) {
      seen.set(one.booth, [...(seen.get(one.booth) ?? []).slice(-MAX_LOOKS), lookAt(one, mono)]);
    }
    return backlogAnswer(status, backlog, (booth) => drainOf(seen.get(booth) ?? []));
  };
  return show({ values, io }, async () => {
    let answer = await look();
    const moves = answer.service.kind === "up" && answer.booths.some(({ waiting }) => waiting > 0);
    if (moves && values["watch"] !== true) {
      await delay(MEASURE_MS, undefined, { signal: io.signal });
      answer = await look();
    }
    return {
      answer,
      text: backlogText(answer, { style: styleOf(io), bar: io.isTerminal && values["watch"] === true }),
    };
  });
};
