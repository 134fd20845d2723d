import { DEFAULT_CONFIG } from "../domain/plc-address.ts";

/** An operand: a word after the command's name. */
export interface OperandSpec {
  /** The name that the usage shows, e.g. SERIAL. */
  readonly name: string;
  readonly text: string;
  readonly optional?: true;
  /** The allowed words; absent if any word is allowed. */
  readonly choices?: Readonly<Record<string, string>>;
}

/** An option of a command, for the parser and the help. */
interface Option {
  /** The usage that the help shows, such as "config FILE". */
  readonly usage: string;
  readonly name: string;
  /** The name of the option's value; "" for an option without a value. The shell completes FILE and DIR with files and folders. */
  readonly value: string;
  readonly text: string;
}

/**
 * A command, as the parser, the help, the manual page and the shell completion use it. The tables in `table/` describe each command once,
 * so these four uses can't contradict each other. `runtime/commands.ts` adds each command's function, which is loaded only for that
 * command.
 */
export interface CommandSpec {
  readonly name: string;
  readonly summary: string;
  readonly operands?: readonly OperandSpec[];
  /** The text of each option by its usage: "config FILE" for an option with a value, "json" for an option without. */
  readonly options: Readonly<Record<string, string>>;
  /** Further sentences of the command's help. */
  readonly notes?: readonly string[];
  readonly examples: readonly string[];
  /** The meanings of exit codes of this command that differ from EXIT_MEANINGS. */
  readonly exits?: Readonly<Record<number, string>>;
}

/** Returns a command's options. Every command has --help. */
export function optionsOf({ options }: Pick<CommandSpec, "options">): readonly Option[] {
  return Object.entries({ ...options, help: "show this help" }).map(([usage, text]) => {
    const [name = "", value = ""] = usage.split(" ");
    return { usage, name, value, text };
  });
}

/** Options that several commands share. */
export const CONFIG = { "config FILE": `the configuration (default ${DEFAULT_CONFIG})` } as const;
export const JSON_OPTION = { json: "print one JSON document" } as const;
export const BOOTH = { "booth BOOTH": "the booth, if there are several" } as const;
export const WATCH = {
  watch: "update the output each second until Ctrl-C; with --json, print one document per line",
} as const;
export const BY = { "by NAME": "name of the person who does this (default: the user's name)" } as const;
export const YES = { yes: "skip the confirmation question" } as const;

/** The options of every command that asks the running agent. */
export const AGENT = { ...CONFIG, ...JSON_OPTION } as const;

export const UTC = {
  utc: "show and read times in UTC instead of this machine's time zone",
} as const;

/** The options of every command that asks for a report. */
export const REPORT = {
  ...AGENT,
  ...BOOTH,
  "from TIME": "start: today, yesterday, -2h, -3d, 2026-03-02, 2026-03-02T15:00:00Z (default: start of the local day)",
  "to TIME": "end, in the same formats (default: now)",
  ...UTC,
} as const;

export const REPORT_NOTES = [
  "Times are in this machine's time zone, with their offset from UTC. Without --from the window is the booth's local day so far.",
] as const;
