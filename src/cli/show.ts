import { setTimeout as delay } from "node:timers/promises";
import { CommandError, EXIT, type Io, type Values } from "./command.ts";
import { print } from "./print.ts";

const REDRAW_MS = 1000;
/** Cursor home, and everything below it away. */
const CLEAR = "\u001b[H\u001b[J";

export interface Picture {
  /** For --json. */
  readonly answer: unknown;
  readonly text: string;
}

/**
 * Shows the picture once, or with --watch anew each second until the signal: in place on a terminal, as block after block where
 * there is none, as a line of JSON each with --json. An agent or a PLC that doesn't answer is told and asked again.
 */
export async function show(
  { values, io }: { readonly values: Values; readonly io: Io },
  look: () => Promise<Picture>,
): Promise<number> {
  if (values["watch"] !== true) {
    const { answer, text } = await look();
    print({ values, io }, answer, () => text);
    return EXIT.ok;
  }
  for (;;) {
    const { answer, text } = await look().catch(told);
    if (values["json"] === true) io.out(`${JSON.stringify(answer)}\n`);
    else io.out(io.isTerminal ? `${CLEAR}${text}\nCtrl-C ends it.\n` : `${text}\n`);
    await delay(REDRAW_MS, undefined, { signal: io.signal }).catch(() => io.signal.throwIfAborted());
  }
}

function told(error: unknown): Picture {
  if (error instanceof CommandError && error.exit === EXIT.unavailable) {
    return { answer: { error: error.message }, text: `${error.message}\n` };
  }
  throw error;
}
