import { mapWords, message, type Text } from "../domain/message.ts";
import { MessageError } from "../domain/messages/message-error.ts";
import { render } from "../domain/messages/render.ts";
import { masked } from "./mask.ts";

/** A fault of a configuration or profile file. Line and column count from 1; 0 means the whole file. */
export interface Problem {
  readonly line: number;
  readonly column: number;
  /** The path in the data, such as tags[3].role; "" means the whole file. */
  readonly path: string;
  /** The file, if it differs from the error's file: the set-up's file, which the operator's file overrides. */
  readonly file?: string;
  readonly message: Text;
  /** Advice to correct the fault, if known. */
  readonly hint?: Text | undefined;
  /** The text of the line; absent if the fault concerns the whole file. */
  readonly text?: string;
}

const MAX_SHOWN = 10;
const MAX_LINE_SHOWN = 140;

/**
 * The error of a profile or configuration that can't be used.
 *
 * Parsers and checks collect every problem of a file and throw a single error, so that a person can correct the file in one pass. `text` is
 * one line for the log, the status and the page. `message` is the whole English explanation for a terminal: several lines, with an excerpt
 * and a caret per problem, at most ten problems. `full()` lists every problem. The other fields describe the first problem, for programs.
 * The constructor masks possible secrets in texts that quote the file (`mask.ts`). The error can therefore be logged, shown on the page and
 * put into a support bundle.
 */
export class ConfigError extends MessageError {
  override readonly name = "ConfigError";
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly hint: Text | undefined;
  readonly problems: readonly Problem[];

  /** Returns one line: the first problem with its place, and the number of further problems. */
  brief(): Text {
    return this.text;
  }

  /** Returns every problem, while `message` has only the first ten. */
  full(): string {
    return this.problems.map((problem) => renderProblem(this.file, problem)).join("\n");
  }

  constructor(file: string, given: readonly Problem[], cause?: unknown) {
    const problems = given.map(withoutSecrets);
    super(briefOf(file, problems), cause);
    this.message = explanation(file, problems);
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
  const hidden = texts.flatMap((key) =>
    problem[key] === undefined ? [] : [[key, mapWords(problem[key], masked)] as const],
  );
  return { ...problem, ...Object.fromEntries(hidden) };
}

function briefOf(file: string, [first, ...rest]: readonly Problem[]): Text {
  if (first === undefined) return file;
  const text = headline(file, first);
  return rest.length === 0 ? text : message("config.and_more", { text, count: rest.length });
}

function explanation(file: string, problems: readonly Problem[]): string {
  const shown = problems.slice(0, MAX_SHOWN).map((problem) => renderProblem(file, problem));
  const rest = problems.length - shown.length;
  return [...shown, ...(rest > 0 ? [`... and ${rest} more`] : [])].join("\n");
}

function renderProblem(file: string, problem: Problem): string {
  const head = render(headline(file, problem));
  return problem.text === undefined ? head : `${head}\n${excerpt(problem.line, problem.column, problem.text)}`;
}

function headline(file: string, { file: own = file, line, column, path, message: fault, hint }: Problem): Text {
  const place = line === 0 ? own : `${own}:${line}:${column}`;
  const explained = hint === undefined ? fault : message("text.hint", { text: fault, hint });
  const text = path === "" ? explained : message("text.at", { place: path, text: explained });
  return message("text.at", { place, text });
}

/** Returns the line of a problem with a caret under the column. A long line is cut to the part around the column. */
function excerpt(line: number, column: number, text: string): string {
  const from = column > MAX_LINE_SHOWN - 20 ? column - 40 : 0;
  // Replaces a control character with a blank, which is harmless on a terminal and keeps the caret's column.
  const part = text.slice(from, from + MAX_LINE_SHOWN).replace(/\p{Cc}/gu, " ");
  const number = String(line).padStart(5);
  return `${number} | ${part}\n${" ".repeat(number.length)} | ${" ".repeat(column - 1 - from)}^`;
}
