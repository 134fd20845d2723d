import type { UsableConfig } from "../config/usable.ts";
import { loadLasting } from "../config/last-good.ts";
import { configPath } from "./agent-client.ts";
import { EXIT, type Io, type Run } from "./command.ts";

/** `start` composes and runs the agent until the signal aborts. */
export function runCommand(start: (usable: UsableConfig, io: Io) => Promise<void>): Run {
  return async ({ values, io }) => {
    const { usable, refused } = loadLasting(configPath(values), io.environment);
    if (refused !== null) {
      io.err(
        `${refused.message}\nthe last good configuration stays in use: correct the file, then restart the agent\n`,
      );
    }
    await start(usable, io);
    return EXIT.ok;
  };
}
