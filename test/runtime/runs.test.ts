import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { type LoadedConfig, loadUsableOrLastGood } from "../../src/config/usable.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { agentRuns, type RunningAgent } from "../../src/runtime/runs.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";

const UNREAD = { label: "", unit: "", group: "", value: null, quality: null, reason: "", age_ms: null };

/** Runs of agents that are named after their commit interval; an agent with the interval 9,000 cannot begin. */
async function runsOf(signal: AbortSignal) {
  const folder = temporaryFolder();
  const file = join(folder, "gateway.yaml");
  const write = (commit_interval_ms: number): void =>
    writeFileSync(file, stringify({ data_dir: join(folder, "data"), commit_interval_ms, booths: [] }));
  const events: string[] = [];
  const nameOf = ({ usable }: LoadedConfig): string => usable.config.commit_interval_ms.toString();
  const begin = (next: LoadedConfig): Promise<RunningAgent> => {
    const name = nameOf(next);
    if (name === "9000") return Promise.reject(new Error("it can't begin"));
    events.push(name);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const agent = { finished: promise, readings: () => [{ ...UNREAD, tag: name }] } as Partial<Agent> as Agent;
    const http = { send: () => Promise.reject(new Error(name)), close: () => undefined };
    const become = (other: LoadedConfig): Promise<void> =>
      Promise.resolve(void events.push(`${name} becomes ${nameOf(other)}`));
    return Promise.resolve({ agent, http, become, stop: () => resolve(undefined) });
  };
  write(1_000);
  const runs = await agentRuns({
    file,
    environment: {},
    log: silentLog,
    first: loadUsableOrLastGood(file, {}),
    signal,
    begin,
  });
  const reload = (commit_interval_ms: number) => {
    write(commit_interval_ms);
    return runs.reload();
  };
  return { runs, events, reload, name: () => runs.control.readings("booth-1")[0]?.tag };
}

it("reload restarts the agent only after a changed agent setting, and rejects after a stop", async () => {
  const stopping = new AbortController();
  const { runs, events, reload, name } = await runsOf(stopping.signal);
  const over = runs.run();
  expect(name()).toBe("1000");
  expect(await reload(2_000)).toMatchObject({ agent: ["commit_interval_ms"] });
  expect(name()).toBe("2000");
  await reload(2_000);
  await expect(runs.http.send({ method: "GET", path: "/", key: "" })).rejects.toThrow("2000");
  stopping.abort();
  await expect(reload(3_000)).rejects.toThrow("the agent has stopped");
  await over;
  expect(events).toEqual(["1000", "2000", "2000 becomes 2000"]);
});

it("reload rejects, and the run fails, if the next agent can't start", async () => {
  const { runs, reload } = await runsOf(new AbortController().signal);
  const over = runs.run();
  await Promise.all([
    expect(over).rejects.toThrow("it can't begin"),
    expect(reload(9_000)).rejects.toThrow("the agent has stopped"),
  ]);
});
