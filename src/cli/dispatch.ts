import { parseArgs } from "node:util";
import { ConfigError } from "../config/config-error.ts";
import { CommandError, EXIT, parseOptions, type Command, type Io, type Values } from "./command.ts";

export interface Program {
  readonly name: string;
  readonly summary: string;
  readonly version: string;
  readonly commands: readonly Command[];
}

/** Finds the command, parses its options, runs it; every failure becomes a sentence on standard error and an exit code. */
export async function dispatch(program: Program, argv: readonly string[], io: Io): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    const command = program.commands.find((one) => one.name === rest[0]);
    io.out(name === "help" && command !== undefined ? helpOf(program, command) : overview(program));
    return name === undefined ? EXIT.usage : EXIT.ok;
  }
  if (name === "--version") {
    io.out(`${program.version}\n`);
    return EXIT.ok;
  }
  const command = program.commands.find((one) => one.name === name);
  if (command === undefined) {
    io.err(`${program.name}: there is no command "${name}"; ${program.name} --help lists them\n`);
    return EXIT.usage;
  }
  return runCommand(program, { command, argv: rest }, io);
}

async function runCommand(
  program: Program,
  call: { command: Command; argv: readonly string[] },
  io: Io,
): Promise<number> {
  const { command } = call;
  const parsed = parse(command, call.argv);
  if (typeof parsed === "string") {
    io.err(`${program.name} ${command.name}: ${parsed}; ${program.name} ${command.name} --help says more\n`);
    return EXIT.usage;
  }
  if (parsed.values["help"] === true) {
    io.out(helpOf(program, command));
    return EXIT.ok;
  }
  try {
    return await command.run({ ...parsed, io });
  } catch (error) {
    if (io.signal.aborted && error === io.signal.reason) return EXIT.ok;
    return explain(error, `${program.name} ${command.name}`, io);
  }
}

function explain(error: unknown, name: string, io: Io): number {
  if (error instanceof ConfigError) {
    io.err(`${error.message}\n`);
    return EXIT.config;
  }
  const message = error instanceof Error ? error.message : String(error);
  io.err(`${name}: ${message}\n`);
  if (error instanceof CommandError) return error.exit;
  if (error instanceof Error && io.environment["BOOTH_GATEWAY_TRACE"] !== undefined) io.err(`${error.stack ?? ""}\n`);
  return EXIT.failed;
}

function parse(command: Command, argv: readonly string[]): { values: Values; operands: readonly string[] } | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: parseOptions(command),
      allowPositionals: true,
      strict: true,
    });
    const allowed = command.operands === "" ? 0 : command.operands.split(" ").length;
    if (positionals.length > allowed) return `"${positionals[allowed] ?? ""}" is one word too many`;
    // Every option of ours is a single string or a switch.
    return { values: values as Values, operands: positionals };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return (message.split(". ")[0] ?? message).replace(/\.$/, "");
  }
}

function overview(program: Program): string {
  const width = Math.max(...program.commands.map(({ name }) => name.length)) + 2;
  return [
    `${program.name} ${program.version}: ${program.summary}`,
    "",
    `Usage: ${program.name} COMMAND [options]`,
    "",
    ...program.commands.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`),
    "",
    `${program.name} COMMAND --help tells a command's options.`,
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 69 not running or unsuitable, 78 configuration error.",
    "",
  ].join("\n");
}

function helpOf(program: Program, command: Command): string {
  const options = Object.entries({ ...command.options, help: { value: "", text: "show this" } }).map(
    ([name, option]) => [`--${name}${option.value === "" ? "" : ` ${option.value}`}`, option.text] as const,
  );
  const width = Math.max(...options.map(([name]) => name.length)) + 2;
  const operands = command.operands === "" ? "" : ` ${command.operands}`;
  return [
    `${program.name} ${command.name}: ${command.summary}`,
    "",
    `Usage: ${program.name} ${command.name}${operands} [options]`,
    "",
    ...options.map(([name, text]) => `  ${name.padEnd(width)}${text}`),
    ...(command.notes.length === 0 ? [] : ["", ...command.notes]),
    "",
  ].join("\n");
}
