import { describe, expect, it } from "vitest";
import {
  HOLE_TTL_MS,
  holeKeepers,
  holesNow,
  keptHoles,
  modbusLinks,
  NO_HOLES,
  restoredHoles,
} from "../../../src/acquisition/modbus/driver.ts";
import type { ModbusProfile } from "../../../src/domain/profile.ts";
import { inlineIdentity } from "../../../simulators/virtual/store.ts";
import { openIdentity } from "../../../src/store/identity/identity.ts";
import { pattern } from "./fake-modbus.ts";
import { never, readGroup, values } from "../driver-calls.ts";
import { modbusBed, registers } from "./modbus-bed.ts";
import { profileOf } from "../../support/profiles.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

const bed = modbusBed();
const WALL = Date.UTC(2026, 2, 2);
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Two tags on each side of address 2, which is a hole. */
const POINTS = [...registers(2), ...registers(2, 3)];
const RIGHT = POINTS.map(({ address }) => pattern(3, address));

/** Runs an agent several times with the same data folder, each time in a boot of its own. */
function gateway(profile: ModbusProfile) {
  const { plc } = bed();
  plc.holes = (_, address) => address === 2;
  const folder = temporaryFolder();
  const life = async (now: { readonly mono: number; readonly wall: number }): Promise<number> => {
    const file = openIdentity(folder, () => "11111111-1111-4111-8111-111111111111");
    const keeperOf = await holeKeepers({ identity: inlineIdentity(file), log: silent }, [{ config: { id: "b" } }]);
    const { makeDriver } = modbusLinks(() => now)({ host: "127.0.0.1", port: plc.port }, profile, keeperOf("b"));
    const driver = makeDriver();
    await driver.open(never);
    plc.requests.length = 0;
    expect(values(await readGroup(driver, "g"))).toEqual(RIGHT);
    await driver.close();
    file.close();
    return plc.requests.length;
  };
  return { life };
}

describe("a learned hole", () => {
  it("survives a restart and a reboot, for 24 h, for this device only", async () => {
    const profile = profileOf(POINTS);
    const { life } = gateway(profile);
    const first = await life({ mono: 5 * HOUR_MS, wall: WALL });
    const later = await life({ mono: 1000, wall: WALL + HOUR_MS });
    expect({ first, later }).toEqual({ first: 3, later: 2 });
    expect(await life({ mono: 1000, wall: WALL + HOLE_TTL_MS - 1 })).toBe(2);
    // The block is tried as a whole once, and the hole is learned again.
    expect(await life({ mono: 1000, wall: WALL + HOLE_TTL_MS })).toBe(3);
    expect(await life({ mono: 1000, wall: WALL + HOLE_TTL_MS + HOUR_MS })).toBe(2);
  });
});

describe("stored holes", () => {
  const memory = restoredHoles(
    {
      version: 1,
      device: "here",
      firmware: "2",
      ranges: [
        { firmware: "1", table: "holding", first: 5, last: 4, learned_at: WALL },
        { firmware: "2", table: "coil", first: 7, last: 9, learned_at: WALL - HOUR_MS },
      ],
    },
    "here",
    { mono: 100, wall: WALL },
  );

  it("are restored by firmware version, each with its age", () => {
    expect(holesNow(memory)).toEqual({ coil: [[7, 9]] });
    const kept = keptHoles(memory, "here", { mono: 200, wall: WALL + 100 });
    expect(kept.ranges.map(({ learned_at }) => learned_at)).toEqual([WALL, WALL - HOUR_MS]);
    expect(restoredHoles(JSON.parse(JSON.stringify(kept)), "here", { mono: 100, wall: WALL })).toEqual(memory);
  });

  it("are ignored for another device, and damaged ones are skipped", () => {
    const kept = keptHoles(memory, "here", { mono: 0, wall: WALL });
    expect(restoredHoles(kept, "there", { mono: 0, wall: WALL })).toBe(NO_HOLES);
    const odd = [undefined, null, 7, "x", [], {}, { ...kept, version: 2 }, { ...kept, ranges: 3 }];
    for (const value of odd) expect(restoredHoles(value, "here", { mono: 0, wall: WALL })).toBe(NO_HOLES);
    const ranges = [{ firmware: "2", table: "desk", first: 1, last: 2, learned_at: 0 }, null, { table: "coil" }];
    expect(holesNow(restoredHoles({ ...kept, ranges }, "here", { mono: 0, wall: WALL }))).toEqual({});
  });

  it("count from now on if they seem to be learned in the future", () => {
    const kept = keptHoles(memory, "here", { mono: 100, wall: WALL });
    const restored = restoredHoles(kept, "here", { mono: 50, wall: 0 });
    expect(keptHoles(restored, "here", { mono: 50, wall: 0 }).ranges.map(({ learned_at }) => learned_at)).toEqual([
      0, 0,
    ]);
  });
});
