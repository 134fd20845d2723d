import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { askAgent } from "../../src/tools/agent-client.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { oracle, type OracleStream } from "../../simulators/service/admin/oracle.ts";
import { rows } from "../../simulators/service/storage/db.ts";
import { openDb } from "../../simulators/service/storage/open.ts";
import { eventually, until } from "../support/eventually.ts";
import {
  isAlive,
  MANY_PROCESSES_MS,
  runProgram,
  SIMULATORS,
  startProgram,
  type Program,
} from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";

function startSite(folder: string): Program {
  return startProgram(SIMULATORS, ["site", "--data", folder, "--port", "0", "--speed", "60"]);
}

/** The process id that the site's own line names. */
async function agentOf(site: Program): Promise<number> {
  return Number(/started as process (\d+)/.exec(await site.line(/started as process/))?.[1]);
}

interface Held {
  readonly streams: readonly OracleStream[];
  readonly audit: readonly { readonly action: string; readonly generation: number }[];
}

/** What the stopped site's service holds. */
function heldIn(folder: string): Held {
  const db = openDb(join(folder, "service"));
  try {
    return { streams: oracle(db), audit: rows(db, "SELECT action, generation FROM provisioning_audit ORDER BY id") };
  } finally {
    db.close();
  }
}

/** The time of the newest record that the stopped site's service holds. */
function newestIn(folder: string): number {
  const db = openDb(join(folder, "service"));
  try {
    return rows<{ readonly time: number }>(db, "SELECT max(time) AS time FROM records")[0]?.time ?? NaN;
  } finally {
    db.close();
  }
}

function json(folder: string, file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, file), "utf8")) as Record<string, unknown>;
}

async function stop(site: Program, agent: number): Promise<void> {
  site.signal("SIGINT");
  await until(() => !site.isRunning() && !isAlive(agent), "site and agent are gone");
  expect(await site.ended).toBe(0);
  expect(site.err()).toBe("");
}

/** By what the kernel tells of a process. */
const STOPPED = /^State:\s*T/m;
const SIGTERM_WAITS = /^ShdPnd:\s*0*4000$/m;

function isAt(pid: number, state: RegExp): boolean {
  return state.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}

function sentence(of: { readonly code: number | string; readonly err: string }): string {
  expect(of.code).toBe(2);
  expect(of.err).toMatch(/^booth-sim site: [^\n]+\n$/);
  return of.err;
}

