import { describe, it } from "vitest";
import { play } from "./play.ts";

/** Mon 2026-03-02 08:00 in Denver: where the stories told once begin. */
const MORNING = Date.UTC(2026, 2, 2, 15);
/** Mon 2026-03-02 07:40 in Denver. */
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);

describe("cycles", () => {
  it.each([
    { number: 1, scenario: "standard-cycle", hours: 2.5, results: ["complete"] },
    { number: 2, scenario: "waterborne", hours: 3, results: ["complete"] },
    { number: 5, scenario: "short-bakes", hours: 6, results: ["short_bake", "short_bake", "complete"] },
    { number: 8, scenario: "flame-lockout", hours: 5, results: ["aborted(fault)", "complete"] },
    { number: 9, scenario: "estop", hours: 4, results: ["aborted(estop)", "complete"] },
    { number: 10, scenario: "power-cycle", hours: 4.5, results: ["aborted(plc_restart)", "complete"] },
    { number: 19, scenario: "fire-contact", hours: 4.5, results: ["complete", "aborted(short)", "complete"] },
    // The run of the second cycle went on unseen for 40 min.
    { number: 12, scenario: "cable-out", hours: 5, results: ["complete", "indeterminate"] },
  ])("$scenario", async (options) => {
    const played = await play({ ...options, start: MORNING });
    played.close();
  });

  it.each([
    { number: 3, scenario: "summer", hours: 11 },
    { number: 4, scenario: "busy-day", hours: 11 },
    { number: 16, scenario: "sensor-faults", hours: 11 },
    { number: 17, scenario: "wrong-serial", hours: 11 },
  ])("$scenario", async (options) => {
    const played = await play({ ...options, start: BEFORE_WORK });
    played.close();
  });
});
