import { describe, it } from "vitest";
import type { Booth } from "../../simulators/plc/model/booth.ts";
import type { Outage } from "./expected.ts";
import { play } from "./play.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 08:00 in Denver. */
const MORNING = Date.UTC(2026, 2, 2, 15);
/** Mon 2026-03-02 07:40 in Denver. */
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);
/** Poll interval of the group with the serial number. */
const SERIAL_POLL_MS = 10_000;
const BRIDGE_MS = 15_000;

/**
 * The frozen pressure drop, the broken and the short-circuited probe, and the drive that shows 0 in each spray of an
 * hour.
 */
const SENSOR_FAULTS = [
  "stuck exhaust_pressure",
  "sentinel air_temperature",
  "between air_temperature",
  "cross burner_on",
  "cross fan_speed",
  "cross fan_speed",
  "cross fan_speed",
];

describe("the gateway's derivation", () => {
  it.each([
    { scenario: "standard-cycle", hours: 2.5, results: ["complete"] },
    { scenario: "waterborne", hours: 3, results: ["complete"] },
    {
      scenario: "short-bakes",
      hours: 6,
      results: ["short_bake", "short_bake", "complete"],
      incidents: ["transition mode"],
    },
    { scenario: "flame-lockout", hours: 5, results: ["aborted(fault)", "complete"] },
    { scenario: "estop", hours: 4, results: ["aborted(estop)", "complete"] },
    { scenario: "power-cycle", hours: 4.5, results: ["aborted(plc_restart)", "complete"] },
    { scenario: "fire-contact", hours: 4.5, results: ["complete", "aborted(short)", "complete"] },
    // The run of the second cycle was not seen for 40 min.
    { scenario: "cable-out", hours: 5, results: ["complete", "indeterminate"], incidents: ["gap mode"] },
  ])("gives the true cycles, figures and incidents for the scenario $scenario", async (options) => {
    const played = await play({ ...options, start: MORNING });
    played.close();
  });

  it.each([
    { scenario: "summer", hours: 11 },
    { scenario: "busy-day", hours: 11 },
    { scenario: "sensor-faults", hours: 11, incidents: SENSOR_FAULTS },
  ])("gives the true figures and incidents for a working day of the scenario $scenario", async (options) => {
    const played = await play({ ...options, start: BEFORE_WORK });
    played.close();
  });

  it("counts nothing once a poll shows another booth's serial number", async () => {
    const end = BEFORE_WORK + 11 * HOUR_MS;
    const foreign = (booth: Booth): readonly Outage[] => {
      const changed = booth.truth(BEFORE_WORK, end).revisions.find(({ initial }) => !initial);
      const polls = Math.ceil(((changed?.at ?? NaN) - BEFORE_WORK) / SERIAL_POLL_MS);
      // An open gap continues the mode for the length of the bridge.
      return [{ start: BEFORE_WORK + polls * SERIAL_POLL_MS + BRIDGE_MS, end }];
    };
    const results = ["complete", "complete"];
    const incidents = ["identity plc_serial", "gap mode"];
    const story = { scenario: "wrong-serial", start: BEFORE_WORK, hours: 11 };
    const played = await play({ ...story, outages: foreign, results, incidents });
    played.close();
  });
});
