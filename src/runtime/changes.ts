import { Refusal } from "../api/operation.ts";
import { ConfigError } from "../config/config-error.ts";
import { type Differences, differencesOf, type Reloaded } from "../config/differences.ts";
import { type Lasting, loadLasting, soundIn, verdictOn } from "../config/usable.ts";
import type { Logger } from "../domain/machine.ts";
import type { AgentStatus } from "../domain/status.ts";

/** Changes of the configuration while the agent runs: from its file, and from what is set up on the spot. */

interface Changing {
  readonly file: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  /** By which the process was started. */
  readonly first: Lasting;
  readonly runs: {
    readonly become: (next: Lasting) => Promise<void>;
    readonly restart: (next: Lasting) => Promise<void>;
  };
}

/** How the file is in use. */
export type FileInUse = Pick<AgentStatus, "config_refused" | "needs_restart">;

export function createChanges({ file, environment, log, first, runs }: Changing) {
  let now = first;
  /** Why the file as it was when somebody asked last isn't in use; null: it is. */
  let refused = first.refused?.message ?? null;
  let last: Promise<unknown> = Promise.resolve();
  /** One after the other, whoever comes. */
  const ordered = <T>(act: () => Promise<T>): Promise<T> => {
    const done = last.then(act, act);
    last = done.catch(() => undefined);
    return done;
  };
  const becomes = async (next: Lasting): Promise<Differences> => {
    const differences = differencesOf(now.usable, next.usable);
    await (differences.agent.length > 0 ? runs.restart(next) : runs.become(next));
    now = next;
    return differences;
  };
  const inUse = (): FileInUse => ({
    config_refused: refused,
    needs_restart: differencesOf(first.usable, now.usable).service,
  });
  return {
    inUse,
    /** What was set up on the spot is in force once it resolves, and nothing that somebody has written into the file meanwhile. */
    setUp: (): Promise<void> =>
      ordered(async () => {
        await becomes({ ...now, usable: soundIn(now.text, file) });
      }),
    /** The file is in force as it is now; or, where anything in it is wrong, none of it is: then it rejects with a Refusal. */
    reload: (): Promise<Reloaded> =>
      ordered(async () => {
        const next = wholeIn(file, environment);
        if (next instanceof ConfigError) {
          refused = next.message;
          log.error({ event: "reload_refused", reason: refused }, `${refused}: the agent goes on as it was`);
          throw new Refusal(409, `nothing is changed, and the agent goes on as it was:\n${refused}`);
        }
        const { booths, outputs, notices, agent } = await becomes(next);
        refused = null;
        const reloaded = { booths, outputs, notices, agent, needs_restart: inUse().needs_restart };
        log.info({ event: "reloaded", ...reloaded }, `the configuration of ${file} is in force`);
        return reloaded;
      }),
  };
}

/** Where nothing in the file is wrong. What a start lets cost a booth or an output alone is refused here: what runs is better than what is left of it. */
function wholeIn(file: string, environment: Changing["environment"]): Lasting | ConfigError {
  try {
    const lasting = loadLasting(file, environment);
    return lasting.refused ?? verdictOn(lasting.usable) ?? lasting;
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}
