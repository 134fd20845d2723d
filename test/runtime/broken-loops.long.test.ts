import { expect, it } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import type { AgentSetup } from "../../src/runtime/gateway.ts";
import { START } from "../support/active-site.ts";
import { breakableLoops, type BrokenLoop } from "../support/broken-loop.ts";
import { type AtEnd, memoryFolder, ofTest } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";

/** From the first error until the agent has ended, whatever is still pending. */
const ENDS_WITHIN_MS = 5_000;

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

/** An agent with every kind of loop. `failures` are those that it reports before it closes anything. */
async function runningAgent(loops: BrokenLoop, atEnd: AtEnd = ofTest) {
  const failures: (readonly [string | null, string])[] = [];
  const more: Partial<AgentSetup> = {
    outputs: () =>
      Promise.resolve({
        status: () => [],
        become: () => Promise.resolve(),
        run: (signal) => [untilAborted(signal)],
      }),
    notices: () =>
      Promise.resolve({
        status: () => [],
        test: () => Promise.resolve([]),
        run: (signal) => [untilAborted(signal)],
      }),
    outOfService: () => undefined,
    watch: {
      runLoop: loops.runLoop,
      failed: (error, loop) => failures.push([loop, error.message]),
    },
  };
  const site: VirtualSite = virtualSite({
    folder: memoryFolder(atEnd),
    scenario: "busy-day",
    start: START,
    given: (parts) => ({ ...parts, ...more }),
  });
  atEnd(() => site.close());
  const agent = await site.start();
  await site.clock.run(1_000);
  return { site, agent, failures };
}

/** Whether and how the agent has ended, after some virtual time. */
async function endWithin({ site, agent }: { site: VirtualSite; agent: Agent }, within_ms: number): Promise<string> {
  let end = "it still runs";
  agent.finished.then(
    () => (end = "it ended in order"),
    (error: unknown) => (end = String(error)),
  );
  await site.clock.run(within_ms);
  return end;
}

/** Every loop of an agent: a new loop is tested without a change here. */
async function everyLoop(): Promise<readonly string[]> {
  const undo: (() => unknown)[] = [];
  const loops = breakableLoops();
  await runningAgent(loops, (act) => void undo.push(act));
  const names = loops.names();
  for (const act of undo.reverse()) await act();
  return names;
}

const LOOPS = await everyLoop();

it("runs a loop for polling, committing, delivery, outputs, notices, and for what looks after the whole agent", () => {
  expect(LOOPS.map((name) => name.replace(/ of .*$/, ""))).toEqual(
    expect.arrayContaining([
      "polls",
      "committer",
      "session",
      "provisioning",
      "outputs",
      "notices",
      "clock",
      "watchdog",
    ]),
  );
});

it.each(LOOPS)("ends within 5 s after an error in the loop %s, even if every other loop hangs", async (name) => {
  const loops = breakableLoops({ hang: true });
  const running = await runningAgent(loops);
  loops.breakLoop(name, new Error("a bug"));
  expect(await endWithin(running, ENDS_WITHIN_MS)).toBe("Error: a bug");
  expect(running.failures).toEqual([[name, "a bug"]]);
});

it("ends within 5 s after a loop ended without an error, and ends every other loop", async () => {
  const loops = breakableLoops();
  const running = await runningAgent(loops);
  loops.endLoop("clock");
  expect(await endWithin(running, ENDS_WITHIN_MS)).toMatch(/ended although nothing told it to end/);
  expect(loops.names()).toEqual([]);
});
