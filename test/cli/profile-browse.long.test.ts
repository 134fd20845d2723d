import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { render } from "../../src/domain/messages/render.ts";
import { stringify } from "yaml";
import { driverTools } from "../../src/acquisition/tool-drivers.ts";
import { profileCommand } from "../../src/tools/profile/profile.ts";
import { loadProfile } from "../../src/config/profile.ts";
import type { ProfileMode } from "../../src/domain/booth.ts";
import type { OpcuaProfile, OpcuaTag } from "../../src/domain/profile.ts";
import type { Io } from "../../src/tools/command.ts";
import { startOpcuaServer } from "../../simulators/plc/opcua/server.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { boothFor } from "../../simulators/plc/start.ts";
import { plcnextBooth } from "../support/profiles.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { DRAWN_MODES, pacedClock } from "./drawn-plc.ts";
import { say } from "./say.ts";

const START = Date.UTC(2026, 2, 3, 16);
const URI = "urn:another-maker:program";

/** Returns the booth with the names of another maker, which no shipped profile knows. */
function unknownServer(): OpcuaProfile {
  const profile = plcnextBooth();
  const codes = Object.entries(profile.modes).map(([code, mode]) => [String(Number(code) + 40), mode] as const);
  const tags = profile.tags.map((tag): OpcuaTag => {
    const name = tag.name
      .split("_")
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join("");
    return { ...tag, point: { ...tag.point, node: { namespace: URI, id: `s=Plc1.Booth.${name}` }, scale: 1 } };
  });
  return { ...profile, modes: Object.fromEntries(codes), tags };
}

describe("the profile browse command", { timeout: 120_000 }, () => {
  it("makes a profile from an OPC UA server's node tree, and the profile reads every tag correctly", async () => {
    const profile = unknownServer();
    const scenario = findScenario("standard-cycle");
    if (scenario === undefined) throw new Error("the scenario");
    const clock = pacedClock(START);
    const booth = boothFor({ profile, scenario, seed: 1, start: START });
    const server = await startOpcuaServer({
      profile,
      booth,
      now: () => clock.wall(),
      port: 0,
      manners: { none_only: true, allow_anonymous: true },
    });
    onTestFinished(() => server.stop());
    const folder = temporaryFolder();
    const configFile = join(folder, "gateway.yaml");
    const opcua = { endpoint: server.endpoint, security_policy: "None", allow_insecure: true };
    const booths = [{ id: "booth-1", profile: "acme", opcua }];
    writeFileSync(
      configFile,
      stringify({ data_dir: folder, runtime_dir: folder, service: { url: "http://127.0.0.1:1" }, booths }),
    );
    const tools = {
      ...driverTools({ wall: () => Date.now(), log: silentLog }),
      mono: () => clock.mono(),
      sleep: (ms: number, signal: AbortSignal) => clock.sleep(ms, signal),
    };
    const set = (mode: ProfileMode): void =>
      booth.inject({ kind: "mode", mode, phase: null, fault_code: 0 }, clock.wall());
    const ask: Io["ask"] = (question) => {
      const [, mode] = /Set the booth to (\w+)/.exec(render(question)) ?? [];
      if (mode !== undefined) set(mode as ProfileMode);
      return Promise.resolve("y");
    };
    const run = (words: string) =>
      say(["profile", ...words.split(" "), "--config", configFile], {
        runs: { profile: profileCommand(tools) },
        io: { ask },
      });

    expect(await run("new acme --from opcua")).toMatchObject({ code: 0, err: "" });
    const browsed = await run("browse plc1");
    expect(browsed).toMatchObject({ code: 1, out: "" });
    expect(browsed.err).toContain('but none with "plc1" in its path is new');
    const taken = await run("browse boothctrl");
    expect(taken).toMatchObject({ code: 0, err: "" });
    expect(taken.out).toContain("still missing: no raw value is assigned to a mode");

    clock.pace(10);
    const learned = await run("learn modes --for 1s");
    expect(learned).toMatchObject({ code: 0, err: "" });
    const made = loadProfile(join(dirname(configFile), "profiles", "acme.yaml"));
    const codes = Object.entries(profile.modes).filter(([, mode]) => (DRAWN_MODES as readonly string[]).includes(mode));
    expect(made.modes).toMatchObject(Object.fromEntries(codes.filter(([code]) => code !== "47")));
    const roles = ({ tags }: { tags: readonly { name: string; role?: string }[] }) =>
      tags.map(({ name, role }) => `${name} ${role ?? ""}`).toSorted();
    expect(roles(made)).toEqual(roles({ tags: profile.tags.filter(({ point: { node } }) => "id" in node) }));
    const tested = await run("test --for 2s");
    expect(tested).toMatchObject({ code: 0, err: "" });
    expect(tested.out).toMatch(/plc_serial +ABCD-123-123/);

    const way = { opcua: { ...opcua, security_policy: "None" as const }, poll: {} };
    const read = async (which: OpcuaProfile | typeof made) => {
      const driver = tools.driver(way, which, { config: { data_dir: folder } });
      await driver.open(new AbortController().signal);
      const samples = [...(await driver.read(Object.keys(which.groups))).values()].flat();
      await driver.close();
      return Object.fromEntries(samples.map(({ tag, value }) => [tag, value]));
    };
    clock.pace(0);
    expect(await read(made)).toEqual(await read(profile));
  });
});
