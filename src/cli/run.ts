import { loadLasting, type Lasting } from "../config/last-good.ts";
import { configPath } from "./agent-client.ts";
import { EXIT, type Io, type Run } from "./command.ts";

/** `start` composes and runs the agent until the signal aborts. */
export function runCommand(start: (lasting: Lasting, io: Io) => Promise<void>): Run {
  return async ({ values, io }) => {
    const lasting = loadLasting(configPath(values), io.environment);
    const { refused } = lasting;
    if (refused !== null) {
      io.err(
        `${refused.message}\nthe last good configuration stays in use: correct the file, then restart the agent\n`,
      );
    }
    await start(lasting, io);
    return EXIT.ok;
  };
}
