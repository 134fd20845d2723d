import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { clockFileText, clockFromNow, readClockFile, scaledClock } from "../../../simulators/clock.ts";

describe("the simulated clock", () => {
  it("advances its wall time and its monotonic time by the same amount", async () => {
    const clock = scaledClock(clockFromNow(1000, 5_000_000));
    const wall = clock.wall();
    const mono = clock.mono();
    await clock.sleep(20_000);
    expect(clock.mono() - mono).toBeGreaterThanOrEqual(20_000);
    expect(clock.wall()).toBeGreaterThanOrEqual(wall + 20_000 - 1);
    expect(Math.abs(clock.wall() - 5_000_000 - clock.mono())).toBeLessThan(1000);
  });

  it("rejects a sleep with the abort signal's reason, even if the signal was aborted earlier", async () => {
    const clock = scaledClock(clockFromNow(1));
    const stop = new AbortController();
    const sleeping = clock.sleep(10_000_000_000, stop.signal);
    stop.abort(new Error("enough"));
    await expect(sleeping).rejects.toThrow("enough");
    await expect(clock.sleep(1, stop.signal)).rejects.toThrow("enough");
  });

  it("can be shared through a file, and a file with invalid values is rejected", () => {
    const folder = mkdtempSync(join(tmpdir(), "clock-"));
    const path = join(folder, "clock.json");
    try {
      const origin = clockFromNow(60, 7);
      writeFileSync(path, clockFileText(origin));
      expect(readClockFile(path)).toEqual(origin);
      writeFileSync(path, JSON.stringify({ boot: "b", speed: 0 }));
      expect(() => readClockFile(path)).toThrow(/speed/);
      writeFileSync(path, JSON.stringify({ boot: "b", speed: 1, monotonic_origin_ns: 5 }));
      expect(() => readClockFile(path)).toThrow(/digits/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
