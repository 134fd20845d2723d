import { loadUsable, type UsableConfig } from "../config/usable.ts";
import { AGENT_OPTIONS, configPath } from "./agent-client.ts";
import { EXIT, type Command, type Io } from "./command.ts";

/** `start` composes and runs the agent until the signal aborts. */
export function runCommand(start: (usable: UsableConfig, io: Io) => Promise<void>): Command {
  return {
    name: "run",
    operands: "",
    summary: "run the agent in the foreground; the service manager does this",
    options: { config: AGENT_OPTIONS.config },
    notes: [
      "Log lines go to standard output, one JSON object per change. SIGINT or SIGTERM stops it: what was read is committed first.",
      "A booth whose configuration or profile is wrong is left out, and told in the log and by status; the others run.",
    ],
    async run({ values, io }) {
      await start(loadUsable(configPath(values)), io);
      return EXIT.ok;
    },
  };
}
