import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { message } from "../../src/domain/message.ts";
import { serveSocket } from "../../src/api/server.ts";
import { activeSite, boothOf, MINUTE, type ActiveSite } from "../support/active-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { SERIAL } from "../support/virtual-service.ts";

const PATH = "/api/booths_provisioning";

interface Local extends ActiveSite {
  /** Status and body of the box's answer. */
  readonly ask: (method: string, path: string, body: unknown) => Promise<readonly [number, Record<string, unknown>]>;
}

/** The agent of an active site behind its real socket. */
async function localSite(): Promise<Local> {
  const here = await activeSite({ for_ms: 2 * MINUTE });
  const socketPath = join(temporaryFolder(), "agent.sock");
  const listener = await serveSocket(socketPath, { control: here.agent });
  onTestFinished(() => listener.close());
  const ask: Local["ask"] = async (method, path, body) => {
    const call = request({ socketPath, method, path, headers: { "content-type": "application/json" } });
    call.end(JSON.stringify(body));
    const [answer] = (await once(call, "response")) as [IncomingMessage];
    return [answer.statusCode ?? 0, JSON.parse((await answer.toArray()).join("")) as Record<string, unknown>];
  };
  return { ...here, ask };
}

it("entering the serial number of an active booth again returns 200, changes nothing, and does not stop delivery", async () => {
  const { site, agent, ask } = await localSite();
  const before = boothOf(agent);
  for (const typed of [SERIAL, ` ${SERIAL.toLowerCase()} `]) {
    const [status, record] = await ask("POST", PATH, { serial_number: typed });
    expect([status, record["completion_status"], record["status"]]).toEqual([200, "COMPLETE", "provisioned"]);
  }
  await site.clock.run(10 * MINUTE);
  const after = boothOf(agent);
  expect(after.provisioning).toEqual(before.provisioning);
  expect(after.log.acked_seq).toBeGreaterThan(before.log.newest_seq);
  expect(agent.status().service.kind).toBe("up");
});

it("entering a booth's serial number again while the booth is being released cancels the release, and delivery continues", async () => {
  const { site, agent, ask } = await localSite();
  site.service.way.down = true;
  expect((await ask("PUT", `${PATH}/${SERIAL}`, { status: "released" }))[0]).toBe(202);
  await site.clock.run(2 * MINUTE);
  expect((await ask("POST", PATH, { serial_number: SERIAL }))[0]).toBe(200);
  site.service.way.down = false;
  const { newest_seq } = boothOf(agent).log;
  await site.clock.run(10 * MINUTE);
  expect(boothOf(agent)).toMatchObject({ serial: SERIAL, provisioning: { state: "active" } });
  expect(boothOf(agent).log.acked_seq).toBeGreaterThan(newest_seq);
});

it("the link to the service is shown as down after the last booth is released", async () => {
  const { site, agent, ask } = await localSite();
  expect(agent.status().service.kind).toBe("up");
  await ask("PUT", `${PATH}/${SERIAL}`, { status: "released" });
  await site.clock.runUntil(() => boothOf(agent).provisioning.state === "released", 10 * MINUTE);
  site.service.way.down = true;
  await site.clock.run(2 * MINUTE);
  expect(agent.status().service).toMatchObject({ kind: "down", reason: message("service.no_booth") });
});

const PUTS: readonly { says: string; serial?: string; body: unknown; wanted: number }[] = [
  { says: "that it is complete, as it is", body: { completion_status: "COMPLETE" }, wanted: 200 },
  { says: "that it is in progress, which can't be undone so", body: { completion_status: "IN PROGRESS" }, wanted: 409 },
  {
    says: "that it is out of service for good, which is root's to say",
    body: { status: "decommissioned" },
    wanted: 403,
  },
  { says: "a status that nobody knows", body: { completion_status: "DONE" }, wanted: 400 },
  { says: "nothing", body: {}, wanted: 400 },
  { says: "something of an unknown number", serial: "WXYZ-9", body: { completion_status: "COMPLETE" }, wanted: 404 },
  { says: "nonsense of an unknown number", serial: "WXYZ-9", body: { nonsense: 1 }, wanted: 404 },
  { says: "something of what is no number", serial: "%20", body: { status: "released" }, wanted: 404 },
];

it("a PUT to the local provisioning API returns the documented status for each body, and the booth stays active", async () => {
  const { agent, ask } = await localSite();
  for (const { says, serial = SERIAL, body, wanted } of PUTS) {
    const [status, said] = await ask("PUT", `${PATH}/${serial}`, body);
    expect([says, status]).toEqual([says, wanted]);
    if (wanted >= 400) expect(Object.keys(said), says).toEqual(["error"]);
    expect(boothOf(agent).provisioning.state, says).toBe("active");
  }
});
