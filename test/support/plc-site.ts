import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { stringify } from "yaml";
import { scaledClock, clockFromNow } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc, type PlcOptions, type RunningPlc } from "../../simulators/plc/start.ts";
import { findProfile, SHIPPED_PROFILES } from "../../src/config/profile.ts";
import type { ModbusProfile } from "../../src/core/types/profile.ts";
import { GATEWAY, runProgram } from "./processes.ts";
import { temporaryFolder } from "./temporary.ts";

export interface PlcSite {
  readonly plc: RunningPlc;
  readonly profile: ModbusProfile;
  readonly configFile: string;
  /** Runs a command of booth-gateway to its end. */
  readonly gateway: (
    ...argv: readonly string[]
  ) => Promise<{ readonly code: number | string; readonly out: string; readonly err: string }>;
}

/** A simulated PLC and the configuration of a gateway that knows it, for one test; no agent runs. */
export async function plcSite(more: Partial<PlcOptions> = {}): Promise<PlcSite> {
  const profile = findProfile("click-booth", [SHIPPED_PROFILES]);
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("the shipped profile and scenario");
  const clock = scaledClock(clockFromNow(1));
  const plc = await startPlc({ profile, scenario, seed: 1, clock, port: 0, ...more });
  onTestFinished(() => plc.stop());
  const folder = temporaryFolder();
  const configFile = join(folder, "gateway.yaml");
  const booth = { id: "booth-1", profile: "click-booth", modbus: { host: "127.0.0.1", port: plc.port } };
  const service = { url: "http://127.0.0.1:1", api_key_file: join(folder, "no-key") };
  writeFileSync(
    configFile,
    stringify({ data_dir: folder, runtime_dir: folder, page: { port: 0 }, service, booths: [booth] }),
  );
  return { plc, profile, configFile, gateway: (...argv) => runProgram(GATEWAY, argv) };
}
