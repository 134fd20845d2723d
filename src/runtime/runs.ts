import type { HttpClient, HttpRequest } from "../delivery/http/client.ts";
import type { Agent } from "./agent.ts";

/** An agent that was begun, and what ends it. */
export interface BegunAgent {
  readonly agent: Agent;
  readonly http: HttpClient;
  readonly stop: () => void;
}

/**
 * The agent, begun anew over what outlives it as often as somebody asks: the process, its store and its page go on. `control` is
 * always the one that runs. Rejects where the first doesn't begin.
 */
export async function agentRuns<T>(
  begin: (settled: T) => Promise<BegunAgent>,
  { first, again, signal }: { readonly first: T; readonly again: () => Promise<T>; readonly signal: AbortSignal },
) {
  let now = await begin(first);
  let asked: PromiseWithResolvers<undefined> | null = null;
  const control: Agent = { ...now.agent };
  const follow = async (): Promise<void> => {
    for (;;) {
      await now.agent.finished;
      const wanted = asked;
      if (wanted === null || signal.aborted) return;
      now = await begin(await again());
      Object.assign(control, now.agent);
      asked = null;
      wanted.resolve(undefined);
    }
  };
  return {
    control,
    http: { send: (request: HttpRequest) => now.http.send(request) },
    /** Resolves once the agent runs by what the files say now; rejects where it ends for good instead. */
    restart: async (): Promise<void> => {
      const wanted = (asked ??= Promise.withResolvers<undefined>());
      now.stop();
      await wanted.promise;
    },
    /** Until the agent ends for good, by the signal or by a fault that it rejects with; `beside` goes on as long. */
    run: async (beside: (signal: AbortSignal) => Promise<void>): Promise<void> => {
      const ending = new AbortController();
      const watching = beside(AbortSignal.any([signal, ending.signal]));
      try {
        await follow();
      } finally {
        ending.abort();
        asked?.reject(new Error("the agent has stopped"));
        now.stop();
        await watching;
      }
    },
  };
}
