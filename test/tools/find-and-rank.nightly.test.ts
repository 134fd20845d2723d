import { describe, expect, it, onTestFinished } from "vitest";
import { driverTools } from "../../src/acquisition/tool-drivers.ts";
import { findProfile, SHIPPED_PROFILES } from "../../src/config/profile.ts";
import { findPlcs, lookThrough } from "../../src/tools/find-plc.ts";
import { render } from "../../src/domain/messages/render.ts";
import type { Text } from "../../src/domain/message.ts";
import { rankAt } from "../../src/tools/rank-profiles.ts";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc, type RunningPlc } from "../../simulators/plc/start.ts";
import { clickBooth, plcnextBooth } from "../support/profiles.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";

const tools = driverTools({ wall: () => Date.now(), log: silentLog });

async function plcBy(name: string): Promise<RunningPlc> {
  const profile = findProfile(name, [SHIPPED_PROFILES]);
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("a shipped profile and scenario");
  const plc = await startPlc({ profile, scenario, seed: 1, clock: scaledClock(clockFromNow(1)), port: 0 });
  onTestFinished(() => plc.stop());
  return plc;
}

/** The io of a tool that is never aborted, with the progress that it showed. */
function call() {
  const told: string[] = [];
  return { told, signal: new AbortController().signal, progress: (text: Text) => void told.push(render(text)) };
}

describe("the ranking of profiles at a PLC", () => {
  it.each(["click-booth", "micro800-booth", "s7-1200-booth"])(
    "puts the simulated PLC's own profile first: %s",
    async (name) => {
      const plc = await plcBy(name);
      const config = { data_dir: temporaryFolder(), profile_dirs: [SHIPPED_PROFILES] };
      const asked = call();
      const link = { modbus: { host: "127.0.0.1", port: plc.port }, said: [] };
      const { answer } = await rankAt(link, { tools, config, ...asked });
      expect(answer.profiles[0]?.profile).toBe(name);
      expect(answer.profiles[0]?.fit).toBeGreaterThan(answer.profiles[1]?.fit ?? 1);
      expect(answer.profiles.every(({ reasons }) => reasons.length > 0)).toBe(true);
      expect(asked.told.filter((text) => text.startsWith(`reading with the profile ${name},`))).toHaveLength(1);
    },
  );

  it("fails with the reason if no device answers or the link's settings are invalid", async () => {
    const config = { data_dir: temporaryFolder(), profile_dirs: [SHIPPED_PROFILES] };
    const nobody = rankAt({ modbus: { host: "127.0.0.1", port: 9 }, said: [] }, { tools, config, ...call() });
    await expect(nobody).rejects.toThrow(/^127\.0\.0\.1:9: .*; /);
    const none = rankAt({ modbus: {}, said: [] }, { tools, config, ...call() });
    await expect(none).rejects.toThrow("set host (and port), or serial");
  });
});

describe("the search at an OPC UA endpoint", () => {
  it("returns the server's security policies and certificate fingerprint before the certificate is trusted", async () => {
    const scenario = findScenario("standard-cycle");
    if (scenario === undefined) throw new Error("a shipped scenario");
    const clock = scaledClock(clockFromNow(1));
    const opcua = { profile: plcnextBooth(), port: 0 };
    const plc = await startPlc({ profile: clickBooth(), scenario, seed: 1, clock, port: 0, opcua });
    onTestFinished(() => plc.stop());
    const { endpoint = "" } = plc.opcua ?? {};
    const { answer, text } = await findPlcs(tools, { where: "opcua", endpoint }, call());
    if (answer.where !== "opcua") throw new Error("another answer");
    const safe = answer.offers.find(({ policy }) => policy === "Basic256Sha256");
    expect(safe?.fingerprint).toBe(plc.opcua?.fingerprint().replaceAll(":", "").toLowerCase());
    expect(text).toContain(safe?.fingerprint ?? "none");
  });

  it.each([
    ["opc.tcp://127.0.0.1:9", /./],
    ["http://127.0.0.1", /an endpoint has the form opc\.tcp/],
    ["opc.tcp:", /an endpoint has the form opc\.tcp/],
  ])("fails with the reason if no server answers or the endpoint is invalid: %s", async (endpoint, why) => {
    await expect(findPlcs(tools, { where: "opcua", endpoint }, call())).rejects.toThrow(why);
  });
});

describe("the search for PLCs in a network", () => {
  it("tries every address once, shows the progress, and finds no PLC if all ports are closed", async () => {
    const hosts = Array.from({ length: 40 }, (_, i) => `127.7.7.${i + 1}`);
    const asked = call();
    const found = await lookThrough(tools, [{ cidr: "127.7.7.0/26", hosts }], asked);
    expect(found).toEqual({ where: "subnets", subnets: ["127.7.7.0/26"], looked: 40, found: [] });
    expect(asked.told).toHaveLength(40);
    expect(asked.told.at(-1)).toBe("40 of 40 addresses checked, 0 PLC ports found");
  });

  it("stops if its signal is aborted", async () => {
    const leaving = new AbortController();
    leaving.abort(new Error("gone"));
    const subnet = { cidr: "127.7.7.0/30", hosts: ["127.7.7.1"] };
    await expect(lookThrough(tools, [subnet], { ...call(), signal: leaving.signal })).rejects.toThrow("gone");
  });
});
