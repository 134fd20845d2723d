import { setTimeout as delay } from "node:timers/promises";
import { CommandError, type Io } from "../tools/command.ts";
import { lasting } from "../tools/texts.ts";
import { monotonicMs } from "../monotonic.ts";

/** How often a command that follows something looks at it. */
export const LOOK_EVERY_MS = 250;
const WORK_EVERY_MS = 500;
/** Whoever waits longer in front of the screen is told that they needn't. */
const PATIENCE_MS = 120_000;

/** Tells a step that is new, with the time until it: by its name, or in more words. */
type Tell = (step: string, text?: string) => void;

interface Following {
  readonly io: Io;
  /** Steps are told to nobody. */
  readonly quiet: boolean;
  /** What it still is or does after two minutes; absent: the last step. */
  readonly still?: string;
}

/** Looks until there is something to end with. Rejects with a CommandError where that takes longer than people wait. */
export async function follow<T>({ io, quiet, still }: Following, look: (tell: Tell) => Promise<T | null>): Promise<T> {
  const started = monotonicMs();
  let shown = "";
  const tell: Tell = (step, text = step) => {
    if (step !== shown && !quiet) io.out(`  ${lasting(monotonicMs() - started).padStart(8)}  ${text}\n`);
    shown = step;
  };
  for (;;) {
    const found = await look(tell);
    if (found !== null) return found;
    if (monotonicMs() - started > PATIENCE_MS) {
      throw new CommandError(`still ${still ?? shown}; it goes on by itself, "booth-gateway status" shows how`);
    }
    await delay(LOOK_EVERY_MS, undefined, { signal: io.signal });
  }
}

type Running<T> = Extract<T, { readonly kind: "running" }>;

/** Work that the agent has begun, looked at again until it ends. */
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
