import { parseArgs } from "node:util";
import { nearest } from "../config/nearest.ts";
import { CommandError, EXIT, type CommandSpec, type OperandSpec, type Values } from "./command.ts";
import { HELP_OPTION, optionText } from "./program.ts";

export interface Parsed {
  readonly values: Values;
  readonly operands: readonly string[];
}

/** What was typed after the command's name. Throws a CommandError that names what was probably meant. */
export function parseCommand(command: CommandSpec, argv: readonly string[]): Parsed {
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
  if (values["help"] !== true) checkOperands(command.operands, positionals);
  // Each option of ours is one text or a switch.
  return { values: values, operands: positionals };
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

/** ", did you mean x?", where something is near enough. */
export function meant(word: string, names: readonly string[], prefix = ""): string {
  const name = nearest(word, names);
  return name === undefined ? "" : ` (did you mean ${prefix}${name}?)`;
}

function usage(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}
