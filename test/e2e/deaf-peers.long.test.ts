import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { deafPort } from "../support/deaf-port.ts";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, startProgram } from "../support/processes.ts";
import { askAgent, SOCKET_NAME } from "../../src/tools/agent-client.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { temporaryFolder } from "../support/temporary.ts";

it("the agent stops cleanly on SIGTERM while its PLC, its service and its outputs accept no connection", async () => {
  const folder = temporaryFolder();
  const data_dir = join(folder, "data");
  const runtime_dir = join(folder, "run");
  for (const path of [data_dir, runtime_dir]) mkdirSync(path, { mode: 0o700 });
  const at = async (way: string) => `${way}//127.0.0.1:${await deafPort()}`;
  writeFileSync(join(folder, "api-key"), "key\n", { mode: 0o600 });
  const config = {
    data_dir,
    runtime_dir,
    page: { port: 0, lan_port: 0 },
    service: { url: await at("http:"), api_key_file: join(folder, "api-key") },
    booths: [
      {
        id: "booth-1",
        serial: "ABCD-123-123",
        profile: "click-booth",
        modbus: { host: "127.0.0.1", port: await deafPort() },
      },
    ],
    outputs: [
      { name: "plant", url: await at("mqtt:"), mqtt: { payload: "json" } },
      { name: "web", url: await at("ws:"), mqtt: { payload: "json" } },
      { name: "collector", url: await at("http:"), otlp: { interval_ms: 10_000 } },
    ],
  };
  const file = join(folder, "gateway.yaml");
  writeFileSync(file, stringify(config));
  const agent = startProgram(GATEWAY, ["run", "--config", file]);
  await eventually("it looks its booth up", async () => {
    const status = (await askAgent(join(runtime_dir, SOCKET_NAME), { method: "GET", path: "/status" }).catch(
      () => null,
    )) as AgentStatus | null;
    return status?.booths[0]?.provisioning.state === "looking_up" || undefined;
  });
  agent.signal("SIGTERM");
  // If the stop hung, the agent would be killed by signal 9 instead.
  expect(await agent.ended).toBe(0);
});
