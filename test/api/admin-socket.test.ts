import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { serveAdminSocket, serveSocket } from "../../src/api/server.ts";
import { ADMIN_SOCKET_NAME, askAgent, SOCKET_NAME, type AgentCall } from "../../src/tools/agent-client.ts";
import { activeSite, boothOf, MINUTE, type ActiveSite } from "../support/active-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { SERIAL } from "../support/virtual-service.ts";

interface Sockets extends ActiveSite {
  readonly socket: string;
}

/** Serves the agent of an active site by its sockets. Without root's socket, callers are like users who can't open it. */
async function sockets({ admin: withAdmin }: { readonly admin: boolean }): Promise<Sockets> {
  const here = await activeSite({ for_ms: 2 * MINUTE });
  const dir = temporaryFolder();
  const socket = join(dir, SOCKET_NAME);
  const admin = join(dir, ADMIN_SOCKET_NAME);
  const listeners = [await serveSocket(socket, { control: here.agent })];
  if (withAdmin) listeners.push(await serveAdminSocket(admin, { control: here.agent }));
  onTestFinished(() => {
    for (const listener of listeners) listener.close();
  });
  return { ...here, socket };
}

const DECOMMISSION: AgentCall = { method: "POST", path: "/release", body: { to: "decommissioned" } };
const NEW_KEY: AgentCall = {
  method: "POST",
  path: "/api/booths_provisioning",
  body: { serial_number: SERIAL, api_key: "another-key" },
};

it("the agent's socket has mode 660, and root's socket has mode 600 and is deleted with its folder when it closes", async () => {
  const { agent, socket } = await sockets({ admin: false });
  const admin = join(temporaryFolder(), ADMIN_SOCKET_NAME);
  const listener = await serveAdminSocket(admin, { control: agent });
  const modes = [socket, admin, dirname(admin)].map((path) => (statSync(path).mode & 0o777).toString(8));
  expect(modes).toEqual(["660", "600", "700"]);
  listener.close();
  expect(existsSync(dirname(admin))).toBe(false);
});

it("the group's socket rejects root-only operations with exit code 77, and changes nothing", async () => {
  const { site, agent, socket } = await sockets({ admin: false });
  for (const [call, said] of [
    [DECOMMISSION, "Only root can decommission a booth"],
    [NEW_KEY, "Only root can change the key of a bound booth"],
  ] as const) {
    await expect(askAgent(socket, call)).rejects.toMatchObject({
      exit: 77,
      message: expect.stringContaining(said) as string,
    });
    await expect(askAgent(socket, call)).rejects.toThrow('run "sudo booth-gateway');
  }
  await site.clock.run(5 * MINUTE);
  expect(boothOf(agent)).toMatchObject({ serial: SERIAL, provisioning: { state: "active" } });
});

it("root's socket accepts a new key and decommissions a booth", async () => {
  const { site, agent, socket } = await sockets({ admin: true });
  await askAgent(socket, NEW_KEY);
  expect(await askAgent(socket, DECOMMISSION)).toEqual({ booth: "booth-1" });
  await site.clock.runUntil(() => boothOf(agent).provisioning.state === "decommissioned", 10 * MINUTE);
});

it("the group's socket accepts the release of a booth and the first key of an unbound booth", async () => {
  const { site, agent, socket } = await sockets({ admin: false });
  await askAgent(socket, { method: "POST", path: "/release", body: {} });
  await site.clock.runUntil(() => boothOf(agent).provisioning.state === "released", 10 * MINUTE);
  await askAgent(socket, NEW_KEY);
  expect(boothOf(agent).serial).toBe(SERIAL);
});
