import { expect, it } from "vitest";
import { type LineBooth, statusLine } from "../../src/runtime/service-manager.ts";

/** A booth with so many records to send. */
function boothWith({ mode = "spray" as string | null, waiting = 12, trouble = "" }): LineBooth {
  const log = {
    reach: { newest_seq: 100, acked_seq: 100 - waiting },
    summary: mode === null ? null : { mode },
    trouble,
  };
  return { state: { booth: "booth-1" }, link: { plc: { kind: "up" } }, log } as LineBooth;
}

it.each([
  ["as it should be", [boothWith({})], "service up; booth-1: spray, PLC up, 12 to send"],
  [
    "before the first reading",
    [boothWith({ mode: null, waiting: 0 })],
    "service up; booth-1: nothing read yet, PLC up, 0 to send",
  ],
  [
    "a disk that refuses",
    [boothWith({ trouble: "SQLITE_FULL" })],
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
      Array.from({ length: 20 }, () => boothWith({})),
    ),
  ).toMatch(/^service up; .{225}\.\.\.$/);
});
