import type { Text } from "../domain/message.ts";
import { masked } from "./mask.ts";

/** A fault of a configuration or profile file. Line and column count from 1; 0: the file as a whole. */
export interface Problem {
  readonly line: number;
  readonly column: number;
  /** The path in the data, such as tags[3].role; "": the whole file. */
  readonly path: string;
  /** The file, if it is another one than the error's: the set-up's file, which the operator's file overrides. */
  readonly file?: string;
  readonly message: Text;
  /** The remedy, if known. */
  readonly hint?: Text | undefined;
  /** The line without its end; absent if the fault is of the file as a whole. */
  readonly text?: string;
}

const MAX_SHOWN = 10;
const MAX_LINE_SHOWN = 140;

/**
 * A profile or configuration that can't be used.
 *
 * Parsers and checks collect every problem of a file and throw one error, so that a person can correct the file in one pass.
 * `message` is the whole explanation for a terminal: several lines, with an excerpt and a caret per problem, at most ten
 * problems. `brief()` is one line for the log, `full()` lists every problem. The fields are the first problem's, for machines.
 * The constructor masks whatever may be a secret in the texts that quote the file (`mask.ts`), so that an error can be logged, shown
 * on the page and put into a bundle.
 */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly hint: string | undefined;
  readonly problems: readonly Problem[];

  /** Returns one line: the first problem with its place, and the number of further problems. */
  brief(): string {
    const [first, ...rest] = this.problems;
    const more = rest.length === 0 ? "" : `, and ${rest.length} more`;
    return first === undefined ? this.file : `${headline(this.file, first)}${more}`;
  }

  /** Returns every problem; `message` has only the first ten. */
  full(): string {
    return this.problems.map((problem) => renderProblem(this.file, problem)).join("\n");
  }

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
  const texts = ["path", "message", "hint", "text"] as const;
  const hidden = texts.flatMap((key) => (problem[key] === undefined ? [] : [[key, masked(problem[key])] as const]));
  return { ...problem, ...Object.fromEntries(hidden) };
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

/** Returns the line with a caret under the column. A long line is cut to the part around the column. */
function excerpt(line: number, column: number, text: string): string {
  const from = column > MAX_LINE_SHOWN - 20 ? column - 40 : 0;
  // A control character becomes a blank: harmless on a terminal, and the caret keeps its column.
  const part = text.slice(from, from + MAX_LINE_SHOWN).replace(/\p{Cc}/gu, " ");
  const number = String(line).padStart(5);
  return `${number} | ${part}\n${" ".repeat(number.length)} | ${" ".repeat(column - 1 - from)}^`;
}
