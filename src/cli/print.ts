import type { Io, Values } from "./command.ts";

/** The answer of a command: one JSON document with --json, else for people. */
export function print<T>(
  { values, io }: { readonly values: Values; readonly io: Io },
  answer: T,
  text: (answer: T) => string,
): void {
  io.out(values["json"] === true ? `${JSON.stringify(answer, null, 2)}\n` : text(answer));
}
