import { ConfigError } from "../config/config-error.ts";
import { CommandError, type CommandSpec, EXIT, EXIT_MEANINGS, type Io } from "./command.ts";
import { meant, parseCommand } from "./parse.ts";
import { commandsOf, HELP_OPTION, optionText, type Program, usageOf } from "./program.ts";

/** Finds the command, parses its options, runs it; every failure becomes a sentence on standard error and an exit code. */
export async function dispatch(program: Program, argv: readonly string[], io: Io): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined) {
    io.out(overview(program));
    return EXIT.usage;
  }
  if (name === "--help" || name === "-h" || name === "help") return help(program, rest[0], io);
  if (name === "--version") {
    io.out(`${program.version}\n`);
    return EXIT.ok;
  }
  const command = commandsOf(program).find((one) => one.name === name);
  return command === undefined ? unknown(program, name, io) : carryOut(program, { command, argv: rest }, io);
}

function help(program: Program, name: string | undefined, io: Io): number {
  const command = commandsOf(program).find((one) => one.name === name);
  if (command === undefined && name !== undefined) return unknown(program, name, io);
  io.out(command === undefined ? overview(program) : helpOf(program, command));
  return EXIT.ok;
}

function unknown(program: Program, name: string, io: Io): number {
  const names = commandsOf(program).map((one) => one.name);
  io.err(`${program.name}: there is no command "${name}"${meant(name, names)}; ${program.name} --help lists them\n`);
  return EXIT.usage;
}

async function carryOut(
  program: Program,
  { command, argv }: { readonly command: CommandSpec; readonly argv: readonly string[] },
  io: Io,
): Promise<number> {
  const name = `${program.name} ${command.name}`;
  try {
    const parsed = parseCommand(command, argv);
    if (parsed.values["help"] === true) return help(program, command.name, io);
    const run = await program.runOf(command.name);
    io.begins?.();
    return await run({ ...parsed, io });
  } catch (error) {
    io.progress("");
    if (io.signal.aborted && error === io.signal.reason) return EXIT.ok;
    return explain(error, name, io);
  }
}

function explain(error: unknown, name: string, io: Io): number {
  if (error instanceof ConfigError) {
    io.err(`${error.message}\n`);
    return codeOf(error.cause) === "EACCES" ? EXIT.rights : EXIT.config;
  }
  const message = error instanceof Error ? error.message : String(error);
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

/** The system's name of what went wrong; "" where it wasn't the system. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

const WIDTH = 118;

/** What the program can do, command by command. */
export function overview(program: Program): string {
  const names = program.groups.flatMap(({ commands }) => commands.map(({ name }) => name));
  const width = Math.max(...names.map((name) => name.length)) + 2;
  const groups = program.groups.flatMap(({ title, commands }) => [
    "",
    `${title}:`,
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`),
  ]);
  return [
    `${program.name} ${program.version}: ${program.summary}`,
    "",
    `Usage: ${program.name} COMMAND [options]`,
    ...groups,
    "",
    `${program.name} help COMMAND tells a command's options.`,
    `Exit codes: ${exitText(EXIT_MEANINGS)}.`,
    "",
  ].join("\n");
}

/** All about one command. */
export function helpOf(program: Program, command: CommandSpec): string {
  const operands = command.operands.flatMap(({ name, text, choices = {} }) => [
    [name, text] as const,
    ...Object.entries(choices).map(([choice, what]) => [`  ${choice}`, what] as const),
  ]);
  const options = Object.entries({ ...command.options, ...HELP_OPTION }).map(
    ([name, { value, text }]) => [optionText(name, value), text] as const,
  );
  const rows = [...operands, ...options];
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  const tableOf = (part: typeof rows): string[] => part.map(([name, text]) => `  ${name.padEnd(width)}${text}`);
  return [
    `${program.name} ${command.name}: ${command.summary}`,
    "",
    `Usage: ${program.name} ${usageOf(command)}`,
    "",
    ...(operands.length === 0 ? [] : [...tableOf(operands), ""]),
    ...tableOf(options),
    ...(command.notes.length === 0 ? [] : ["", ...command.notes.flatMap(wrapped)]),
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
