import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { startProgram } from "../support/processes.ts";
import { realSite } from "../support/real-site.ts";

const PROGRAM = fileURLToPath(new URL("../support/watched-agent.ts", import.meta.url));

it("the agent exits with code 1 after an unexpected error in a loop, even if other loops, the store and a connection hang", async () => {
  const site = await realSite({ speed: 20, serial: "ABCD-123-123" });
  const env = { BREAK_LOOP: "count of the traffic", HELD_PORT: site.plc.port.toString() };
  const agent = startProgram(PROGRAM, ["run", "--config", site.configFile], { env });
  await agent.line(/is running/);
  agent.signal("SIGUSR2");
  expect(await agent.ended).toBe(1);
  const events = agent.lines.flatMap((line) => /"event":"(fatal|failure_cut)"/.exec(line)?.[1] ?? []);
  expect(events).toEqual(["fatal", "failure_cut"]);
});
