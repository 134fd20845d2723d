import { readdirSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { readSetUp } from "../../src/config/set-up.ts";
import { runningAgent } from "../api/box-http.ts";
import { heapWatch } from "../soak/heap.ts";
import { eventually } from "../support/eventually.ts";
import { freshBox } from "../support/real-site.ts";
import { boothAt, NOBODY, onceBooth, settles, tries } from "./tried.ts";

describe("a trial", { timeout: 240_000 }, () => {
  it("comes back to the value before after a kill -9 at each step of a trial, and stays after the last", async () => {
    const site = await freshBox(1);
    let agent = await runningAgent(site);
    const first = boothAt(site.plc.port, { id: "booth-1" });
    await tries(site, first);
    await onceBooth(site, "booth-1")("the first is read", ({ plc }) => plc.kind === "up");
    await eventually("it is kept", () => (readSetUp(site.dataDir).trial === null ? true : undefined));
    const wrong = { id: "booth-1", modbus: { host: "127.0.0.1", port: NOBODY } };
    const written = (wanted: (set_up: ReturnType<typeof readSetUp>) => boolean): Promise<true> =>
      eventually("it is written", () => (wanted(readSetUp(site.dataDir)) ? true : undefined));
    const unheard = (asking: Promise<unknown>): void => void asking.catch(() => undefined);
    const steps: readonly (readonly [string, () => Promise<unknown>])[] = [
      [
        "it is written, and perhaps in force",
        () => (unheard(tries(site, wrong)), written(({ trial }) => trial !== null)),
      ],
      ["it is in force", () => tries(site, wrong)],
      [
        "what was before is written again",
        async () => {
          await tries(site, wrong);
          unheard(settles(site, false));
          return written(({ trial, taken_back }) => trial === null && taken_back !== null);
        },
      ],
      ["what was before is in force again", async () => (await tries(site, wrong), settles(site, false))],
    ];
    for (const [step, reach] of steps) {
      await reach();
      agent.signal("SIGKILL");
      await agent.ended;
      agent = await runningAgent(site);
      const { booths, trial, taken_back } = readSetUp(site.dataDir);
      expect({ step, booths, trial, back: taken_back?.booth }).toEqual({
        step,
        booths: [first],
        trial: null,
        back: "booth-1",
      });
      await onceBooth(site, "booth-1")(`it is read again: ${step}`, ({ plc }) => plc.kind === "up");
    }
    await tries(site, wrong);
    await settles(site, true);
    agent.signal("SIGKILL");
    await agent.ended;
    await runningAgent(site);
    expect(readSetUp(site.dataDir)).toMatchObject({ booths: [{ modbus: { port: NOBODY } }], trial: null });
  });

  it("leaves nothing behind after 200 trials: no socket, no file, no memory", async () => {
    const site = await freshBox(1, { node: ["--inspect=127.0.0.1:0"] });
    const agent = await runningAgent(site);
    const heap = await heapWatch(await agent.line(/Debugger listening/));
    onTestFinished(() => heap.close());
    const zones = ["America/Denver", "Europe/Madrid"];
    const trial = async (round: number): Promise<void> => {
      await tries(site, boothAt(site.plc.port, { tz: zones[round % 2] }));
      await settles(site, round % 3 > 0);
    };
    const handles = (): number => readdirSync(`/proc/${agent.pid}/fd`).length;
    // Code is compiled and caches are filled by then.
    for (let round = 0; round < 40; round++) await trial(round);
    const before = { live: await heap.live(), handles: handles() };
    for (let round = 0; round < 200; round++) await trial(round);
    await onceBooth(site, "booth-2")("it is read", ({ plc }) => plc.kind === "up");
    const after = { live: await heap.live(), handles: handles() };
    process.stdout.write(`${JSON.stringify({ before, after })}\n`);
    expect(after.handles - before.handles).toBeLessThanOrEqual(2);
    // A booth with its profile and parameters is some 100 kB: 200 of them would be 20 MB.
    expect(after.live - before.live).toBeLessThan(3);
  });
});
