import { readFileSync, writeFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { expect, it, onTestFinished } from "vitest";
import { readSetUp } from "../../src/config/set-up.ts";
import type { Reloaded } from "../../src/config/differences.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { tcpGate, type TcpGate } from "../acquisition/tcp-gate.ts";
import { runningAgent } from "../api/box-http.ts";
import { eventually, until } from "../support/eventually.ts";
import { GATEWAY, type Program, runProgram } from "../support/processes.ts";
import { realSite, type RealSite, SERIAL } from "../support/real-site.ts";
import { boothAt, NOBODY, onceBooth, settles, tries } from "./tried.ts";

/** Writes the configuration file with a change. */
function rewrite(site: RealSite, change: (config: Record<string, unknown>) => object): void {
  const config = parse(readFileSync(site.configFile, "utf8")) as Record<string, unknown>;
  writeFileSync(site.configFile, stringify(change(config)));
}

async function reload(site: RealSite): Promise<Reloaded> {
  const { code, out, err } = await runProgram(GATEWAY, ["reload", "--json", "--config", site.configFile]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out) as Reloaded;
}

function countOf(agent: Program, event: string): number {
  return agent.out().split(`"event":"${event}"`).length - 1;
}

/** A site whose first booth is bound and polled through a gate that counts connections. */
async function watchedSite() {
  const gates: TcpGate[] = [];
  const site = await realSite({
    speed: 1,
    serial: SERIAL,
    async through(port, peer) {
      if (peer === "service") return port;
      const gate = await tcpGate(port);
      onTestFinished(() => gate.stop());
      gates.push(gate);
      return gate.port;
    },
  });
  const agent = await runningAgent(site);
  await onceBooth(site, "booth-1")("it is bound", ({ provisioning }) => provisioning.state === "active");
  return { site, agent, gate: gates[0] };
}

it(
  "a trial of one booth's settings interrupts neither the other booth's connection nor the session with the service",
  { timeout: 120_000 },
  async () => {
    const { site, agent, gate } = await watchedSite();
    const connections = gate?.accepted();
    await tries(site, boothAt(site.plc.port));
    await onceBooth(site, "booth-2")("the second is read", ({ plc }) => plc.kind === "up");
    await eventually("it is kept", () => (readSetUp(site.dataDir).trial === null ? true : undefined));
    await tries(site, { id: "booth-2", modbus: { host: "127.0.0.1", port: NOBODY } });
    await onceBooth(site, "booth-2")("nobody is there", ({ plc }) => plc.kind === "down" && plc.attempt > 0);
    const back = await settles(site, false);
    expect(back.taken_back?.booth).toBe("booth-2");
    await onceBooth(site, "booth-2")("the second is read again", ({ plc }) => plc.kind === "up");
    await tries(site, { id: "booth-2", tz: "Europe/Madrid" });
    await onceBooth(site, "booth-2")("its time zone is another", ({ tz }) => tz === "Europe/Madrid");
    expect(gate?.accepted()).toBe(connections);
    expect([countOf(agent, "service_up"), countOf(agent, "service_down"), countOf(agent, "plc_down")]).toEqual([
      1, 0, 1,
    ]);
    const status = await onceBooth(site, "booth-1")("all is acked", ({ log }) => log.newest_seq === log.acked_seq);
    expect(status.plc.kind).toBe("up");
  },
);

it(
  "a reload restarts only changed parts, reports settings that need a restart, and rejects an invalid file completely",
  { timeout: 120_000 },
  async () => {
    const { site, agent, gate } = await watchedSite();
    const connections = gate?.accepted();
    const more = boothAt(site.plc.port);
    rewrite(site, (config) => ({
      ...config,
      booths: [...(config["booths"] as object[]), more],
      store: { max_bytes: 8_000_000 },
    }));
    expect(await reload(site)).toEqual({
      booths: { added: ["booth-2"], changed: [], removed: [] },
      outputs: { added: [], changed: [], removed: [] },
      notices: { added: [], changed: [], removed: [] },
      agent: [],
      needs_restart: ["store.max_bytes"],
    });
    await onceBooth(site, "booth-2")("it is read", ({ plc }) => plc.kind === "up");
    const good = readFileSync(site.configFile, "utf8");
    writeFileSync(site.configFile, good.replace("id: booth-2", "id: booth-2\n    polls: {}"));
    const wrong = await runProgram(GATEWAY, ["reload", "--config", site.configFile]);
    expect(wrong.code).toBe(1);
    expect(wrong.err).toMatch(/nothing is changed, and the agent goes on as it was:\n.*unknown key "polls"/);
    // What the page tries doesn't bring the rest of the file in force.
    await tries(site, { id: "booth-3", profile: "click-booth", modbus: { host: "127.0.0.1", port: NOBODY } });
    const status = (await site.status()) as AgentStatus;
    expect(status.booths.map(({ booth }) => booth)).toEqual(["booth-1", "booth-2", "booth-3"]);
    expect(status.config_refused).toContain('unknown key "polls"');
    await settles(site, false);
    writeFileSync(site.configFile, good);
    rewrite(site, ({ booths, ...config }) => ({ ...config, booths: (booths as object[]).slice(0, 1) }));
    agent.signal("SIGHUP");
    await until(() => countOf(agent, "reloaded") === 2, "it is reloaded");
    expect((await site.status())?.booths.map(({ booth }) => booth)).toEqual(["booth-1"]);
    expect((await site.status())?.config_refused).toBeNull();
    expect(gate?.accepted()).toBe(connections);
    // The booth itself: its link begins anew, its session with the service goes on.
    rewrite(site, ({ booths, ...config }) => ({
      ...config,
      booths: (booths as object[]).map((one) => ({ ...one, poll: { slow: { poll_interval_ms: 5_000 } } })),
    }));
    expect((await reload(site)).booths.changed).toEqual(["booth-1"]);
    await until(() => (gate?.accepted() ?? 0) === (connections ?? 0) + 1, "its link has begun anew");
    await onceBooth(site, "booth-1")(
      "all is acked",
      ({ plc, log }) => plc.kind === "up" && log.newest_seq === log.acked_seq,
    );
    expect([countOf(agent, "service_up"), countOf(agent, "service_down")]).toEqual([1, 0]);
    // What is of the whole agent begins it anew, in the same process.
    rewrite(site, (config) => ({ ...config, commit_interval_ms: 5_000 }));
    expect(await reload(site)).toMatchObject({ agent: ["commit_interval_ms"], booths: { changed: [] } });
    await until(() => countOf(agent, "service_up") === 2, "another session");
    agent.signal("SIGTERM");
    expect(await agent.ended).toBe(0);
  },
);
