import type { ParseArgsOptionsConfig } from "node:util";

/** Where a command talks to people: standard output for what was asked, standard error for everything else. */
export interface Io {
  out(text: string): void;
  err(text: string): void;
  readonly isTerminal: boolean;
  /** Asks on the terminal; null where there is none. */
  ask(question: string): Promise<string | null>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts at SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

/** Option values as node:util's parseArgs gives them. */
export type Values = Readonly<Record<string, string | boolean | undefined>>;

export interface Command {
  readonly name: string;
  /** What follows the name, e.g. "[SERIAL]". */
  readonly operands: string;
  readonly summary: string;
  /** Each option with the word for its value ("" for a switch) and a sentence. */
  readonly options: Readonly<Record<string, { readonly value: string; readonly text: string }>>;
  /** Further lines of the command's help. */
  readonly notes: readonly string[];
  run(input: { readonly values: Values; readonly operands: readonly string[]; readonly io: Io }): Promise<number>;
}

/** Exit codes of every command, as documented in --help. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  unavailable: 69,
  config: 78,
} as const;

export function parseOptions(command: Command): ParseArgsOptionsConfig {
  const own = Object.entries(command.options).map(
    ([name, option]) => [name, { type: option.value === "" ? "boolean" : "string" }] as const,
  );
  return { help: { type: "boolean", short: "h" }, ...Object.fromEntries(own) };
}

/** A failure that a person can act on: one sentence, and the exit code. */
export class CommandError extends Error {
  readonly exit: number;
  constructor(message: string, exit: number = EXIT.failed, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exit = exit;
  }
}
