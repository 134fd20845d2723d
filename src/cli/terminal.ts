import { isatty } from "node:tty";
import { CommandError, EXIT, type Io } from "../tools/command.ts";
import { terminalText } from "../tools/terminal-text.ts";
import { monotonicMs } from "../monotonic.ts";

/** Between two writings of a line of progress: more than that nobody reads. */
const PROGRESS_EVERY_MS = 100;
/** To the line's beginning, and what stands there away. */
const REWRITE = "\r\u001b[K";

const STDOUT = 1;
const STDERR = 2;

/**
 * The process's own terminal and signals. Every command writes through it, and nothing else in `src` names the process's outputs: control
 * characters in the texts of services, PLCs, brokers and files are escaped here.
 */
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
      process.stdout.write(terminalText(text));
    },
    err: (text) => void process.stderr.write(terminalText(text)),
    isTerminal,
    colours: isTerminal && (process.env["NO_COLOR"] ?? "") === "",
    progress: isatty(STDERR) ? progressLine() : () => undefined,
    ask: async (question, _, choices = []) => {
      if (!process.stdin.isTTY) return null;
      const { createInterface } = await import("node:readline/promises");
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      try {
        const listed = choices.map(({ value, text }) => `  ${value}${text === "" ? "" : `: ${text}`}\n`);
        const shown = listed.length === 0 ? question : `${question}\n${listed.join("")}> `;
        return await lines.question(terminalText(shown));
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
    process.stderr.write(`${REWRITE}${terminalText(text).replaceAll("\n", " ")}`);
    shown = text;
    written = monotonicMs();
  };
}
