import { render } from "../domain/messages/render.ts";
import { isatty } from "node:tty";
import { CommandError, EXIT, type Io } from "../tools/command.ts";
import { alignedText } from "../tools/print.ts";
import { terminalText } from "../tools/terminal-text.ts";
import { shareText } from "../tools/texts.ts";
import { monotonicMs } from "../monotonic.ts";

/** The shortest time between two progress texts, because people can't read faster. */
const PROGRESS_EVERY_MS = 100;
/** A control sequence that moves to the start of the line and erases the line. */
const REWRITE = "\r\u001b[K";

const STDOUT = 1;
const STDERR = 2;

/**
 * Returns the process's terminal and signals. Every command writes through this terminal, and no other file of `src` uses the process's
 * outputs. The reason is that this file escapes control characters in the texts of services, PLCs, brokers and files.
 */
export function terminalIo(): Io {
  const stopping = new AbortController();
  let isLoading = true;
  const stop = (): void => {
    // Ends at once while the program is loading. Loading takes seconds on a busy machine, and nothing needs to be closed yet.
    if (isLoading) process.exit(EXIT.ok);
    stopping.abort(new CommandError("stopped", EXIT.ok));
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  let hangUp = stop;
  process.on("SIGHUP", () => hangUp());
  // Stops when the parent process closes its IPC channel.
  if (process.connected) process.once("disconnect", stop);
  const isTerminal = isatty(STDOUT);
  let isHeard = false;
  // Opens standard output at its first use, because that takes 5 ms and the agent's log doesn't need it.
  const write = (text: string): void => {
    // Stops when the reader of the output ends, as with "| head".
    if (!isHeard) process.stdout.on("error", stop);
    isHeard = true;
    process.stdout.write(terminalText(text));
  };
  return {
    out: (text) => write(render(text)),
    table: (rows) => write(alignedText(rows)),
    err: (text) => void process.stderr.write(terminalText(render(text))),
    isTerminal,
    colors: isTerminal && (process.env["NO_COLOR"] ?? "") === "",
    progress: isatty(STDERR) ? progressLine() : () => undefined,
    ask: async (text, kind, choices = []) => {
      if (!process.stdin.isTTY) return null;
      const { createInterface } = await import("node:readline/promises");
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      try {
        const listed = choices.map((one) => `  ${one.value}${one.text === "" ? "" : `: ${render(one.text)}`}\n`);
        const question = kind === "agree" || kind === "match" ? `${render(text)} [y/N]` : render(text);
        const shown = listed.length === 0 ? question : `${question}\n${listed.join("")}>`;
        return await lines.question(terminalText(/\s$/.test(shown) ? shown : `${shown} `));
      } finally {
        lines.close();
      }
    },
    environment: process.env,
    signal: stopping.signal,
    exit: (code) => process.exit(code),
    begins: () => void (isLoading = false),
    reloads(reload) {
      if (!isTerminal) hangUp = reload;
    },
  };
}

function progressLine(): Io["progress"] {
  let shown = "";
  let written = -Infinity;
  let begun = Infinity;
  return (said, share) => {
    if (share === undefined || share === 0) begun = monotonicMs();
    const text = share === undefined ? render(said) : `${shareText(share, monotonicMs() - begun)}  ${render(said)}`;
    if (text === shown || (text !== "" && monotonicMs() - written < PROGRESS_EVERY_MS)) return;
    process.stderr.write(`${REWRITE}${terminalText(text).replaceAll("\n", " ")}`);
    shown = text;
    written = monotonicMs();
  };
}
