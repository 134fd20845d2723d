import { masked } from "./mask.ts";

/** One thing that is wrong with a file of ours. Line and column count from 1; 0 where the file as a whole is meant. */
export interface Problem {
  readonly line: number;
  readonly column: number;
  /** Where in the data, e.g. tags[3].role; "" for the whole file. */
  readonly path: string;
  /** Where it stands in another file than the error's own: that of the set-up, below the operator's. */
  readonly file?: string;
  readonly message: string;
  /** What to do about it, where that is known. */
  readonly hint?: string | undefined;
  /** The line itself, without its end; absent where the file as a whole is meant. */
  readonly text?: string;
}

const MAX_SHOWN = 10;
const MAX_LINE_SHOWN = 140;

/**
 * A profile or configuration that can't be used. `message` is the whole explanation, several lines long, ready for a
 * terminal; the fields are the first problem's, for machines.
 */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly hint: string | undefined;
  readonly problems: readonly Problem[];

  /** One line: the first problem with its place, and how many more there are. */
  brief(): string {
    const [first, ...rest] = this.problems;
    const more = rest.length === 0 ? "" : `, and ${rest.length} more`;
    return first === undefined ? this.file : `${headline(this.file, first)}${more}`;
  }

  /** Every problem, however many there are; `message` has the first ones. */
  full(): string {
    return this.problems.map((problem) => renderProblem(this.file, problem)).join("\n");
  }

  /** What the problems quote of the file is masked here, once for all who show it. */
  constructor(file: string, given: readonly Problem[], cause?: unknown) {
    const problems = given.map(withoutSecrets);
    super(render(file, problems), cause === undefined ? undefined : { cause });
    const first = problems[0];
    this.file = first?.file ?? file;
    this.line = first?.line ?? 0;
    this.column = first?.column ?? 0;
    this.hint = first?.hint;
    this.problems = problems;
  }
}

function withoutSecrets(problem: Problem): Problem {
  const { path, message, hint, text } = problem;
  return {
    ...problem,
    path: masked(path),
    message: masked(message),
    ...(hint === undefined ? {} : { hint: masked(hint) }),
    ...(text === undefined ? {} : { text: masked(text) }),
  };
}

function render(file: string, problems: readonly Problem[]): string {
  const shown = problems.slice(0, MAX_SHOWN).map((problem) => renderProblem(file, problem));
  const rest = problems.length - shown.length;
  return [...shown, ...(rest > 0 ? [`... and ${rest} more`] : [])].join("\n");
}

function renderProblem(file: string, problem: Problem): string {
  const head = headline(file, problem);
  return problem.text === undefined ? head : `${head}\n${excerpt(problem.line, problem.column, problem.text)}`;
}

function headline(file: string, problem: Problem): string {
  const named = problem.file ?? file;
  const place = problem.line === 0 ? named : `${named}:${problem.line}:${problem.column}`;
  const where = problem.path === "" ? "" : `${problem.path}: `;
  const hint = problem.hint === undefined ? "" : ` (${problem.hint})`;
  return `${place}: ${where}${problem.message}${hint}`;
}

/** The line with a caret under the column; a long line is cut to the part round it. */
function excerpt(line: number, column: number, text: string): string {
  const from = column > MAX_LINE_SHOWN - 20 ? column - 40 : 0;
  // One character wide each, so that the caret stands right, and harmless on a terminal.
  const part = text.slice(from, from + MAX_LINE_SHOWN).replace(/\p{Cc}/gu, " ");
  const number = String(line).padStart(5);
  return `${number} | ${part}\n${" ".repeat(number.length)} | ${" ".repeat(column - 1 - from)}^`;
}
