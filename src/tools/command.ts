import { message, type Text } from "../domain/message.ts";
import { MessageError } from "../domain/messages/message-error.ts";
/** The input and output of a command: standard output for the answer, standard error for everything else. */
export interface Io {
  out(text: Text): void;
  err(text: Text): void;
  /** Writes rows to standard output in aligned columns; numbers are aligned to the right. */
  table(rows: readonly TableRow[]): void;
  readonly isTerminal: boolean;
  /** True if standard output is a terminal and NO_COLOR isn't set. */
  readonly colors: boolean;
  /**
   * Shows one line on standard error. The next line replaces it, and "" removes it. Does nothing without a terminal.
   * @param share the finished share of the work, from 0 to 1, shown as a bar with the remaining time
   */
  progress(text: Text, share?: number): void;
  /**
   * Asks on the terminal, which adds a blank after the question, and [y/N] after a question of the kind "agree". Resolves with null if
   * there is no terminal.
   * @param kind the kind of question, which decides what the page offers instead of a text field
   * @param choices for the kind "choose": the reply is a choice's value
   */
  ask(question: Text, kind?: QuestionKind, choices?: readonly Choice[]): Promise<string | null>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts at SIGINT and SIGTERM. Aborts at SIGHUP too, unless `reloads` handles that signal. */
  readonly signal: AbortSignal;
  /** Calls `action` at each SIGHUP from now on. Absent if the process has a terminal, where SIGHUP means that the terminal was closed. */
  readonly reloads?: (act: () => void) => void;
  /** Ends the process at once. Absent if the command runs within another program. */
  readonly exit?: (code: number) => void;
  /** Receives a command's answer as data, in addition to its text. Only the page sets it. */
  readonly answer?: (answer: unknown) => void;
  /** Called when the command is loaded and begins. A signal before that ends the process at once. */
  readonly begins?: () => void;
}

export type TableRow = readonly (Text | number)[];

/**
 * Kinds of questions. agree: "y" means yes, anything else no. ready: an empty reply means done, "s" means skip, "r" means to repeat the
 * last one. choose: the reply is a choice's value. match: "y" means yes, a choice's value means that other match, anything else no.
 */
export type QuestionKind = "agree" | "ready" | "choose" | "match";

export interface Choice {
  readonly value: string;
  /** Shown after the value; "" if the value needs no explanation. */
  readonly text: Text;
}

/** Option values: a text, true for an option without a value, undefined if not given. */
export type Values = Readonly<Record<string, string | boolean | undefined>>;

export interface Call {
  readonly values: Values;
  readonly operands: readonly string[];
  readonly io: Io;
}

/** Runs a command and resolves with its exit code. Rejects with a CommandError or ConfigError if the command can't run. */
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

/** A failure that the user can fix: a sentence that says what to do, and the exit code. */
export class CommandError extends MessageError {
  readonly exit: number;
  constructor(text: Text, exit: number = EXIT.failed, cause?: unknown) {
    super(text, cause);
    this.exit = exit;
  }
}

/** Asks a yes-or-no question. Returns true for a yes, false for any other reply or without a terminal. */
export async function agrees(io: Pick<Io, "ask">, question: Text): Promise<boolean> {
  const reply = await io.ask(question, "agree");
  return /^y/i.test(reply?.trim() ?? "");
}

/**
 * Asks a question that needs a yes. Throws a CommandError: with the text `nobody` without a terminal, with the text `no` for any other
 * reply.
 */
export async function mustAgree(
  io: Io,
  { question, nobody, no }: { readonly question: Text; readonly nobody: Text; readonly no: Text },
): Promise<void> {
  const said = await io.ask(question, "agree");
  if (said === null) throw new CommandError(message("command.nobody_to_ask", { advice: nobody }));
  if (!/^y(es)?$/i.test(said.trim())) throw new CommandError(no);
}
