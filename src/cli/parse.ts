import { parseArgs } from "node:util";
import { type Call, CommandError, EXIT, type Run } from "../tools/command.ts";
import { meant } from "../tools/texts.ts";
import { type CommandSpec, type OperandSpec, optionsOf } from "./spec.ts";

/** A command-line program: its description, its commands, and the loader of the commands' functions. */
export interface Program {
  readonly name: string;
  readonly summary: string;
  readonly version: string;
  readonly groups: readonly { readonly title: string; readonly commands: readonly CommandSpec[] }[];
  /** Loads a command's function with only the modules that this function needs. */
  runOf(name: string): Promise<Run>;
}

export function commandsOf({ groups }: Pick<Program, "groups">): readonly CommandSpec[] {
  return groups.flatMap(({ commands }) => commands);
}

/** Returns the usage of a command, such as "store ACTION [FILE] [options]". */
export function usageOf({ name, operands = [] }: CommandSpec): string {
  const words = operands.map((one) => (one.optional === true ? `[${one.name}]` : one.name));
  return [name, ...words, "[options]"].join(" ");
}

/** Parses the words after a command's name. Throws a CommandError that suggests the closest valid word. */
export function parseCommand(command: CommandSpec, argv: readonly string[]): Omit<Call, "io"> {
  const options = optionsOf(command);
  const kinds = options.map(
    ({ name, value }) => [name, { type: value === "" ? ("boolean" as const) : ("string" as const) }] as const,
  );
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    options: { ...Object.fromEntries(kinds), help: { type: "boolean", short: "h" } },
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "option") checkOption(token, options);
  }
  if (values["help"] !== true) checkOperands(command.operands ?? [], positionals);
  return { values, operands: positionals };
}

function checkOption(
  { name, rawName, value }: { readonly name: string; readonly rawName: string; readonly value?: string | undefined },
  options: ReturnType<typeof optionsOf>,
): void {
  const known = options.find((option) => option.name === name);
  const names = options.map((option) => option.name);
  if (known === undefined) throw usage(`there is no option ${rawName}${meant(name, names, "--")}`);
  const takesText = known.value !== "";
  if (takesText && (value === undefined || value === "")) {
    throw usage(`${rawName} needs a value: --${known.usage}`);
  }
  if (takesText && value?.startsWith("--") === true) {
    throw usage(`${rawName} needs a value, not ${value}; one that begins with a dash is written ${rawName}=VALUE`);
  }
  if (!takesText && value !== undefined) throw usage(`${rawName} takes no value`);
}

function checkOperands(specs: readonly OperandSpec[], words: readonly string[]): void {
  for (const [i, spec] of specs.entries()) {
    const word = words[i];
    if (word === undefined && spec.optional !== true) {
      const what = spec.choices === undefined ? spec.text : `one of ${Object.keys(spec.choices).join(", ")}`;
      throw usage(`${spec.name} is missing: ${what}`);
    }
    if (word === undefined || spec.choices === undefined || Object.hasOwn(spec.choices, word)) continue;
    const choices = Object.keys(spec.choices);
    const hint = meant(word, choices) || `; there are ${choices.join(", ")}`;
    throw usage(`${spec.name} can't be "${word}"${hint}`);
  }
  const extra = words[specs.length];
  if (extra !== undefined) throw usage(`"${extra}" is one word too many`);
}

function usage(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}
