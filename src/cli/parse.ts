import { parseArgs } from "node:util";
import { meant } from "../tools/texts.ts";
import { type Call, CommandError, EXIT, type Run } from "../tools/command.ts";
import type { CommandSpec, OperandSpec } from "./spec.ts";

/** A command line as a whole: what it says of itself, and the way to what its commands do. */
export interface Program {
  readonly name: string;
  readonly summary: string;
  readonly version: string;
  readonly groups: readonly { readonly title: string; readonly commands: readonly CommandSpec[] }[];
  /** Loads what the command needs, and nothing else. */
  runOf(name: string): Promise<Run>;
}

export function commandsOf({ groups }: Pick<Program, "groups">): readonly CommandSpec[] {
  return groups.flatMap(({ commands }) => commands);
}

/** What every command takes beside its own options. */
export const HELP_OPTION: CommandSpec["options"] = { help: { value: "", text: "show this" } };

/** e.g. "status [options]", "store ACTION [FILE] [options]". */
export function usageOf({ name, operands = [] }: CommandSpec): string {
  const words = operands.map((one) => (one.optional === true ? `[${one.name}]` : one.name));
  return [name, ...words, "[options]"].join(" ");
}

/** e.g. "--config FILE". */
export function optionText(name: string, value: string): string {
  return `--${name}${value === "" ? "" : ` ${value}`}`;
}

/** What was typed after the command's name. Throws a CommandError that names what was probably meant. */
export function parseCommand(command: CommandSpec, argv: readonly string[]): Omit<Call, "io"> {
  const options = { ...command.options, ...HELP_OPTION };
  const kinds = Object.entries(options).map(
    ([name, { value }]) => [name, { type: value === "" ? ("boolean" as const) : ("string" as const) }] as const,
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
  // Each option of ours is one text or a switch.
  return { values, operands: positionals };
}

function checkOption(
  { name, rawName, value }: { readonly name: string; readonly rawName: string; readonly value?: string | undefined },
  options: CommandSpec["options"],
): void {
  const known = Object.hasOwn(options, name) ? options[name] : undefined;
  if (known === undefined) throw usage(`there is no option ${rawName}${meant(name, Object.keys(options), "--")}`);
  const takesText = known.value !== "";
  if (takesText && (value === undefined || value === "")) {
    throw usage(`${rawName} needs a value: ${optionText(name, known.value)}`);
  }
  if (takesText && value?.startsWith("--") === true) {
    throw usage(`${rawName} needs a value, not ${value}; one that begins with a dash is written ${rawName}=VALUE`);
  }
  if (!takesText && value !== undefined) throw usage(`${rawName} takes no value`);
}

function checkOperands(specs: readonly OperandSpec[], words: readonly string[]): void {
  for (const [i, spec] of specs.entries()) {
    const word = words[i];
    if (word === undefined && spec.optional !== true) throw usage(missing(spec));
    if (word === undefined || spec.choices === undefined || Object.hasOwn(spec.choices, word)) continue;
    const choices = Object.keys(spec.choices);
    const hint = meant(word, choices) || `; there are ${choices.join(", ")}`;
    throw usage(`${spec.name} can't be "${word}"${hint}`);
  }
  const extra = words[specs.length];
  if (extra !== undefined) throw usage(`"${extra}" is one word too many`);
}

function missing({ name, text, choices }: OperandSpec): string {
  const what = choices === undefined ? text : `one of ${Object.keys(choices).join(", ")}`;
  return `${name} is missing: ${what}`;
}

function usage(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}