async function listen(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function closed(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}

/** The first of five, below those that the system gives to whoever asks for any: no other test comes between. */
async function freePorts(): Promise<number> {
  for (let tries = 0; ; tries += 1) {
    const first = 20_000 + Math.floor(Math.random() * 10_000);
    const found = await Promise.allSettled([0, 1, 2, 3, 4].map((index) => listen(first + index)));
    const held = found.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    await Promise.all(held.map(closed));
    if (held.length === found.length) return first;
    if (tries === 20) throw new Error("no five ports in a row are free");
  }
}

describe("a whole site in one command", { timeout: MANY_PROCESSES_MS }, () => {
  it("tells what happens, stops at Ctrl-C, and goes on at the next start", async () => {
    const folder = join(temporaryFolder(), "site");
    const first = startSite(folder);
    expect(await first.line(/./)).toMatch(/^A simulated site in .+ one second here is 60 seconds there .+ Ctrl-C/);
    const agent = await agentOf(first);
    await first.line(/acked/);
    await first.line(/provisioning .*active/);
    await first.line(/status +booth-1: [a-z_]+, 0 cycles today; PLC up, service up/);

    const second = await runProgram(SIMULATORS, ["site", "--data", folder, "--port", "0"]);
    expect(sentence(second)).toContain(`another site (process ${first.pid}) runs in this folder`);

    await stop(first, agent);
    expect(first.lines.at(-1)).toBe("Stopped; nothing is lost. The next start goes on from here.");
    const before = {
      held: heldIn(folder),
      wall: json(folder, "site.json")["wall"],
      clock: json(folder, "run/clock.json"),
    };
    const [stream] = before.held.streams;
    expect(stream?.ranges).toEqual([[1, stream?.count]]);

    const again = startSite(folder);
    const newAgent = await agentOf(again);
    await eventually("more is acked than at the first stop", async () => {
      const socket = join(folder, "run", "agent.sock");
      const status = (await askAgent(socket, { method: "GET", path: "/status" }).catch(() => undefined)) as
        AgentStatus | undefined;
      return (status?.booths[0]?.log.acked_seq ?? 0) > (stream?.count ?? 0) ? true : undefined;
    });
    const clock = json(folder, "run/clock.json");
    expect(clock["boot"]).not.toBe(before.clock["boot"]);
    expect(clock["wall_origin_ms"]).toBe(before.wall);
    expect(Number(before.wall)).toBeGreaterThan(Number(before.clock["wall_origin_ms"]));
    await stop(again, newAgent);

    const { streams, audit } = heldIn(folder);
    expect(streams).toHaveLength(1);
    expect(streams[0]).toMatchObject({
      stream_id: stream?.stream_id,
      generation: 1,
      ranges: [[1, streams[0]?.count]],
      conflicts_offered: 0,
    });
    expect(audit.map(({ action, generation }) => [action, generation])).toEqual(
      before.held.audit.map(({ action, generation }) => [action, generation]),
    );
    expect(audit.filter(({ action }) => action === "claim")).toHaveLength(1);
  });

  it("stops as cleanly at a Ctrl-C that comes twice, as from npm and from node --watch", async () => {
    const site = startSite(join(temporaryFolder(), "site"));
    const agent = await agentOf(site);
    await site.line(/acked/);
    // Held, it keeps the site in the middle of its stop until the second one has come.
    process.kill(agent, "SIGSTOP");
    await until(() => isAt(agent, STOPPED), "the agent is held");
    site.signal("SIGINT");
    await until(() => isAt(agent, SIGTERM_WAITS), "the site has told its agent to stop");
    site.signal("SIGINT");
    process.kill(agent, "SIGCONT");
    expect([await site.ended, site.lines.at(-1)]).toEqual([0, expect.stringMatching(/^Stopped; nothing is lost/)]);
  });

  it("takes the agent along when it is killed, and starts again on the same folder, at a later time", async () => {
    const folder = join(temporaryFolder(), "site");
    const site = startSite(folder);
    const agent = await agentOf(site);
    await site.line(/acked/);
    site.signal("SIGKILL");
    await until(() => !isAlive(agent), "the agent is gone as well");
    const newest = newestIn(folder);
    const again = startSite(folder);
    const newAgent = await agentOf(again);
    expect(Number(json(folder, "run/clock.json")["wall_origin_ms"])).toBeGreaterThan(newest);
    await again.line(/service link is up/);
    await stop(again, newAgent);
    expect(heldIn(folder).streams).toMatchObject([{ generation: 1, conflicts_offered: 0, gaps: [] }]);
  });

  it("starts an agent that was killed again", async () => {
    const folder = join(temporaryFolder(), "site");
    const site = startSite(folder);
    const agent = await agentOf(site);
    await site.line(/acked/);
    process.kill(agent, "SIGKILL");
    await site.line(/ended by itself \(SIGKILL\); it is started again/);
    const newAgent = await eventually("another agent runs", () => {
      const started = site.lines.flatMap((line) => /started as process (\d+)/.exec(line)?.[1] ?? []);
      return started.length > 1 ? Number(started.at(-1)) : undefined;
    });
    await until(() => site.lines.filter((line) => line.includes("service link is up")).length > 1, "the link is up");
    await stop(site, newAgent);
  });

  it("says in one sentence what is wrong, and ends with 2", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "file");
    writeFileSync(file, "");
    const cases: readonly (readonly [readonly string[], string])[] = [
      [["--data", file, "--port", "0"], `${file} can't be written`],
      [
        ["--data", join(folder, "a"), "--scenario", "nonsense"],
        "there is no scenario nonsense; there are standard-cycle",
      ],
      [["--data", join(folder, "b"), "--speed", "0"], "--speed must be a number from 1 to 1000"],
      [["--colour"], "--help lists the options"],
    ];
    for (const [argv, said] of cases) expect(sentence(await runProgram(SIMULATORS, ["site", ...argv]))).toContain(said);
  });

  it("names whichever of its ports is taken, and ends", async () => {
    const first = await freePorts();
    for (const [index, name] of ["HTTP", "MQTT", "PLC", "admin"].entries()) {
      const port = first + index;
      const taken = await listen(port);
      const ended = await runProgram(SIMULATORS, ["site", "--data", temporaryFolder(), "--port", first.toString()]);
      expect(sentence(ended), name).toContain(`Port ${port} is taken`);
      await closed(taken);
    }
  });

  it("helps", async () => {
    const help = await runProgram(SIMULATORS, ["site", "--help"]);
    expect(help).toMatchObject({ code: 0, err: "" });
    for (const option of ["--speed", "--scenario", "--data", "--port"]) expect(help.out).toContain(option);
    const list = await runProgram(SIMULATORS, ["site", "--list"]);
    expect(list.out).toContain("standard-cycle");
  });
});
