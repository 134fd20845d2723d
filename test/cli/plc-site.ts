import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { stringify } from "yaml";
import { scaledClock, clockFromNow } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc, type PlcOptions, type RunningPlc } from "../../simulators/plc/start.ts";
import { findProfile, SHIPPED_PROFILES } from "../../src/config/profile.ts";
import type { ModbusProfile } from "../../src/domain/profile.ts";
import { GATEWAY, runProgram } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";

export interface PlcSite {
  readonly plc: RunningPlc;
  readonly profile: ModbusProfile;
  readonly configFile: string;
  readonly runtimeDir: string;
  /** Runs a command of booth-gateway to its end. */
  readonly gateway: (
    ...argv: readonly string[]
  ) => Promise<{ readonly code: number | string; readonly out: string; readonly err: string }>;
}

export interface PlcSiteOptions extends Partial<PlcOptions> {
  /** Default: an address without a server. */
  readonly service_url?: string;
  /** The key for a claim; default: no key. */
  readonly api_key?: string;
  /** Further settings of the booth's connection. */
  readonly modbus?: object;
}

/** Starts a simulated PLC for one test, and writes a gateway's configuration for it. No agent runs. */
export async function plcSite({ service_url, api_key, modbus, ...more }: PlcSiteOptions = {}): Promise<PlcSite> {
  const profile = findProfile("click-booth", [SHIPPED_PROFILES]);
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("the shipped profile and scenario");
  const clock = scaledClock(clockFromNow(1));
  const plc = await startPlc({ profile, scenario, seed: 1, clock, port: 0, ...more });
  onTestFinished(() => plc.stop());
  const folder = temporaryFolder();
  const configFile = join(folder, "gateway.yaml");
  const booth = { id: "booth-1", profile: "click-booth", modbus: { host: "127.0.0.1", port: plc.port, ...modbus } };
  const api_key_file = join(folder, api_key === undefined ? "no-key" : "api-key");
  if (api_key !== undefined) writeFileSync(api_key_file, `${api_key}\n`, { mode: 0o600 });
  const service = { url: service_url ?? "http://127.0.0.1:1", api_key_file };
  writeFileSync(
    configFile,
    stringify({ data_dir: folder, runtime_dir: folder, page: { port: 0, lan_port: 0 }, service, booths: [booth] }),
  );
  return { plc, profile, configFile, runtimeDir: folder, gateway: (...argv) => runProgram(GATEWAY, argv) };
}
