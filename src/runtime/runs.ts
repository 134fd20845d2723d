import type { HttpClient, HttpRequest } from "../delivery/http/client.ts";
import type { Agent } from "./agent.ts";

/** An agent that was begun, and what ends it. */
export interface BegunAgent<T> {
  readonly agent: Agent;
  readonly http: HttpClient;
  /** Goes over to other settings as it runs. */
  readonly become: (next: T) => Promise<void>;
  readonly stop: () => void;
}

/**
 * The agent, begun anew over what outlives it as often as somebody asks: the process, its store and its page go on. `control` is
 * always the one that runs. Rejects where the first doesn't begin.
 */
export async function agentRuns<T>(
  begin: (settled: T) => Promise<BegunAgent<T>>,
  { first, signal }: { readonly first: T; readonly signal: AbortSignal },
) {
  let now = await begin(first);
  let asked: (PromiseWithResolvers<undefined> & { readonly next: T }) | null = null;
  const control: Agent = { ...now.agent };
  const follow = async (): Promise<void> => {
    for (;;) {
      await now.agent.finished;
      const wanted = asked;
      if (wanted === null || signal.aborted) return;
      now = await begin(wanted.next);
      Object.assign(control, now.agent);
      asked = null;
      wanted.resolve(undefined);
    }
  };
  return {
    control,
    http: { send: (request: HttpRequest) => now.http.send(request) },
    /** As it runs, without an end. */
    become: (next: T): Promise<void> => now.become(next),
    /** One at a time. Resolves once another agent runs by these settings; rejects where it ends for good instead. */
    restart: async (next: T): Promise<void> => {
      const wanted = (asked = { ...Promise.withResolvers<undefined>(), next });
      now.stop();
      await wanted.promise;
    },
    /** Runs until the agent ends for good: by the signal, or by a fatal error, with which it rejects. */
    run: async (): Promise<void> => {
      try {
        await follow();
      } finally {
        asked?.reject(new Error("the agent has stopped"));
        now.stop();
      }
    },
  };
}
