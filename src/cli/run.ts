import { loadUsable, type UsableConfig } from "../config/usable.ts";
import { configPath } from "./agent-client.ts";
import { EXIT, type Io, type Run } from "./command.ts";

/** `start` composes and runs the agent until the signal aborts. */
export function runCommand(start: (usable: UsableConfig, io: Io) => Promise<void>): Run {
  return async ({ values, io }) => {
    await start(loadUsable(configPath(values)), io);
    return EXIT.ok;
  };
}
