import { join } from "node:path";
import { expect, it } from "vitest";
import { askAgent, SOCKET_NAME } from "../../src/tools/agent-client.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { eventually } from "../support/eventually.ts";
import { breaksTold, onlyItsOwn, PATIENT } from "../support/link-kept.ts";
import { GATEWAY, MANY_PROCESSES_MS, startProgram } from "../support/processes.ts";
import { plcSite, type PlcSite } from "./plc-site.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** Starts a PLC with one connection, and an agent that holds it. */
async function heldPlc() {
  const site = await plcSite({ manners: { max_connections: 1 }, modbus: PATIENT });
  const agent = startProgram(GATEWAY, ["run", "--config", site.configFile]);
  const socket = join(site.configFile, "..", SOCKET_NAME);
  const status = async () => (await askAgent(socket, { method: "GET", path: "/status" })) as AgentStatus;
  const ask = (pdu: string, unit = 1) =>
    askAgent(socket, { method: "POST", path: "/plc/ask", body: { link: `127.0.0.1:${site.plc.port}`, unit, pdu } });
  await eventually("the agent reads the PLC", async () => {
    const booth = (await status().catch(() => null))?.booths[0];
    return booth?.plc.kind === "up" ? booth : undefined;
  });
  return { site, agent, ask };
}

/** Runs every tool as a technician would. */
async function useAll({ gateway, configFile, plc }: PlcSite) {
  const config = ["--config", configFile];
  const trace = join(temporaryFolder(), "booth.trace");
  const tags = await gateway("tags", "--json", ...config);
  const detect = await gateway("detect", "holding:0", "--type", "uint16", "--json", ...config);
  const probe = await gateway("probe", `127.0.0.1:${plc.port}`, ...config);
  const record = await gateway("record", "--for", "1.5s", "--json", "--out", trace, ...config);
  return { tags, detect, probe, record };
}

it(
  "the command-line tools read the PLC over the agent's only connection and don't disturb the agent's polls",
  { timeout: MANY_PROCESSES_MS },
  async () => {
    const { site, agent, ask } = await heldPlc();
    const { tags, detect, probe, record } = await useAll(site);

    expect(tags).toMatchObject({ code: 0, err: "" });
    const rows = (JSON.parse(tags.out) as { tags: { quality: string; raw: string }[] }).tags;
    expect(rows.filter(({ quality, raw }) => quality !== "good" || raw === "")).toEqual([]);
    expect(detect.err).toBe("");
    const { ranked } = JSON.parse(detect.out) as { ranked: { address: number }[] };
    expect(ranked.map(({ address }) => address)).toContain(0);
    expect(probe).toMatchObject({ code: 0, err: "" });
    expect(probe.out).toMatch(/^ {2}unit IDs +1$/m);
    expect(probe.out).toContain("vendor: CLICK-like");
    expect(probe.out).toContain("not counted, because the agent reads this PLC");
    expect(record).toMatchObject({ code: 0, err: "" });
    const recorded = JSON.parse(record.out) as { silences: number; failures: number };
    expect(recorded.failures).toBe(0);
    // A late answer costs the agent a connection, after which the request is repeated.
    const { counts } = site.plc;
    await eventually("each silence is such an answer", () => recorded.silences < counts.connections || undefined);

    // A shared link passes only reads.
    expect(await ask("0600000001")).toMatchObject({ kind: "failed", why: "config" });
    expect(await ask("030000")).toMatchObject({ kind: "failed", why: "config" });
    expect(breaksTold(agent)).toEqual([]);
    expect(site.plc.counts).toMatchObject({ writes: 0, malformed: 0 });
    await onlyItsOwn(site.plc.counts, site.runtimeDir);

    agent.signal("SIGTERM");
    expect(await agent.ended).toBe(0);
    const before = site.plc.counts.connections;
    const alone = await site.gateway("tags", "--json", "--config", site.configFile);
    expect(alone).toMatchObject({ code: 0, err: "" });
    expect(site.plc.counts.connections).toBe(before + 1);
  },
);
