import { loadLasting, type Lasting } from "../config/last-good.ts";
import { configPath } from "../tools/agent-client.ts";
import { EXIT, type Io, type Run } from "./command.ts";

/** `start` composes and runs the agent, with the configuration of that file, until the signal aborts. */
export function runCommand(start: (lasting: Lasting, io: Io, file: string) => Promise<void>): Run {
  return async ({ values, io }) => {
    const file = configPath(values);
    const lasting = loadLasting(file, io.environment);
    const { refused } = lasting;
    if (refused !== null) {
      io.err(
        `${refused.message}\nthe last good configuration stays in use: correct the file, then restart the agent\n`,
      );
    }
    await start(lasting, io, file);
    return EXIT.ok;
  };
}
