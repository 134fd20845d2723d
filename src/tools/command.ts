/** Where a command talks to people: standard output for what was asked, standard error for everything else. */
export interface Io {
  out(text: string): void;
  err(text: string): void;
  readonly isTerminal: boolean;
  /** Standard output is a terminal, and NO_COLOR isn't set. */
  readonly colours: boolean;
  /** One line on standard error, written over by the next and taken away by ""; unseen where that is no terminal. */
  progress(text: string): void;
  /**
   * Asks on the terminal; null if there is no terminal. `kind`: what a page offers instead of a field. `choices`: of the kind
   * choose; the reply is a choice's value.
   */
  ask(question: string, kind?: QuestionKind, choices?: readonly Choice[]): Promise<string | null>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts at SIGINT, SIGTERM, or SIGHUP where nothing else is made of that. */
  readonly signal: AbortSignal;
  /** From now on SIGHUP means this, but where a terminal stands behind the process: there it means that the terminal was closed. */
  readonly reloads?: (act: () => void) => void;
  /** Ends the process at once. Absent: the command runs within another program, and can't end it. */
  readonly exit?: (code: number) => void;
  /** The command is loaded, and begins. Before that nothing needs to be brought to an end, and a signal ends the process; absent: nobody asks. */
  readonly begins?: () => void;
}

/** agree: y, or anything else for no. ready: nothing once it is so, s to leave it out. choose: one of the choices. */
export type QuestionKind = "agree" | "ready" | "choose";

export interface Choice {
  readonly value: string;
  /** Shown after the value; "": the value says it. */
  readonly text: string;
}

/** Option values: a text, true for a switch, undefined where it wasn't given. */
export type Values = Readonly<Record<string, string | boolean | undefined>>;

export interface Call {
  readonly values: Values;
  readonly operands: readonly string[];
  readonly io: Io;
}

/** Does what the command says and answers its exit code; throws a CommandError or ConfigError where it can't. */
export type Run = (call: Call) => Promise<number>;

/** Exit codes of every command; 69, 77 and 78 as in sysexits.h. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unavailable: 69, rights: 77, config: 78 } as const;

export const EXIT_MEANINGS: Readonly<Record<number, string>> = {
  [EXIT.ok]: "done",
  [EXIT.failed]: "failed, or something is wrong",
  [EXIT.usage]: "wrong usage",
  [EXIT.unavailable]: "agent, PLC or service doesn't answer",
  [EXIT.rights]: "no right to do that",
  [EXIT.config]: "configuration error",
};

/** A failure that a person can act on: one sentence that says what to do, and the exit code. */
export class CommandError extends Error {
  readonly exit: number;
  constructor(message: string, exit: number = EXIT.failed, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exit = exit;
  }
}

/** Asks a question that wants a yes. Throws a CommandError with `nobody` where there is no terminal, with `no` for anything else. */
export async function mustAgree(
  io: Io,
  { question, nobody, no }: { readonly question: string; readonly nobody: string; readonly no: string },
): Promise<void> {
  const said = await io.ask(`${question} [y/N] `, "agree");
  if (said === null) throw new CommandError(`nobody to ask: ${nobody}`);
  if (!/^y(es)?$/i.test(said.trim())) throw new CommandError(no);
}
