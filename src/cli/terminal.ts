import { isatty } from "node:tty";
import { CommandError, EXIT, type Io } from "../tools/command.ts";
import { monotonicMs } from "../monotonic.ts";

/** Between two writings of a line of progress: more than that nobody reads. */
const PROGRESS_EVERY_MS = 100;
/** To the line's beginning, and what stands there away. */
const REWRITE = "\r\u001b[K";

const STDOUT = 1;
const STDERR = 2;

/** The process's own terminal and signals. */
export function terminalIo(): Io {
  const stopping = new AbortController();
  let isLoading = true;
  const stop = (): void => {
    // Loading an agent takes seconds on a busy machine.
    if (isLoading) process.exit(EXIT.ok);
    stopping.abort(new CommandError("stopped", EXIT.ok));
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  let hangUp = stop;
  process.on("SIGHUP", () => hangUp());
  // Started by another program over a channel: without that program nobody would ever stop us.
  if (process.connected) process.once("disconnect", stop);
  const isTerminal = isatty(STDOUT);
  let isHeard = false;
  return {
    // Node makes its outputs when they are first named, 5 ms of a start; an agent's lines take another way.
    out(text) {
      // Whoever reads the output has gone, as with "| head".
      if (!isHeard) process.stdout.on("error", stop);
      isHeard = true;
      process.stdout.write(text);
    },
    err: (text) => void process.stderr.write(text),
    isTerminal,
    colours: isTerminal && (process.env["NO_COLOR"] ?? "") === "",
    progress: isatty(STDERR) ? progressLine() : () => undefined,
    ask: async (question) => {
      if (!process.stdin.isTTY) return null;
      const { createInterface } = await import("node:readline/promises");
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      try {
        return await lines.question(question);
      } finally {
        lines.close();
      }
    },
    environment: process.env,
    signal: stopping.signal,
    exit: (code) => process.exit(code),
    begins: () => void (isLoading = false),
    reloads(act) {
      if (!isTerminal) hangUp = act;
    },
  };
}

function progressLine(): Io["progress"] {
  let shown = "";
  let written = -Infinity;
  return (text) => {
    if (text === shown || (text !== "" && monotonicMs() - written < PROGRESS_EVERY_MS)) return;
    process.stderr.write(`${REWRITE}${text}`);
    shown = text;
    written = monotonicMs();
  };
}
