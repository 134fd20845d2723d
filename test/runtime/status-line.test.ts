import { expect, it } from "vitest";
import { linkDown, newServiceState, type ServiceState } from "../../src/domain/link-status.ts";
import { type LineBooth, serviceWord, statusLine } from "../../src/runtime/service-manager.ts";

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

it.each<{ what: string; url: string | null; state: Partial<ServiceState>; word: string }>([
  { what: "that nobody has set up", url: null, state: {}, word: "not set up" },
  { what: "that no booth needs yet", url: "https://service", state: {}, word: "not in use yet" },
  { what: "that a booth waits for", url: "https://service", state: { wanted: true }, word: "down" },
  {
    what: "that doesn't answer a booth's first questions",
    url: "https://service",
    state: { answers: { link: linkDown(0, "no route", ""), at: 0 } },
    word: "down",
  },
])("the status line calls a service $what $word", ({ url, state, word }) => {
  expect(serviceWord({ service_url: url, service: { ...newServiceState(0), ...state } }, 1)).toBe(word);
});
