import { expect, it } from "vitest";
import { statusLine } from "../../../src/runtime/rules/status-line.ts";

const BOOTH = { booth: "booth-1", mode: "spray", plc: "up", waiting: 12, trouble: "" } as const;

it.each([
  ["as it should be", [BOOTH], "service up; booth-1: spray, PLC up, 12 to send"],
  [
    "before the first reading",
    [{ ...BOOTH, mode: null, waiting: 0 }],
    "service up; booth-1: nothing read yet, PLC up, 0 to send",
  ],
  [
    "a disk that refuses",
    [{ ...BOOTH, trouble: "SQLITE_FULL" }],
    "service up; booth-1: spray, PLC up, 12 to send, store in trouble",
  ],
  ["no booth", [], "service up"],
])("the status line: %s", (_, booths, line) => {
  expect(statusLine("up", booths)).toBe(line);
});

it("the status line of many booths is cut", () => {
  expect(
    statusLine(
      "up",
      Array.from({ length: 20 }, () => BOOTH),
    ),
  ).toMatch(/^service up; .{225}\.\.\.$/);
});
