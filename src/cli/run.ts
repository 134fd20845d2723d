import { loadConfig } from "../config/config.ts";
import type { Config } from "../core/types/config.ts";
import { AGENT_OPTIONS, configPath } from "./agent-client.ts";
import { EXIT, type Command, type Io } from "./command.ts";

/** `start` composes and runs the agent until the signal aborts. */
export function runCommand(start: (config: Config, io: Io) => Promise<void>): Command {
  return {
    name: "run",
    operands: "",
    summary: "run the agent in the foreground; the service manager does this",
    options: { config: AGENT_OPTIONS.config },
    notes: [
      "Log lines go to standard output, one JSON object per change. SIGINT or SIGTERM stops it: what was read is committed first.",
    ],
    async run({ values, io }) {
      await start(loadConfig(configPath(values)), io);
      return EXIT.ok;
    },
  };
}
