import { findProfile } from "../../src/config/profile.ts";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc, type RunningPlc } from "../../simulators/plc/start.ts";

/** The simulated booth behind Modbus TCP, for an agent of its own. */
export async function modbusPlc(): Promise<RunningPlc> {
  const profile = findProfile("click-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("nothing to play");
  return startPlc({ profile, scenario, seed: 1, clock: scaledClock(clockFromNow(1, Date.now())), port: 0 });
}
