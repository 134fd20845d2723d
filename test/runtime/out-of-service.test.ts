import { expect, test } from "vitest";
import { isOutOfService } from "../../src/runtime/decommission.ts";

const gone = { state: "decommissioned", reason: "" } as const;
const ended = { state: "decommissioned", reason: "the service has ended the binding (decommissioned)" } as const;
const active = { state: "active", reason: "" } as const;

test.each([
  ["no booth at all", [], false],
  ["each booth taken out of service", [gone, gone], true],
  ["one that is still bound", [gone, active], false],
  ["one that the service alone has ended", [gone, ended], false],
  ["one that was released", [{ state: "released", reason: "" } as const], false],
])("a box with %s", (_what, rows, expected) => {
  expect(isOutOfService(rows)).toBe(expected);
});
