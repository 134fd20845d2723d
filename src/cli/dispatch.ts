import { ConfigError } from "../config/config-error.ts";
import { CommandError, EXIT, EXIT_MEANINGS, type Io } from "../tools/command.ts";
import { durationText, meant } from "../tools/texts.ts";
import { commandsOf, parseCommand, type Program, usageOf } from "./parse.ts";
import { type CommandSpec, optionsOf } from "./spec.ts";
import { monotonicMs } from "../monotonic.ts";
import { errorMessage } from "../domain/error-message.ts";

/** Finds a command, parses its options and runs it. Reports a failure as a sentence on standard error and returns an exit code. */
export async function dispatch(program: Program, argv: readonly string[], io: Io): Promise<number> {
  const [first, ...rest] = argv;
  const wantsHelp = first === "--help" || first === "-h" || first === "help";
  const name = wantsHelp ? rest[0] : first;
  if (name === undefined) {
    io.out(overview(program));
    return wantsHelp ? EXIT.ok : EXIT.usage;
  }
  if (first === "--version") {
    io.out(`${program.version}\n`);
    return EXIT.ok;
  }
  const commands = commandsOf(program);
  const command = commands.find((one) => one.name === name);
  if (command !== undefined) return carryOut(program, { command, argv: wantsHelp ? ["--help"] : rest }, io);
  const names = commands.map((one) => one.name);
  const hint = meant(name, names);
  io.err(`${program.name}: there is no command "${name}"${hint}; ${program.name} --help lists them\n`);
  return EXIT.usage;
}

async function carryOut(
  program: Program,
  { command, argv }: { readonly command: CommandSpec; readonly argv: readonly string[] },
  io: Io,
): Promise<number> {
  try {
    const parsed = parseCommand(command, argv);
    if (parsed.values["help"] === true) {
      io.out(helpOf(program, command));
      return EXIT.ok;
    }
    const run = await program.runOf(command.name);
    io.begins?.();
    // Runs the agent without a progress display, because the agent writes its own log.
    if (command.name === "run") return await run({ ...parsed, io });
    const shown = withProgress(io, command.name);
    return await run({ ...parsed, io: shown.io }).finally(shown.end);
  } catch (error) {
    io.progress("");
    if (io.signal.aborted && error === io.signal.reason) return EXIT.ok;
    return explain(error, `${program.name} ${command.name}`, io);
  }
}

/** The time without output after which a command shows that it is still working. */
const SILENT_MS = 2_000;
const BEAT_MS = 500;

/** Returns a terminal that shows how long a command has been working, until the command's first output. */
function withProgress(io: Io, name: string): { readonly io: Io; readonly end: () => void } {
  const began = monotonicMs();
  let isShown = false;
  const timer = setInterval(() => {
    const at_work_ms = monotonicMs() - began;
    if (at_work_ms < SILENT_MS) return;
    isShown = true;
    io.progress(`${name}: at work for ${durationText(at_work_ms)}`);
  }, BEAT_MS);
  timer.unref();
  const end = (): void => {
    clearInterval(timer);
    if (isShown) io.progress("");
    isShown = false;
  };
  const afterEnd = <A extends readonly unknown[], R>(call: (...given: A) => R) => {
    return (...given: A): R => {
      end();
      return call(...given);
    };
  };
  return {
    io: {
      ...io,
      out: afterEnd((...given: Parameters<Io["out"]>) => io.out(...given)),
      err: afterEnd((...given: Parameters<Io["err"]>) => io.err(...given)),
      table: afterEnd((...given: Parameters<Io["table"]>) => io.table(...given)),
      progress: afterEnd((...given: Parameters<Io["progress"]>) => io.progress(...given)),
      ask: afterEnd((...given: Parameters<Io["ask"]>) => io.ask(...given)),
    },
    end,
  };
}

function explain(error: unknown, name: string, io: Io): number {
  if (error instanceof ConfigError) {
    io.err(`${error.message}\n`);
    return codeOf(error.cause) === "EACCES" ? EXIT.rights : EXIT.config;
  }
  const message = errorMessage(error);
  if (error instanceof CommandError) {
    io.err(`${name}: ${message}${error.exit === EXIT.usage ? `; ${name} --help says more` : ""}\n`);
    return error.exit;
  }
  if (["EACCES", "EPERM"].includes(codeOf(error))) {
    io.err(`${name}: you have no right to do that (${message}): use sudo\n`);
    return EXIT.rights;
  }
  io.err(`${name}: ${message}\n`);
  if (error instanceof Error && io.environment["BOOTH_GATEWAY_TRACE"] !== undefined) io.err(`${error.stack ?? ""}\n`);
  return EXIT.failed;
}

/** Returns the operating system's error code; "" for any other error. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

const WIDTH = 118;

/** Returns the program's help: every command with its summary. */
function overview(program: Program): string {
  const { name, version, summary, groups } = program;
  const rowOf = (command: CommandSpec): Row => [command.name, command.summary];
  const width = widthOf(commandsOf(program).map(rowOf));
  return [
    `${name} ${version}: ${summary}`,
    "",
    `Usage: ${name} COMMAND [options]`,
    ...groups.flatMap(({ title, commands }) => ["", `${title}:`, ...columns(commands.map(rowOf), width)]),
    "",
    `${name} help COMMAND tells a command's options.`,
    `Exit codes: ${exitText(EXIT_MEANINGS)}.`,
    "",
  ].join("\n");
}

type Row = readonly [name: string, text: string];

function widthOf(rows: readonly Row[]): number {
  return Math.max(...rows.map(([name]) => name.length)) + 2;
}

function columns(rows: readonly Row[], width: number): string[] {
  return rows.map(([name, text]) => `  ${name.padEnd(width)}${text}`);
}

/** Returns a command's help. */
function helpOf(program: Program, command: CommandSpec): string {
  const operands = (command.operands ?? []).flatMap(({ name, text, choices = {} }): Row[] => [
    [name, text],
    ...Object.entries(choices).map(([choice, what]): Row => [`  ${choice}`, what]),
  ]);
  const options = optionsOf(command).map(({ usage, text }): Row => [`--${usage}`, text]);
  const width = widthOf([...operands, ...options]);
  return [
    `${program.name} ${command.name}: ${command.summary}`,
    "",
    `Usage: ${program.name} ${usageOf(command)}`,
    "",
    ...(operands.length === 0 ? [] : [...columns(operands, width), ""]),
    ...columns(options, width),
    ...(command.notes === undefined ? [] : ["", ...command.notes.flatMap(wrapped)]),
    "",
    ...command.examples.map((example, i) => `${i === 0 ? "Example: " : "         "}${program.name} ${example}`),
    ...(command.exits === undefined ? [] : [`Exit codes: ${exitText({ ...EXIT_MEANINGS, ...command.exits })}.`]),
    "",
  ].join("\n");
}

function exitText(meanings: Readonly<Record<number, string>>): string {
  return Object.entries(meanings)
    .map(([code, meaning]) => `${code} ${meaning}`)
    .join("; ");
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
