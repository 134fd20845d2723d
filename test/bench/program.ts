import { spawn } from "node:child_process";
import { once } from "node:events";

/** Returns the last message of a program; rejects with the reason if it sent none. */
export type Outcome =
  { readonly kind: "done"; readonly message: unknown } | { readonly kind: "failed"; readonly why: string };

/**
 * Runs a program of Node until it has sent a message and ended. A program that takes longer than the limit, fails or sends nothing is a
 * failure. Afterwards nothing that it started still runs: it has a process group of its own, which is killed.
 */
export async function outcomeOf(args: readonly string[], limit_ms: number, env: NodeJS.ProcessEnv): Promise<Outcome> {
  const child = spawn(process.execPath, args, { detached: true, env, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  let message: unknown;
  const limit = { isPassed: false };
  child.on("message", (sent) => (message = sent));
  const endGroup = (): void => {
    try {
      process.kill(-(child.pid ?? 0), "SIGKILL");
    } catch {
      // nothing is left of it
    }
  };
  const stop = (): void => {
    endGroup();
    process.exit(130);
  };
  process.once("SIGINT", stop);
  const timer = setTimeout(() => {
    limit.isPassed = true;
    endGroup();
  }, limit_ms);
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  clearTimeout(timer);
  process.off("SIGINT", stop);
  endGroup();
  if (limit.isPassed) return { kind: "failed", why: `no result within ${limit_ms / 1_000} s` };
  if (code !== 0) return { kind: "failed", why: `ended with ${code ?? signal ?? "nothing"}` };
  return message === undefined ? { kind: "failed", why: "ended without a result" } : { kind: "done", message };
}
