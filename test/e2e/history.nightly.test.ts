import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { SiteMemory } from "../../simulators/site/folder.ts";
import { askAgent } from "../../src/tools/agent-client.ts";
import { eventually } from "../support/eventually.ts";
import { MANY_PROCESSES_MS, SIMULATORS, startProgram, type Program } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";

const DAYS = 1;
const BOOTH = "/api/booths/booth-abcd-123-123";
/** Time after the history's end, so that a gap there would be found. */
const AFTER_MS = 3 * 60_000;

interface Durations {
  readonly modes: readonly { readonly mode: string; readonly duration: number }[];
}

function startSite(folder: string, ...more: readonly string[]): Program {
  return startProgram(SIMULATORS, ["site", "--data", folder, "--port", "0", ...more]);
}

function memoryOf(folder: string): SiteMemory {
  return JSON.parse(readFileSync(join(folder, "site.json"), "utf8")) as SiteMemory;
}

it(
  "the simulated site with --history fills gateway and service with past data, even after an interruption, and continues live",
  { timeout: MANY_PROCESSES_MS },
  async () => {
    const folder = join(temporaryFolder(), "site");
    const cut = startSite(folder, "--history", "30d");
    await cut.line(/history +1 of 30 days read/, MANY_PROCESSES_MS);
    cut.signal("SIGINT");
    expect(await cut.ended).toBe(0);
    expect(cut.lines.at(-1)).toMatch(/^Stopped before the history was complete; .+ creates it again/);
    expect(existsSync(join(folder, "site.json"))).toBe(false);

    const site = startSite(folder, "--history", `${DAYS}d`);
    await site.line(/1 day is at both ends/, MANY_PROCESSES_MS);
    const { story_start, joint = NaN, admin_key } = memoryOf(folder);
    expect(joint - story_start).toBe(DAYS * 86_400_000);
    const url = /HTTP at (\S+),/.exec(await site.line(/HTTP at/))?.[1] ?? "";
    const end = new Date(joint + AFTER_MS).toISOString();
    const path = `${BOOTH}/duration_by_mode?start=${new Date(story_start).toISOString()}&end=${end}`;
    const own = async (): Promise<Durations> =>
      (await askAgent(join(folder, "run", "agent.sock"), { method: "GET", path })) as Durations;
    const theirs = async (): Promise<Durations> =>
      (await (await fetch(url + path, { headers: { authorization: admin_key } })).json()) as Durations;
    const minutes = (DAYS * 86_400_000 + AFTER_MS) / 60_000;
    const total = ({ modes }: Durations): number => modes.reduce((sum, { duration }) => sum + duration, 0);
    await eventually("both ends have seen the time after the joint, and agree", async () => {
      const both = [await own(), await theirs()] as const;
      const isThere = both.every((one) => Math.abs(total(one) - minutes) < 0.01 && !hasGap(one));
      return isThere && JSON.stringify(both[0].modes) === JSON.stringify(both[1].modes) ? true : undefined;
    });
    expect((await own()).modes.map(({ mode }) => mode)).toContain("Bake Mode");
    expect(site.lines.filter((line) => line.includes("incident"))).toEqual([]);
    site.signal("SIGINT");
    expect(await site.ended).toBe(0);

    const later = startSite(join(folder, "..", "other"));
    await later.line(/started as process/);
    later.signal("SIGINT");
    await later.ended;
    const refused = startSite(join(folder, "..", "other"), "--history", "30d");
    expect(await refused.ended).toBe(2);
    expect(refused.err()).toContain("holds a story already");
  },
);

function hasGap({ modes }: Durations): boolean {
  return modes.some(({ mode, duration }) => mode === "No Data" && duration > 0);
}
