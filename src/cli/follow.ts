import { setTimeout as delay } from "node:timers/promises";
import { CommandError, type Io } from "../tools/command.ts";
import { durationText } from "../tools/texts.ts";
import { monotonicMs } from "../monotonic.ts";

/** The interval at which a command asks the agent for the state. */
export const LOOK_EVERY_MS = 250;
const WORK_EVERY_MS = 500;
/** The longest time that a command waits. Afterwards the command ends, and the agent continues the work. */
const PATIENCE_MS = 120_000;

/** Shows a new step with the time until it began. `text` replaces the step's name. */
type Tell = (step: string, text?: string) => void;

interface Following {
  readonly io: Io;
  /** True if steps are not shown. */
  readonly quiet: boolean;
  /** The state that the error names after two minutes; default: the last step. */
  readonly still?: string;
}

/** Calls `check` until it returns a result. Rejects with a CommandError after two minutes. */
export async function follow<T>({ io, quiet, still }: Following, check: (tell: Tell) => Promise<T | null>): Promise<T> {
  const started = monotonicMs();
  let shown = "";
  const tell: Tell = (step, text = step) => {
    if (step !== shown && !quiet) io.out(`  ${durationText(monotonicMs() - started).padStart(8)}  ${text}\n`);
    shown = step;
  };
  for (;;) {
    const found = await check(tell);
    if (found !== null) return found;
    if (monotonicMs() - started > PATIENCE_MS) {
      throw new CommandError(`still ${still ?? shown}; the agent continues; "booth-gateway status" shows the progress`);
    }
    await delay(LOOK_EVERY_MS, undefined, { signal: io.signal });
  }
}

type Running<T> = Extract<T, { readonly kind: "running" }>;

/** Waits until the agent's work ends, and shows its progress. */
export async function followWork<T extends { readonly kind: string }>(
  begun: T,
  io: Io,
  { text, again }: { text: (now: Running<T>) => string; again: (now: Running<T>) => Promise<T> },
): Promise<Exclude<T, { readonly kind: "running" }>> {
  let now = begun;
  while (isRunning(now)) {
    io.progress(text(now));
    await delay(WORK_EVERY_MS, undefined, { signal: io.signal });
    now = await again(now);
  }
  io.progress("");
  return now as Exclude<T, { readonly kind: "running" }>;
}

function isRunning<T extends { readonly kind: string }>(now: T): now is Running<T> {
  return now.kind === "running";
}
