import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { SHIPPED_PROFILES } from "../../src/config/profile.ts";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { realSite, SERIAL, type RealSite } from "../support/real-site.ts";

interface ConfigFile {
  profile_dirs?: readonly string[];
  booths: readonly Readonly<Record<string, unknown>>[];
}

const BROKEN = { id: "booth-2", serial: "ABCD-2", profile: "broken", modbus: { host: "127.0.0.1" } };
const MISSING = { id: "booth-3", profile: "clik-booth", modbus: { host: "127.0.0.1" } };
const BAD_ADDRESS = { id: "booth-4", profile: "click-booth", modbus: { host: "tcp://plc:502" } };
const BAD_KEY = { id: "booth-5", profile: "click-booth", modbus: { hots: "plc" } };
const MISFIT = { id: "booth-6", profile: "plcnext-booth", modbus: { host: "127.0.0.1" } };
const NO_GROUP = {
  ...MISSING,
  id: "booth-7",
  profile: "click-booth",
  modbus: { host: "127.0.0.1" },
  poll: { fastest: { poll_interval_ms: 1000 } },
};
const ALL = [BROKEN, MISSING, BAD_ADDRESS, BAD_KEY, MISFIT, NO_GROUP];

/** The error of each booth, with its place in the file. */
const ERRORS: Readonly<Record<string, RegExp>> = {
  "booth-2": /broken\.yaml:\d+:\d+: tags\[\d+\]\.type: unknown value "uin16" \(did you mean "uint16"\?\)/,
  "booth-3":
    /gateway\.yaml:\d+:\d+: booths\[2\]\.profile: profile "clik-booth" does not exist \(did you mean "click-booth"/,
  "booth-4": /gateway\.yaml:\d+:\d+: booths\[3\]\.modbus\.host: a host is a name or an IP address/,
  "booth-5": /gateway\.yaml:\d+:\d+: booths\[4\]\.modbus\.hots: unknown key "hots" \(did you mean "host"\?\)/,
  "booth-6":
    /gateway\.yaml:\d+:\d+: booths\[5\]\.modbus: profile plcnext-booth is for opcua, but the booth is connected with modbus/,
  "booth-7": /gateway\.yaml:\d+:\d+: booths\[6\]\.poll\.fastest: profile click-booth has no poll group "fastest"/,
};

/** Rewrites the site's configuration with more booths, or with others. */
function configure(site: RealSite, booths: readonly object[], keepOwn = true): void {
  const profile = readFileSync(join(SHIPPED_PROFILES, "click-booth.yaml"), "utf8");
  writeFileSync(
    join(site.folder, "broken.yaml"),
    profile.replace("type: uint16", "type: uin16").replace(/^name: .*$/m, "name: broken"),
  );
  const config = parse(readFileSync(site.configFile, "utf8")) as ConfigFile;
  const own = keepOwn ? config.booths : [];
  const dirs = [site.folder, SHIPPED_PROFILES];
  writeFileSync(site.configFile, stringify({ ...config, profile_dirs: dirs, booths: [...own, ...booths] }));
}

/** Returns the line that the agent names. */
function lineAt({ file, line }: { readonly file: string; readonly line: number }): string {
  return readFileSync(file, "utf8").split("\n")[line - 1] ?? "";
}

describe("a booth with a faulty configuration", { timeout: MANY_PROCESSES_MS }, () => {
  it("is disabled while the other booth delivers, and log and status show the line, the reason and advice", async () => {
    const site = await realSite({ speed: 60, serial: SERIAL });
    configure(site, ALL);
    const agent = site.startAgent();
    const status = await eventually("the sound booth's readings are acked", async () => {
      const now = await site.status();
      return (now?.booths[0]?.log.acked_seq ?? 0) > 0 ? now : undefined;
    });
    expect(status.booths.map(({ booth }) => booth)).toEqual(["booth-1"]);
    expect(status.disabled.map(({ booth }) => booth)).toEqual(ALL.map(({ id }) => id));
    for (const booth of status.disabled) {
      expect(booth.reason).toMatch(ERRORS[booth.booth] ?? /never/);
      expect(booth.advice).toContain("booth-gateway check");
      const logged = agent.lines.find((line) => line.includes("booth_disabled") && line.includes(`"${booth.booth}"`));
      expect(JSON.parse(logged ?? "{}")).toMatchObject({
        file: booth.file,
        line: booth.line,
        reason: booth.reason,
        advice: booth.advice,
      });
    }
    expect(status.disabled.map(lineAt).map((line) => line.trim())).toEqual([
      expect.stringContaining("uin16"),
      "profile: clik-booth",
      "host: tcp://plc:502",
      "hots: plc",
      "modbus:",
      "fastest:",
    ]);
    expect(status.disabled[0]).toMatchObject({ serial: "ABCD-2" });
    const text = (await runProgram(GATEWAY, ["status", "--config", site.configFile])).out;
    expect(text).toMatch(
      /booth-3 {3}serial not entered\n {2}DISABLED {2}for [^\n]+profile "clik-booth" does not exist/,
    );
    agent.signal("SIGTERM");
    expect(await agent.ended).toBe(0);
  });

  it("leaves the agent running even if no other booth is configured", async () => {
    const site = await realSite({ speed: 60, serial: SERIAL });
    configure(site, [BROKEN], false);
    const agent = site.startAgent();
    const status = await eventually("the agent answers", () => site.status());
    expect(status.booths).toEqual([]);
    expect(status.disabled).toMatchObject([{ booth: "booth-2" }]);
    await agent.line(/no_booths/);
    expect(agent.isRunning()).toBe(true);
    agent.signal("SIGTERM");
    expect(await agent.ended).toBe(0);
  });

  it("is listed as disabled by check --json", async () => {
    const site = await realSite({ speed: 60, serial: SERIAL });
    configure(site, ALL);
    const { code, out } = await runProgram(GATEWAY, ["check", "--config", site.configFile, "--json"]);
    expect(code).toBe(78);
    const found = JSON.parse(out) as { ok: boolean; disabled: readonly { booth: string }[] };
    expect([found.ok, ...found.disabled.map(({ booth }) => booth)]).toEqual([false, ...Object.keys(ERRORS)]);
  });
});
