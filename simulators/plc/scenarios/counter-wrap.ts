import { BUSY_DAY, type Scenario } from "../model/scenario.ts";

/** Raw values of click-booth: one count, 0.1 min, 0.01 therm, 0.1 kWh. */
export const counterWrap: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "counter-wrap",
  title: "busy days; the cycle counter wraps at 2^32 on the first, gas passes 65,535 (a carry between its words)",
  repeat: "daily",
  counters: { cycles: 2 ** 32 - 3, gas_therm: 655.3, energy_kwh: (2 ** 32 - 300) / 10, run_ms: 65_400 * 6000 },
  beats: BUSY_DAY,
};
