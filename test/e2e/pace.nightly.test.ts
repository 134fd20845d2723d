import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { askAgent } from "../../src/tools/agent-client.ts";
import { eventually } from "../support/eventually.ts";
import { MANY_PROCESSES_MS, SIMULATORS, startProgram } from "../support/processes.ts";
import { ofTest, temporaryFolder } from "../support/temporary.ts";

const HOGS = 4;
/** A program that uses a core fully. It ends by itself, even if the test fails. */
const HOG = "const end = performance.now() + 120_000; while (performance.now() < end);";
/** util-linux: one core for the whole site and the programs that compete with it. */
const ON_ONE_CORE = ["taskset", "-c", "0"];
/** Start of the story's first mode, in minutes of the day. */
const STORY_START_MINUTES = 7 * 60 + 59 + 50 / 60;

function startHogs(): void {
  for (let started = 0; started < HOGS; started += 1) {
    const words = [...ON_ONE_CORE.slice(1), process.execPath, "-e", HOG];
    const hog = spawn("taskset", words, { stdio: "ignore" });
    ofTest(() => void hog.kill("SIGKILL"));
  }
}

it(
  "the simulated site slows its time on an overloaded machine, reports this, and has no incident or gap",
  { timeout: MANY_PROCESSES_MS },
  async () => {
    const folder = join(temporaryFolder(), "site");
    const argv = ["site", "--data", folder, "--port", "0", "--speed", "300"];
    const site = startProgram(SIMULATORS, argv, { within: ON_ONE_CORE });
    await site.line(/acked/, MANY_PROCESSES_MS);
    startHogs();
    const said = await site.line(/this machine can't keep up/, MANY_PROCESSES_MS);
    expect(said).toMatch(/polls come \d+ ms late\. .* one second here is \d+ seconds there, not 300/);
    const ask = (path: string): Promise<unknown> =>
      askAgent(join(folder, "run", "agent.sock"), { method: "GET", path });
    const began = JSON.parse(readFileSync(join(folder, "run", "clock.json"), "utf8")) as { wall_origin_ms: number };
    await eventually(
      "six minutes of the story have passed under load",
      async () => {
        const { at } = (await ask("/status")) as { readonly at: number };
        return at > began.wall_origin_ms + 6 * 60_000 ? true : undefined;
      },
      MANY_PROCESSES_MS,
    );
    const { modes } = (await ask("/api/booths/booth-abcd-123-123/duration_by_mode")) as {
      readonly modes: readonly { readonly mode: string; readonly duration: number }[];
    };
    const unseen = modes.find(({ mode }) => mode === "No Data")?.duration ?? 0;
    // The time before the story, and the real seconds of the agent's start and first poll.
    expect(unseen - STORY_START_MINUTES).toBeLessThan(1);
    expect(site.lines.filter((line) => line.includes("incident"))).toEqual([]);
    expect(((await ask("/api/validation_incidents")) as { readonly total: number }).total).toBe(0);
  },
);
