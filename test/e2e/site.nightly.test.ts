import { readFileSync, writeFileSync } from "node:fs";
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

/** The process id of the agent, from the line that the site prints. */
async function agentOf(site: Program): Promise<number> {
  return Number(/started as process (\d+)/.exec(await site.line(/started as process/))?.[1]);
}

interface Held {
  readonly streams: readonly OracleStream[];
  readonly audit: readonly { readonly action: string; readonly generation: number }[];
}

/** The streams and the provisioning log in the database of a stopped site. */
function heldIn(folder: string): Held {
  const db = openDb(join(folder, "service"));
  try {
    return { streams: oracle(db), audit: rows(db, "SELECT action, generation FROM provisioning_audit ORDER BY id") };
  } finally {
    db.close();
  }
}

/** The time of the newest record in the database of a stopped site. */
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

function sentence(of: { readonly code: number | string; readonly err: string }): string {
  expect(of.code).toBe(2);
  expect(of.err).toMatch(/^booth-sim site: [^\n]+\n$/);
  return of.err;
}

describe("the simulated site of npm start", { timeout: MANY_PROCESSES_MS }, () => {
  it("prints its events, stops on SIGINT, and continues from the same time at the next start", async () => {
    const folder = join(temporaryFolder(), "site");
    const first = startSite(folder);
    expect(await first.line(/./)).toMatch(/^A simulated site in .+ one second simulates 60 seconds .+ Ctrl-C/);
    const agent = await agentOf(first);
    await first.line(/acked/);
    await first.line(/provisioning .*active/);
    await first.line(/status +booth-1: [a-z_]+, 0 cycles today; PLC up, service up/);

    const second = await runProgram(SIMULATORS, ["site", "--data", folder, "--port", "0"]);
    expect(sentence(second)).toContain(`another site (process ${first.pid}) runs in this folder`);

    await stop(first, agent);
    expect(first.lines.at(-1)).toBe("Stopped; all data is saved. The next start continues from here.");
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

  it("ends its agent too if the site is killed, and starts again in the same folder at a later simulated time", async () => {
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

  it("restarts its agent if the agent is killed", async () => {
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

  it("exits with 2 and a one-line message if an option is wrong", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "file");
    writeFileSync(file, "");
    const cases: readonly (readonly [readonly string[], string])[] = [
      [["--data", file, "--port", "0"], `${file} can't be written`],
      [
        ["--data", join(folder, "a"), "--scenario", "nonsense"],
        "there is no scenario nonsense; the scenarios are standard-cycle",
      ],
      [["--data", join(folder, "b"), "--speed", "0"], "--speed must be a number from 1 to 1000"],
      [["--color"], "--help lists the options"],
    ];
    for (const [argv, said] of cases) expect(sentence(await runProgram(SIMULATORS, ["site", ...argv]))).toContain(said);
  });

  it("prints its options with --help and its scenarios with --list", async () => {
    const help = await runProgram(SIMULATORS, ["site", "--help"]);
    expect(help).toMatchObject({ code: 0, err: "" });
    for (const option of ["--speed", "--scenario", "--data", "--port"]) expect(help.out).toContain(option);
    const list = await runProgram(SIMULATORS, ["site", "--list"]);
    expect(list.out).toContain("standard-cycle");
  });
});
