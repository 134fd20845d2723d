import type { CommandSpec, Run } from "./command.ts";

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
export function usageOf({ name, operands }: CommandSpec): string {
  const words = operands.map((one) => (one.optional === true ? `[${one.name}]` : one.name));
  return [name, ...words, "[options]"].join(" ");
}

/** e.g. "--config FILE". */
export function optionText(name: string, value: string): string {
  return `--${name}${value === "" ? "" : ` ${value}`}`;
}
