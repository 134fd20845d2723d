import { expect, it } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { agentRuns, type BegunAgent } from "../../src/runtime/runs.ts";

/** Agents that do nothing but begin, answer their number, and end when they are stopped. */
function agents() {
  const begun: string[] = [];
  const begin = (name: string): Promise<BegunAgent> => {
    if (name === "broken") return Promise.reject(new Error("it can't begin"));
    begun.push(name);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    // Of an agent nothing else is asked here.
    const agent = { finished: promise, readings: () => [{ tag: name }] } as unknown as Agent;
    const http = { send: () => Promise.reject(new Error(name)), close: () => undefined };
    return Promise.resolve({ agent, http, stop: () => resolve(undefined) });
  };
  return { begun, begin };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

const nameOf = (control: Agent): string | undefined => control.readings("booth-1")[0]?.tag;

it("begins anew by what is read then, as often as asked, under the same control, until the signal", async () => {
  const { begun, begin } = agents();
  const stopping = new AbortController();
  const names = ["second", "third"];
  const again = (): Promise<string> => Promise.resolve(names.shift() ?? "none left");
  const runs = await agentRuns(begin, { first: "first", again, signal: stopping.signal });
  const over = runs.run(untilAborted);
  expect(nameOf(runs.control)).toBe("first");
  await runs.restart();
  expect(nameOf(runs.control)).toBe("second");
  await Promise.all([runs.restart(), runs.restart()]);
  expect(nameOf(runs.control)).toBe("third");
  await expect(runs.http.send({ method: "GET", path: "/", key: "" })).rejects.toThrow("third");
  stopping.abort();
  const late = runs.restart();
  await expect(late).rejects.toThrow("the agent has stopped");
  await over;
  expect(begun).toEqual(["first", "second", "third"]);
});

it("ends with the fault of one that can't begin, and so does who asked for it", async () => {
  const { begin } = agents();
  const runs = await agentRuns(begin, {
    first: "first",
    again: () => Promise.resolve("broken"),
    signal: new AbortController().signal,
  });
  const over = runs.run(untilAborted);
  const asked = runs.restart();
  await Promise.all([
    expect(over).rejects.toThrow("it can't begin"),
    expect(asked).rejects.toThrow("the agent has stopped"),
  ]);
});
