import { describe, it } from "vitest";
import type { Booth } from "../../simulators/plc/model/booth.ts";
import type { Outage } from "./expected.ts";
import { play } from "./play.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 08:00 in Denver: where the stories told once begin. */
const MORNING = Date.UTC(2026, 2, 2, 15);
/** Mon 2026-03-02 07:40 in Denver. */
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);
/** The group with the serial number is asked this often while the connection stands. */
const SERIAL_POLL_MS = 10_000;
const BRIDGE_MS = 15_000;

/** The drop that froze, the broken and the short-circuited probe, and the drive that says 0 in every spray of an hour. */
const SENSOR_FAULTS = [
  "stuck exhaust_pressure",
  "sentinel air_temperature",
  "between air_temperature",
  "cross burner_on",
  "cross fan_speed",
  "cross fan_speed",
  "cross fan_speed",
];

describe("cycles", () => {
  it.each([
    { number: 1, scenario: "standard-cycle", hours: 2.5, results: ["complete"] },
    { number: 2, scenario: "waterborne", hours: 3, results: ["complete"] },
    {
      number: 5,
      scenario: "short-bakes",
      hours: 6,
      results: ["short_bake", "short_bake", "complete"],
      incidents: ["transition mode"],
    },
    { number: 8, scenario: "flame-lockout", hours: 5, results: ["aborted(fault)", "complete"] },
    { number: 9, scenario: "estop", hours: 4, results: ["aborted(estop)", "complete"] },
    { number: 10, scenario: "power-cycle", hours: 4.5, results: ["aborted(plc_restart)", "complete"] },
    { number: 19, scenario: "fire-contact", hours: 4.5, results: ["complete", "aborted(short)", "complete"] },
    // The run of the second cycle went on unseen for 40 min.
    { number: 12, scenario: "cable-out", hours: 5, results: ["complete", "indeterminate"], incidents: ["gap mode"] },
  ])("$scenario", async (options) => {
    const played = await play({ ...options, start: MORNING });
    played.close();
  });

  it.each([
    { number: 3, scenario: "summer", hours: 11 },
    { number: 4, scenario: "busy-day", hours: 11 },
    { number: 16, scenario: "sensor-faults", hours: 11, incidents: SENSOR_FAULTS },
  ])("$scenario", async (options) => {
    const played = await play({ ...options, start: BEFORE_WORK });
    played.close();
  });

  it("wrong-serial: from the poll that shows another booth's serial number on, nothing is counted for this one", async () => {
    const end = BEFORE_WORK + 11 * HOUR_MS;
    const foreign = (booth: Booth): readonly Outage[] => {
      const changed = booth.truth(BEFORE_WORK, end).revisions.find(({ initial }) => !initial);
      const polls = Math.ceil(((changed?.at ?? NaN) - BEFORE_WORK) / SERIAL_POLL_MS);
      // A gap that isn't over leaves the mode as it was for as long as it would have bridged.
      return [{ start: BEFORE_WORK + polls * SERIAL_POLL_MS + BRIDGE_MS, end }];
    };
    const results = ["complete", "complete"];
    const incidents = ["identity plc_serial", "gap mode"];
    const story = { number: 17, scenario: "wrong-serial", start: BEFORE_WORK, hours: 11 };
    const played = await play({ ...story, outages: foreign, results, incidents });
    played.close();
  });
});
