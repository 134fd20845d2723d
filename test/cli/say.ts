import { render } from "../../src/domain/messages/render.ts";
import type { Io, Run } from "../../src/tools/command.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import { PROGRAM } from "../../src/runtime/commands.ts";
import { alignedText } from "../../src/tools/print.ts";

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Input and output of a command without a terminal, which shows nothing and answers no question. */
export function quietIo(io: Partial<Io> = {}): Io {
  return {
    out: () => undefined,
    err: () => undefined,
    table: () => undefined,
    isTerminal: false,
    colors: false,
    progress: () => undefined,
    ask: () => Promise.resolve(null),
    environment: {},
    signal: new AbortController().signal,
    ...io,
  };
}

/** Runs the command line in the test's own thread; `runs` replaces the functions of commands. */
export async function say(
  argv: readonly string[],
  { runs = {}, io = {} }: { readonly runs?: Readonly<Record<string, Run>>; readonly io?: Partial<Io> } = {},
): Promise<Said> {
  let out = "";
  let err = "";
  const whole = quietIo({
    out: (text) => void (out += render(text)),
    err: (text) => void (err += render(text)),
    table: (rows) => void (out += alignedText(rows)),
    ...io,
  });
  const runOf = (name: string): Promise<Run> => {
    const run = runs[name];
    return run === undefined ? PROGRAM.runOf(name) : Promise.resolve(run);
  };
  return { code: await dispatch({ ...PROGRAM, version: "0", runOf }, argv, whole), out, err };
}
