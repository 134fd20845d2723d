import { expect, test } from "vitest";
import { shownVersions } from "../../src/domain/summary.ts";
import { summaryOf } from "../../src/reports/summary.ts";
import type { TagValue } from "../../src/domain/booth.ts";
import { fold, poll, reboot, run, script, type Script, silence, T0, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { PARAMETERS, tag } from "../support/parameters.ts";

/** Polls the slow group for `ms`, with the last poll at the very end. */
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
])("a firmware version that is read unchanged for %i ms is recorded as %j", (ms, expected) => {
  const booth = script(PARAMETERS);
  read(booth, ms, "1.0");
  expect(versionsOf(booth)).toEqual(expected);
});

test("a firmware version with a single good reading is not recorded, even after an hour", () => {
  const booth = script(PARAMETERS);
  poll(booth, { firmware: "1.0" }, "slow");
  silence(booth, 3_600_000);
  expect(versionsOf(booth)).toEqual([]);
});

test("first_seen_at of a firmware version stays the same after an outage", () => {
  const booth = script(PARAMETERS);
  poll(booth, { firmware: "1.0" }, "slow");
  live(booth, { gap_ms: 3_600_000 });
  read(booth, 0, "1.0");
  expect(versionsOf(booth)).toEqual([["1.0", 0, true]]);
});

test("empty and NUL-filled version strings are ignored, and a return to an earlier version is recorded", () => {
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

test.each([
  [20_000, 30_000, []],
  [20_000, 39_999, []],
  [20_000, 40_000, [["1.0", 0, true]]],
  [3_600_000, 0, [["1.0", 0, true]]],
])(
  "a version read once before a reboot, and %i ms later for %i ms after the reboot, is recorded as %j",
  (away, ms, expected) => {
    const booth = script(PARAMETERS);
    poll(booth, { firmware: "1.0" }, "slow");
    live(booth, { gap_ms: away });
    const from = booth.entries.length;
    read(booth, ms, "1.0");
    booth.now += 1;
    poll(booth, { mode: 1 });
    booth.now += 1000;
    poll(booth, { mode: 2 });
    reboot(booth, from);
    const { facts } = fold(booth.entries, PARAMETERS, [3]);
    const found = valuesOf(facts, "v").map((fact) => [fact.firmware_version, fact.first_seen_at - T0, fact.initial]);
    expect(found).toEqual(expected);
  },
);

test.each<[TagValue, unknown[]]>([
  [341, [["341", 0, true]]],
  ["  3.41 ", [["3.41", 0, true]]],
  [true, []],
  ["3.4\u00071", []],
  ["3.4\u007f", []],
  ["3.4\ufffd", []],
])("the firmware version %j is recorded as %j", (value, expected) => {
  const booth = script(PARAMETERS);
  poll(booth, { firmware: value }, "slow");
  for (let turn = 0; turn < 7; turn += 1) {
    booth.now += 10_000;
    poll(booth, {}, "slow");
  }
  expect(versionsOf(booth)).toEqual(expected);
});

test.each([
  [true, "", []],
  [true, "14C", [["BOOTH-24", "14C"]]],
  [false, "", [["BOOTH-24", undefined]]],
])("a PLC program (revision tag configured: %s, revision read: %j) is recorded as %j", (tagged, revision, expected) => {
  const own = { program: tag("plc_program"), ...(tagged ? { revision: tag("plc_program_revision") } : {}) };
  const parameters = { ...PARAMETERS, tags: { ...PARAMETERS.tags, ...own } };
  const booth = lived(parameters, [80_000, { mode: 1, program: "BOOTH-24", ...(tagged ? { revision } : {}) }]);
  const found = valuesOf(fold(booth.entries, parameters, [3]).facts, "v");
  expect(found.map(({ plc_program, plc_program_revision }) => [plc_program, plc_program_revision])).toEqual(expected);
});

test("a version read for less than a minute is shown on the page, but not yet reported as the booth's version", () => {
  const booth = script(PARAMETERS);
  read(booth, 10_000, "1.0");
  const early = summaryOf(run(booth, PARAMETERS).state, T0 + booth.now);
  expect(early.firmware_version).toBeNull();
  expect(shownVersions(early).firmware_version).toBe("1.0");
  read(booth, 60_000, "1.0");
  read(booth, 10_000, "1.1");
  const late = summaryOf(run(booth, PARAMETERS).state, T0 + booth.now);
  expect([late.firmware_version, shownVersions(late).firmware_version]).toEqual(["1.0", "1.0"]);
});
