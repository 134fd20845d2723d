import { Refusal } from "../api/operation.ts";
import { ConfigError } from "../config/config-error.ts";
import { type Differences, differencesOf, type Reloaded } from "../config/differences.ts";
import { type LoadedConfig, loadUsableOrLastGood, soundIn, verdictOn } from "../config/usable.ts";
import type { HttpClient, HttpRequest } from "../delivery/http/client.ts";
import type { Logger } from "../domain/machine.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { Agent } from "./agent.ts";
import { createQueue } from "./parts.ts";

/** A running agent, with functions to change and stop it. */
export interface RunningAgent {
  readonly agent: Agent;
  readonly http: HttpClient;
  /** Applies a configuration while the agent runs. */
  readonly become: (next: LoadedConfig) => Promise<void>;
  readonly stop: () => void;
}

/** Whether the configuration file is in use, as part of the status. */
type FileInUse = Pick<AgentStatus, "config_refused" | "needs_restart">;

interface RunsSetup {
  /** The operator's configuration file. */
  readonly file: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  /** The configuration with which the process starts. */
  readonly first: LoadedConfig;
  readonly signal: AbortSignal;
  readonly begin: (next: LoadedConfig, inUse: () => FileInUse) => Promise<RunningAgent>;
}

/**
 * Runs agents one after the other in one process, and applies changes of the configuration. A change of booths, outputs or notices is
 * applied to the running agent, and any other change restarts the agent. The process, its store and its page continue. `control` always
 * belongs to the present agent. Rejects if the first agent cannot start.
 */
export async function agentRuns({ file, environment, log, first, signal, begin }: RunsSetup) {
  let inForce = first;
  /** Reason why the file is not in use; null if it is. */
  let refused = first.refused?.message ?? null;
  let restart: (PromiseWithResolvers<undefined> & { readonly next: LoadedConfig }) | null = null;
  const inUse = (): FileInUse => ({
    config_refused: refused,
    needs_restart: differencesOf(first.usable, inForce.usable).service,
  });
  let running = await begin(first, inUse);
  const control: Agent = { ...running.agent };
  const queue = createQueue();
  const apply = async (next: LoadedConfig): Promise<Differences> => {
    const differences = differencesOf(inForce.usable, next.usable);
    if (differences.agent.length === 0) await running.become(next);
    else {
      restart = { ...Promise.withResolvers<undefined>(), next };
      running.stop();
      await restart.promise;
    }
    inForce = next;
    return differences;
  };
  const followRestarts = async (): Promise<void> => {
    for (;;) {
      await running.agent.finished;
      const wanted = restart;
      if (wanted === null || signal.aborted) return;
      running = await begin(wanted.next, inUse);
      Object.assign(control, running.agent);
      restart = null;
      wanted.resolve(undefined);
    }
  };
  return {
    control,
    http: { send: (request: HttpRequest) => running.http.send(request) },
    /** Applies the stored set-up. Changes of the file since it was last loaded are not applied. */
    setUp: (): Promise<void> =>
      queue(async () => void (await apply({ ...inForce, usable: soundIn(inForce.text, file) }))),
    /** Applies the present content of the file. If anything in it is wrong, changes nothing and rejects with a Refusal. */
    reload: (): Promise<Reloaded> =>
      queue(async () => {
        const next = soundFile(file, environment);
        if (next instanceof ConfigError) {
          refused = next.message;
          log.error({ event: "reload_refused", reason: refused }, `${refused}: the agent goes on as it was`);
          throw new Refusal(409, `nothing is changed, and the agent goes on as it was:\n${refused}`);
        }
        const { booths, outputs, notices, agent } = await apply(next);
        refused = null;
        const reloaded = { booths, outputs, notices, agent, needs_restart: inUse().needs_restart };
        log.info({ event: "reloaded", ...reloaded }, `the configuration of ${file} is in force`);
        return reloaded;
      }),
    /** Runs agents until the signal aborts. Rejects with the fatal error that ended an agent. */
    run: async (): Promise<void> => {
      try {
        await followRestarts();
      } finally {
        restart?.reject(new Error("the agent has stopped"));
        running.stop();
      }
    },
  };
}

/**
 * Loads the file, or returns its first error. At a start, some mistakes disable only a booth or an output. Here they are errors, because it
 * is better to keep the present configuration.
 */
function soundFile(file: string, environment: RunsSetup["environment"]): LoadedConfig | ConfigError {
  try {
    const next = loadUsableOrLastGood(file, environment);
    return next.refused ?? verdictOn(next.usable) ?? next;
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}
