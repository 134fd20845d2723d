import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { realSite, SERIAL } from "../support/real-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { withOutputs } from "./plant.ts";

/** Returns a module that the agent loads first; it writes the address of each later module to the file. */
function listener(file: string): string {
  const text = `
    import { appendFileSync } from "node:fs";
    import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(file)}, url + "\\n"); return next(url, context); } });`;
  return `data:text/javascript,${encodeURIComponent(text)}`;
}

/** Runs an agent until it delivers, and returns the addresses of its modules. */
async function loaded(outputs: readonly object[]): Promise<string> {
  const file = join(temporaryFolder(), "loaded");
  const site = await realSite({ speed: 60, serial: SERIAL, node: ["--import", listener(file)] });
  if (outputs.length > 0) withOutputs(site, outputs);
  const agent = site.startAgent();
  await eventually("something is acked", async () =>
    (await site.status())?.booths.find(({ log }) => log.acked_seq > 0),
  );
  agent.signal("SIGTERM");
  await agent.ended;
  return readFileSync(file, "utf8");
}

const OUTPUTS = /\/src\/outputs\/|protobufjs/;

test("the agent loads output modules only if an output is configured, and Sparkplug modules only for a Sparkplug output", async () => {
  const without = await loaded([]);
  expect(without).toContain("/src/delivery/session.ts");
  expect(without.split("\n").filter((url) => OUTPUTS.test(url))).toEqual([]);
  const plain = await loaded([{ name: "plant", url: "mqtt://127.0.0.1:9", mqtt: {} }]);
  expect(plain).toContain("/src/outputs/plain.ts");
  expect(plain).not.toMatch(/protobufjs|\/src\/outputs\/sparkplug/);
  const sparkplug = await loaded([{ name: "plant", url: "mqtt://127.0.0.1:9", sparkplug: { group_id: "plant" } }]);
  expect(sparkplug).toMatch(/protobufjs/);
});
