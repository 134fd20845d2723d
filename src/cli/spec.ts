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

interface OptionSpec {
  /** The word for its value; "" for a switch. FILE and DIR are completed as such. */
  readonly value: string;
  readonly text: string;
}

/** All that help, manual page, completion and parser know of a command. */
export interface CommandSpec {
  readonly name: string;
  readonly summary: string;
  readonly operands?: readonly OperandSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Further sentences of the command's help. */
  readonly notes?: readonly string[];
  readonly examples: readonly string[];
  /** What an exit code means here, where that is more than EXIT_MEANINGS says. */
  readonly exits?: Readonly<Record<number, string>>;
}

/** Options that several commands have, worded alike everywhere. */
export const CONFIG = { config: { value: "FILE", text: `the configuration (default ${DEFAULT_CONFIG})` } } as const;
export const JSON_OPTION = { json: { value: "", text: "print one JSON document" } } as const;
export const BOOTH = { booth: { value: "BOOTH", text: "which booth, where there are several" } } as const;
export const WATCH = {
  watch: { value: "", text: "show it anew each second until Ctrl-C; with --json one document a line" },
} as const;
export const BY = { by: { value: "NAME", text: "who does this (default: the user's name)" } } as const;
export const YES = { yes: { value: "", text: "without asking" } } as const;

/** Of every command that asks the running agent. */
export const AGENT = { ...CONFIG, ...JSON_OPTION } as const;

export const UTC = {
  utc: { value: "", text: "times in UTC, shown and typed, instead of this machine's zone" },
} as const;

/** Of every command that asks for a report. */
export const REPORT = {
  ...AGENT,
  ...BOOTH,
  from: {
    value: "TIME",
    text: "start: today, yesterday, -2h, -3d, 2026-03-02, 2026-03-02T15:00:00Z; default the local day",
  },
  to: { value: "TIME", text: "end, likewise; default now" },
  ...UTC,
} as const;

export const REPORT_NOTES = [
  "Times are this machine's, with their offset from UTC. Without --from it is the booth's local day so far.",
] as const;
