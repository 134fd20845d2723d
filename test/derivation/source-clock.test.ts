import { describe, expect, it } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import { MONO0, poll, put, script, type Script, silence, stay, T0 } from "../support/booth.ts";
import { incidentsOf, lived } from "../support/lives.ts";
import { PLAIN, tag } from "../support/parameters.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const SERVER: Parameters = { ...PLAIN, tags: { ...PLAIN.tags, air: tag("air_temperature", "C") } };

/** Adds a reading whose source time differs from the box's time by `off_ms`. */
function read(booth: Script, value: number, off_ms: number): void {
  const at = T0 + booth.now;
  const changes = [["air", value, "good", at + off_ms] as const];
  const poll_ = { boot: "boot-1", mono: MONO0 + booth.now, at, group: "fast", answered: true, changes };
  booth.entries.push({ kind: "poll", ...poll_, take: booth.entries.length + 1, stream: "s" });
}

function skews(booth: Script, parameters: Parameters): string[] {
  const facts = incidentsOf(booth, parameters, "clock_skew");
  return facts
    .filter(({ resolved_at }) => resolved_at === null)
    .map(({ tag_name, reason }) => `${tag_name}: ${reason}`);
}

describe("the check of an OPC UA server's clock (source timestamps)", () => {
  it.each([
    [60_000, []],
    [60_001, ["mode: the server's clock is 60 s ahead"]],
    [-60_000, []],
    [-60_001, ["mode: the server's clock is 60 s behind"]],
    [-3_600_000, ["mode: the server's clock is 3600 s behind"]],
  ])("reports, for a source time that is %i ms off when the value changes, %j", (off, expected) => {
    const booth = lived(SERVER, [MINUTE_MS, { mode: 1 }]);
    read(booth, 20, 0);
    stay(booth, MINUTE_MS);
    read(booth, 21, off);
    stay(booth, MINUTE_MS);
    expect(skews(booth, SERVER)).toEqual(expected);
  });

  it.each([
    ["has not changed", 20, 0, []],
    ["changed during a silence", 21, 5 * MINUTE_MS, []],
    ["changed between two polls", 21, 0, ["mode: the server's clock is 600 s behind"]],
  ])("reports, for a value that %s and has a source time ten minutes old, %j", (...[, value, silent, expected]) => {
    const booth = lived(SERVER, [MINUTE_MS, { mode: 1 }]);
    read(booth, 20, 0);
    stay(booth, MINUTE_MS);
    silence(booth, silent);
    read(booth, value, -10 * MINUTE_MS);
    stay(booth, MINUTE_MS);
    expect(skews(booth, SERVER)).toEqual(expected);
  });

  it("reports nothing while the gateway's own clock is not synced", () => {
    const booth = script(SERVER);
    booth.entries.splice(1, 1);
    put(booth, { kind: "t", value: { wall: T0, state: "unsynced" } });
    stay(booth, MINUTE_MS, { mode: 1 });
    read(booth, 20, 10 * MINUTE_MS);
    stay(booth, MINUTE_MS);
    expect(skews(booth, SERVER)).toEqual([]);
  });

  it("resolves its incident after ten readings with a right source time", () => {
    const booth = lived(SERVER, [MINUTE_MS, { mode: 1 }]);
    read(booth, 20, 2 * MINUTE_MS);
    for (let turn = 1; turn <= 10; turn += 1) {
      stay(booth, 5000);
      read(booth, 20 + turn, 0);
    }
    stay(booth, 5000);
    const facts = incidentsOf(booth, SERVER, "clock_skew");
    expect(facts.map(({ resolved_at }) => resolved_at !== null)).toEqual([false, true]);
  });
});

describe("the check of the PLC's clock", () => {
  it.each([
    ["s", 60, []],
    ["s", 61, ["clock: the PLC's clock is 61 s ahead"]],
    ["s", -60, []],
    ["s", -61, ["clock: the PLC's clock is 61 s behind"]],
    ["ms", 60, []],
    ["ms", 60.001, ["clock: the PLC's clock is 60 s ahead"]],
  ])("reports, for a clock in %s that is %f s off, %j", (unit, off, expected) => {
    const parameters = { ...PLAIN, tags: { ...PLAIN.tags, clock: tag("plc_clock", unit) } };
    const booth = lived(parameters, [MINUTE_MS, { mode: 1 }]);
    poll(booth, { clock: ((T0 + booth.now) / 1000 + off) * (unit === "ms" ? 1000 : 1) });
    booth.now += 1;
    stay(booth, 2 * MINUTE_MS);
    expect(skews(booth, parameters)).toEqual(expected);
  });
});
