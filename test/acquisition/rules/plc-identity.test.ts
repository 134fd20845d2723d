import { render } from "../../../src/domain/messages/render.ts";
import { expect, it } from "vitest";
import {
  expectedSerial,
  identityIn,
  serialTagOf,
  UNKNOWN_PLC,
  type PlcIdentity,
} from "../../../src/acquisition/rules/link.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { clickBooth } from "../../support/profiles.ts";

const FIVE_MINUTES = 300_000;
const sample = (value: Sample["value"], more: Partial<Sample> = {}): Sample => ({
  tag: "serial",
  value,
  quality: "good",
  ...more,
});
const bad: Sample = { tag: "serial", value: null, quality: "bad", reason: "exception_2" };

function look(samples: readonly Sample[], of: { state?: PlcIdentity; mono?: number; expected?: string | null } = {}) {
  const { state = UNKNOWN_PLC, mono = 0, expected = "ABCD-123" } = of;
  return identityIn(state, { mono, samples, tag: "serial", expected });
}

it.each([
  ["returns the configured number if nobody has entered a number", { serial: null, confirmed: null }, "CONF-1"],
  ["returns null for a number that is entered but not confirmed", { serial: "ABCD-123", confirmed: null }, null],
  [
    "returns the entered number if it was confirmed while the PLC showed none",
    { serial: "ABCD-123", confirmed: { by: "", note: "" } },
    "ABCD-123",
  ],
  [
    "returns the PLC's own number if it was confirmed with the entered one",
    { serial: "ABCD-123", confirmed: { by: "", note: "", plc_serial: "HW-99" } },
    "HW-99",
  ],
])("expectedSerial uses the entered number only once it is confirmed: it %s", (_what, row, expected) => {
  expect(expectedSerial(row, "CONF-1")).toBe(expected);
});

it.each([
  ["accepts the booth's serial number", sample("ABCD-123"), false],
  ["ignores spaces, NULs and lowercase", sample(" abcd-123\0\0"), false],
  ["rejects another serial number", sample("ABCD-124"), true],
  ["rejects a text that can't be a serial number", sample("??"), true],
  ["accepts an empty text from a PLC without a serial number", sample(""), false],
  ["accepts a text of NULs from a PLC that is starting", sample("\0\0\0"), false],
  ["accepts a poll whose serial number the PLC rejects", bad, false],
  ["rejects an uncertain other number", sample(17, { quality: "uncertain" }), true],
])("the PLC identity check compares the serial number that the PLC shows: it %s", (_what, given, isForeign) => {
  const { foreign, event } = look([given]);
  expect(foreign !== null).toBe(isForeign);
  expect(event !== null).toBe(isForeign);
});

it("another booth's PLC is reported with both serial numbers and advice", () => {
  const { foreign, event } = look([sample("WXYZ-9")]);
  expect(render(foreign?.reason ?? "")).toContain(
    "shows serial number WXYZ-9, but this booth has serial number ABCD-123",
  );
  expect(render(foreign?.advice ?? "")).toContain("cable and address");
  expect(event).toEqual({ event: "identity", detail: render(foreign?.reason ?? ""), tag: "serial" });
});

it("a poll without a readable serial number keeps the result of the previous poll's identity check", () => {
  const wrong = look([sample("WXYZ-9")]).state;
  expect(look([], { state: wrong }).foreign).not.toBeNull();
  expect(look([bad], { state: wrong }).foreign).not.toBeNull();
  const right = look([sample("ABCD-123")]).state;
  expect(look([], { state: right }).foreign).toBeNull();
  expect(look([bad], { state: right }).foreign).toBeNull();
});

it("another booth's PLC is logged immediately, then every 5 min, and again when a third PLC answers", () => {
  let state = look([sample("WXYZ-9")]).state;
  for (const [mono, text, told] of [
    [FIVE_MINUTES - 1, "WXYZ-9", false],
    [FIVE_MINUTES, "WXYZ-9", true],
    [2 * FIVE_MINUTES - 1, "WXYZ-9", false],
    [2 * FIVE_MINUTES - 1, "WXYZ-8", true],
    [2 * FIVE_MINUTES, "ABCD-123", false],
    [2 * FIVE_MINUTES + 1, "WXYZ-8", true],
  ] as const) {
    const looked = look([sample(text)], { state, mono });
    expect(looked.event !== null, `${text} at ${mono}`).toBe(told);
    ({ state } = looked);
  }
});

it("an expected serial number that is entered or corrected while the PLC answers applies from the next poll", () => {
  const { state, foreign } = look([sample("WXYZ-9")], { expected: null });
  expect(foreign).toBeNull();
  expect(look([], { state, expected: "ABCD-123" }).foreign).not.toBeNull();
  expect(look([], { state, expected: "wxyz-9" }).foreign).toBeNull();
});

it("the serial number of a drive or a sensor is not compared", () => {
  const profile = clickBooth();
  expect(serialTagOf(profile)).toEqual({ tag: "plc_serial", group: "slow" });
  expect(serialTagOf({ ...profile, kind: "device" })).toBeNull();
  expect(serialTagOf({ ...profile, tags: profile.tags.filter(({ role }) => role !== "plc_serial") })).toBeNull();
});
