import { expect, it } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { agentRuns, type BegunAgent } from "../../src/runtime/runs.ts";

/** Agents that do nothing but begin, answer their number, and end when they are stopped. */
function agents() {
  const begun: string[] = [];
  const became: string[] = [];
  const begin = (name: string): Promise<BegunAgent<string>> => {
    if (name === "broken") return Promise.reject(new Error("it can't begin"));
    begun.push(name);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    // Of an agent nothing else is asked here.
    const agent = { finished: promise, readings: () => [{ tag: name }] } as unknown as Agent;
    const http = { send: () => Promise.reject(new Error(name)), close: () => undefined };
    const become = (next: string): Promise<void> => {
      became.push(`${name} becomes ${next}`);
      return Promise.resolve();
    };
    return Promise.resolve({ agent, http, become, stop: () => resolve(undefined) });
  };
  return { begun, became, begin };
}

const nameOf = (control: Agent): string | undefined => control.readings("booth-1")[0]?.tag;

it("begins anew as often as asked, under the same control, until the signal; what it can become it becomes as it runs", async () => {
  const { begun, became, begin } = agents();
  const stopping = new AbortController();
  const runs = await agentRuns(begin, { first: "first", signal: stopping.signal });
  const over = runs.run();
  expect(nameOf(runs.control)).toBe("first");
  await runs.restart("second");
  expect(nameOf(runs.control)).toBe("second");
  await runs.become("other");
  await runs.restart("third");
  expect(nameOf(runs.control)).toBe("third");
  await expect(runs.http.send({ method: "GET", path: "/", key: "" })).rejects.toThrow("third");
  stopping.abort();
  const late = runs.restart("late");
  await expect(late).rejects.toThrow("the agent has stopped");
  await over;
  expect(begun).toEqual(["first", "second", "third"]);
  expect(became).toEqual(["second becomes other"]);
});

it("ends with the fault of one that can't begin, and so does who asked for it", async () => {
  const { begin } = agents();
  const runs = await agentRuns(begin, {
    first: "first",
    signal: new AbortController().signal,
  });
  const over = runs.run();
  const asked = runs.restart("broken");
  await Promise.all([
    expect(over).rejects.toThrow("it can't begin"),
    expect(asked).rejects.toThrow("the agent has stopped"),
  ]);
});
