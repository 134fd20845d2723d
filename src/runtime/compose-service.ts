import { CommandError, EXIT, type Io } from "../cli/command.ts";
import { runAgent } from "./compose.ts";
import type { Lasting } from "../config/last-good.ts";
import { markOf, wipeState } from "./wipe.ts";

/** The agent until it is stopped, or until it is taken out of service: then nothing of its keys and data stays. */
export async function runInService(lasting: Lasting, io: Io, file: string): Promise<void> {
  const folders = lasting.usable.config;
  const mark = markOf(folders);
  if (mark !== null) {
    wipeState(folders);
    throw new CommandError(
      `this gateway was decommissioned, and its keys and data are wiped: delete ${mark} to put it into service as a new one`,
      EXIT.config,
    );
  }
  const leaving = new AbortController();
  const signal = AbortSignal.any([io.signal, leaving.signal]);
  await runAgent(lasting, { ...io, signal, outOfService: () => leaving.abort() }, file);
  if (leaving.signal.aborted) wipeState(folders);
}
