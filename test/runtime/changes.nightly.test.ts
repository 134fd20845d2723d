import { readdirSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { runningAgent } from "../api/box-http.ts";
import { heapWatch } from "../soak/heap.ts";
import { freshBox } from "../support/real-site.ts";
import { boothAt, onceBooth, settles, tries } from "./tried.ts";

describe("a trial", { timeout: 240_000 }, () => {
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
