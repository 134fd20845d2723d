import { DEFAULT_CONFIG } from "../domain/plc-address.ts";

/** A word after the command's name. */
export interface OperandSpec {
  /** As the usage shows it, e.g. SERIAL. */
  readonly name: string;
  readonly text: string;
  readonly optional?: true;
  /** The words that are allowed; absent: any. */
  readonly choices?: Readonly<Record<string, string>>;
}

/** An option as parser and help use it. */
interface Option {
  /** As in the help, such as "config FILE". */
  readonly usage: string;
  readonly name: string;
  /** The word for its value; "" for a switch. The shell completes FILE and DIR with files and folders. */
  readonly value: string;
  readonly text: string;
}

/**
 * A command as parser, help, manual page and shell completion know it. The tables in `table/` have one for each command, so that
 * the four can't contradict each other; `runtime/commands.ts` adds the function that runs it, which is loaded only for that command.
 */
export interface CommandSpec {
  readonly name: string;
  readonly summary: string;
  readonly operands?: readonly OperandSpec[];
  /** The text of each option, by its usage: "config FILE" for an option with a value, "json" for a switch. */
  readonly options: Readonly<Record<string, string>>;
  /** Further sentences of the command's help. */
  readonly notes?: readonly string[];
  readonly examples: readonly string[];
  /** The meaning of an exit code of this command, if it differs from EXIT_MEANINGS. */
  readonly exits?: Readonly<Record<number, string>>;
}

/** Returns a command's options; every command has --help. */
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

/** Options of every command that asks the running agent. */
export const AGENT = { ...CONFIG, ...JSON_OPTION } as const;

export const UTC = {
  utc: "show and read times in UTC instead of this machine's time zone",
} as const;

/** Options of every command that asks for a report. */
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
