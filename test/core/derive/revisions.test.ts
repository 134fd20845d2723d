import { expect, test } from "vitest";
import { forget, poll, run, script, silence, T0, valuesOf, type Script } from "../../support/booth.ts";
import { PARAMETERS } from "../../support/parameters.ts";

/** Polls the slow group for `ms`, the last time at its very end. */
function read(booth: Script, ms: number, firmware: string | null): void {
  const end = booth.now + ms;
  poll(booth, { firmware }, "slow");
  while (booth.now < end) {
    booth.now = Math.min(end, booth.now + 10_000);
    poll(booth, {}, "slow");
  }
}

function versionsOf(booth: Script): unknown[] {
  booth.now += 1;
  poll(booth, { mode: 1 });
  booth.now += 1000;
  poll(booth);
  return valuesOf(run(booth, PARAMETERS).facts, "v").map((fact) => [
    fact.firmware_version,
    fact.first_seen_at - T0,
    fact.initial,
  ]);
}

test.each([
  [59_999, []],
  [60_000, [["1.0", 0, true]]],
  [60_001, [["1.0", 0, true]]],
])("a version read unchanged for %i ms: %j", (ms, expected) => {
  const booth = script(PARAMETERS);
  read(booth, ms, "1.0");
  expect(versionsOf(booth)).toEqual(expected);
});

test("one good read is not enough, however long ago", () => {
  const booth = script(PARAMETERS);
  poll(booth, { firmware: "1.0" }, "slow");
  silence(booth, 3_600_000);
  expect(versionsOf(booth)).toEqual([]);
});

test("first_seen_at is kept through an outage", () => {
  const booth = script(PARAMETERS);
  poll(booth, { firmware: "1.0" }, "slow");
  silence(booth, 3_600_000);
  forget(booth);
  read(booth, 0, "1.0");
  expect(versionsOf(booth)).toEqual([["1.0", 0, true]]);
});

test("empty and NUL-filled strings are no versions; going back to an older one is an entry", () => {
  const booth = script(PARAMETERS);
  read(booth, 70_000, "1.0");
  read(booth, 70_000, "");
  read(booth, 70_000, "1.\u0000\u0000");
  read(booth, 70_000, "1.1");
  read(booth, 30_000, "1.2");
  read(booth, 70_000, "1.0");
  expect(versionsOf(booth)).toEqual([
    ["1.0", 0, true],
    ["1.1", 210_000, false],
    ["1.0", 310_000, false],
  ]);
});
