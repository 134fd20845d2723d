/** The output of a command, and the signal that ends it. */
export interface RunningIo {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  /** Shows progress on one line of a terminal; absent: there is no terminal. */
  readonly show?: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Runs a command until it ends or SIGINT or SIGTERM arrives, and sets the process's exit code. */
export async function runCommand(run: (io: RunningIo) => Promise<number>): Promise<void> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(new Error("stopped"));
  // SIGINT may arrive several times: from the terminal, and again from npm or node --watch, while the parts are
  // stopping.
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  // The reader of the output has closed it, as in "| head".
  process.stdout.once("error", stop);
  const out = (line: string): void => void process.stdout.write(`${line}\n`);
  const err = (line: string): void => void process.stderr.write(`${line}\n`);
  const bar = (text: string): void => void process.stderr.write(`\r${text}${/ (\d+) of \1 /.test(text) ? "\n" : ""}`);
  const { signal } = stopping;
  process.exitCode = await run({ out, err, signal, ...(process.stderr.isTTY ? { show: bar } : {}) });
}
