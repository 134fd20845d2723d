import { expect, it } from "vitest";
import { energy } from "../../src/reports/energy.ts";
import { validationIncidents } from "../../src/reports/findings.ts";
import { clickBooth } from "../support/profiles.ts";
import { play } from "./play.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 08:00 in Denver. */
const MORNING = Date.UTC(2026, 2, 2, 15);
/** Sizes of the booth's burner and of both fans. */
const SIZES = { burner_size_btu_h: 1_000_000, motor_size_hp: 20 };

/** Returns the same PLC without meters. */
function unmetered(): ReturnType<typeof clickBooth> {
  const profile = clickBooth();
  return { ...profile, tags: profile.tags.filter(({ role }) => role !== "gas" && role !== "kwh") };
}

it.each([
  // The fans' share of a meter that also counts lights.
  { scenario: "standard-cycle", hours: 2.5, gas: [0.98, 1.02], kwh: [0.8, 1] },
  // The estimate excludes the 40 min without data.
  { scenario: "cable-out", hours: 5, gas: [0.7, 0.8], kwh: [0.6, 0.7] },
])(
  "in the scenario $scenario without energy meters, gateway and service show the same estimated energy",
  async ({ gas, kwh, ...story }) => {
    const common = { start: MORNING, profile: unmetered(), booth: SIZES, unlisted: true };
    const played = await play({ ...common, ...story, name: `${story.scenario} without meters` });
    const { source, window, truth } = played;
    const found = energy(source, window);
    expect([found.gas_source, found.energy_source]).toEqual(["estimate", "estimate"]);
    const shares = [
      [(found.gas_therm ?? NaN) / truth.gas_therm, gas],
      [(found.energy_kwh ?? NaN) / truth.energy_kwh, kwh],
    ] as const;
    for (const [share, [low = NaN, high = NaN]] of shares) {
      expect(share).toBeGreaterThan(low);
      expect(share).toBeLessThan(high);
    }
    played.close();
  },
);

it("in the scenario busy-day, a meter with a wrong factor opens an incident, and a meter with the right factor opens none", async () => {
  const profile = clickBooth();
  const tags = profile.tags.map((tag) => (tag.role === "gas" ? { ...tag, factor: 10 } : tag));
  const story = { scenario: "busy-day", start: MORNING - 20 * MINUTE_MS, hours: 17.5 };
  const played = await play({
    ...story,
    name: "gas meter's factor",
    profile: { ...profile, tags },
    booth: SIZES,
    unlisted: true,
  });
  const found = validationIncidents(played.source, played.window).map(({ check, tag_name }) => `${check} ${tag_name}`);
  expect(found).toEqual(["energy_mismatch gas"]);
  played.close();
});
