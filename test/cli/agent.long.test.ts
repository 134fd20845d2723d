import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentStatus, BoothStatus } from "../../src/domain/status.ts";
import { eventually } from "../support/eventually.ts";
import type { BacklogAnswer } from "../../src/cli/backlog.ts";
import { GATEWAY, MANY_PROCESSES_MS, runProgram, startProgram } from "../support/processes.ts";
import { PROVISION_KEY, realSite, SERIAL, type RealSite } from "../support/real-site.ts";

const SPEED = 60;

const command = (site: RealSite, ...argv: readonly string[]) =>
  runProgram(GATEWAY, [...argv, "--config", site.configFile]);

function untilBooth(site: RealSite, what: string, condition: (booth: BoothStatus) => boolean): Promise<BoothStatus> {
  return eventually(what, async () => {
    const booth = (await site.status())?.booths[0];
    return booth !== undefined && condition(booth) ? booth : undefined;
  });
}

const polling = (site: RealSite): Promise<BoothStatus> =>
  untilBooth(site, "the agent reads the PLC", ({ log, plc }) => plc.kind === "up" && log.newest_seq > 0);

describe("a booth that starts without a serial number", { timeout: MANY_PROCESSES_MS }, () => {
  it("is bound by the provision command and freed by the release command, and each command prints the outcome", async () => {
    const site = await realSite({ speed: SPEED, serial: null });
    const stopped = await command(site, "status");
    expect(stopped).toMatchObject({ code: 69, out: "" });
    expect(stopped.err).toMatch(
      /^booth-gateway status: the agent is not running \(no answer at [^\n]+\); start it with [^\n]+\n$/,
    );

    const agent = site.startAgent();
    await polling(site);
    const before = await command(site, "status");
    expect(before).toMatchObject({ code: 0, err: "" });
    expect(before.out).toContain("booth-1   serial not entered");
    expect(before.out).toContain("bound     unprovisioned: enter the booth's serial number");
    expect(before.out).toMatch(new RegExp(`PLC +127\\.0\\.0\\.1:${site.plc.port}: up for`));

    const unknown = await command(site, "provision", "WXYZ-999", "--yes");
    expect(unknown).toMatchObject({ code: 1, err: "" });
    expect(unknown.out).toContain("not found: the service has no booth with serial number WXYZ-999");

    const unconfirmed = await command(site, "provision", SERIAL);
    expect(unconfirmed.code).toBe(1);
    expect(unconfirmed.err).toContain("No terminal to ask on");
    expect(unconfirmed.err).toContain(`(the PLC says: ${SERIAL})`);

    const typed = await command(site, "provision", ` ${SERIAL.toLowerCase()} `, "--yes", "--by", "alex");
    expect(typed).toMatchObject({ code: 0, err: "" });
    const ticks = typed.out.trimEnd().split("\n");
    for (const tick of ticks) expect(tick).toMatch(/^ +\d+ (ms|s) {2}[a-z ]+$/);
    expect(ticks.at(-1)).toMatch(/active$/);

    const json = await command(site, "status", "--json");
    expect(json).toMatchObject({ code: 0, err: "" });
    const status = JSON.parse(json.out) as AgentStatus;
    expect(status.service).toMatchObject({ kind: "up", url: site.service.url });
    expect(status.booths).toMatchObject([
      { booth: "booth-1", serial: SERIAL, provisioning: { state: "active", generation: 1 } },
    ]);
    expect(json.out).not.toMatch(/credential|password|key/i);
    const after = await command(site, "status");
    expect(after.out).toContain("bound     active (Demo Body Shop, Main Street)");

    const again = await command(site, "provision", SERIAL, "--yes", "--json");
    expect(again.code).toBe(0);
    expect(JSON.parse(again.out)).toMatchObject({ serial: SERIAL, provisioning: { state: "active", generation: 1 } });

    const other = await command(site, "provision", "WXYZ-999", "--yes");
    expect(other).toMatchObject({ code: 1, out: "" });
    expect(other.err).toContain(`booth-1 is bound as ${SERIAL}: release it first`);
    const given = await command(site, "release", "--yes");
    expect(given).toMatchObject({ code: 0, err: "" });
    expect(given.out).toMatch(/ released\n$/);
    const free = await command(site, "status");
    expect(free.out).toContain("booth-1   serial not entered");
    expect(free.out).toContain("bound     released");
    // The first key was deleted when the gateway got its own, and its own with the booth.
    expect(existsSync(join(site.folder, "api-key"))).toBe(false);
    const keyless = await command(site, "provision", SERIAL, "--yes");
    expect(keyless).toMatchObject({ code: 1 });
    expect(keyless.out).toContain("denied");
    const key = join(site.folder, "typed");
    writeFileSync(key, `${PROVISION_KEY}\n`);
    expect((await command(site, "provision", SERIAL, "--yes", "--key-file", key)).out).toMatch(/ active\n$/);
    expect(agent.lines.join("\n")).not.toContain(PROVISION_KEY);
    agent.signal("SIGTERM");
    expect(await agent.ended).toBe(0);
    expect(site.service.oracle()).toMatchObject([
      { generation: 1, serial: SERIAL },
      { generation: 2, serial: SERIAL },
    ]);
  });

  it("can be provisioned while the service is down; once the service is back, all records since the start are delivered", async () => {
    const site = await realSite({ speed: SPEED, serial: null });
    await site.serviceDown();
    const agent = site.startAgent();
    await polling(site);
    const queued = await command(site, "provision", SERIAL, "--yes");
    expect(queued).toMatchObject({ code: 0, err: "" });
    expect(queued.out).toMatch(/queued: the service is not reachable: [^\n]+; no action needed: readings are stored/);
    const { newest_seq } = (await untilBooth(site, "records gather", ({ log }) => log.newest_seq > 100)).log;
    const waiting = await command(site, "backlog");
    expect(waiting).toMatchObject({ code: 0, err: "" });
    expect(waiting.out).toMatch(
      /^service +\S+: DOWN for [^\n]+\n\nbooth-1 {3}\d+ records wait for the service, the oldest for /,
    );
    const watched = startProgram(GATEWAY, ["backlog", "--watch", "--json", "--config", site.configFile]);
    const first = JSON.parse(await watched.line(/waiting/)) as BacklogAnswer;
    expect(first.booths[0]?.waiting).toBeGreaterThan(100);
    expect(first.booths[0]?.waiting_ms).toBeGreaterThan(0);

    await site.serviceUp();
    await untilBooth(
      site,
      "everything since the start is acked",
      ({ log, provisioning }) => provisioning.state === "active" && log.acked_seq >= newest_seq,
    );
    await watched.line(/"waiting":0,"oldest_at":null/, 60_000);
    watched.signal("SIGINT");
    expect(await watched.ended).toBe(0);
    agent.signal("SIGTERM");
    expect(await agent.ended).toBe(0);
    expect(await command(site, "backlog", "--json")).toMatchObject({ code: 69, out: "" });
    const [stream] = site.service.oracle();
    expect(stream?.ranges).toEqual([[1, stream?.count]]);
    expect(stream?.count).toBeGreaterThanOrEqual(newest_seq);
    expect(stream).toMatchObject({ serial: SERIAL, generation: 1, gaps: [], rejected: [], conflicts_offered: 0 });
  });
});
