import { describe, expect, it } from "vitest";
import { type BacklogAnswer, backlogText, drainOf, type Measurement } from "../../src/cli/backlog.ts";
import { terminalText } from "../../src/tools/terminal-text.ts";
import { barText, linkText, styleOf } from "../../src/tools/texts.ts";
import type { LinkStatus } from "../../src/domain/status.ts";

const measured = (second: number, newest_seq: number, acked_seq: number): Measurement => ({
  mono: second * 1_000,
  newest_seq,
  acked_seq,
});

describe("drainOf", () => {
  it.each<[string, readonly Measurement[], ReturnType<typeof drainOf>]>([
    ["returns null for one measurement", [measured(0, 100, 0)], null],
    [
      "computes the time to an empty backlog from the acked records per second minus the new ones",
      [measured(0, 1_000, 0), measured(10, 1_020, 520)],
      { waiting: 500, acked_per_s: 52, new_per_s: 2, done_in_ms: 10_000, share: 0.5 },
    ],
    [
      "gives no end time if new records arrive as fast as records are acked",
      [measured(0, 100, 0), measured(1, 110, 10)],
      { waiting: 100, acked_per_s: 10, new_per_s: 10, done_in_ms: null, share: 0 },
    ],
    [
      "returns share 1 and 0 ms left if no record is waiting",
      [measured(0, 100, 50), measured(1, 100, 100)],
      { waiting: 0, acked_per_s: 50, new_per_s: 0, done_in_ms: 0, share: 1 },
    ],
    [
      "takes the rate from the last 30 s, and the share from the largest backlog seen",
      [measured(0, 1_000, 0), measured(10, 1_000, 0), measured(40, 1_000, 300)],
      { waiting: 700, acked_per_s: 10, new_per_s: 0, done_in_ms: 70_000, share: 1 - 700 / 1_000 },
    ],
  ])("%s", (_, measurements, drain) => {
    expect(drainOf(measurements)).toEqual(drain);
  });
});

it("barText draws a bar of 30 characters", () => {
  expect(barText(0)).toBe(`[${".".repeat(30)}] 0 %`);
  expect(barText(0.5)).toBe(`[${"#".repeat(15)}${".".repeat(15)}] 50 %`);
  expect(barText(1)).toBe(`[${"#".repeat(30)}] 100 %`);
});

const AT = Date.UTC(2026, 2, 2, 15);
const answer = (booth: Partial<BacklogAnswer["booths"][number]>): BacklogAnswer => ({
  at: AT,
  service: { kind: "up", since: AT - 60_000, url: "https://service.example" },
  booths: [
    {
      booth: "booth-1",
      delivery: "service",
      waiting: 0,
      oldest_at: null,
      waiting_ms: null,
      hours_to_full: null,
      drain: null,
      ...booth,
    },
  ],
});

describe("backlogText", () => {
  const HEAD = "service   https://service.example: up for 1 min\n\nbooth-1   ";
  it.each<[string, Partial<BacklogAnswer["booths"][number]>, string]>([
    ["a booth without waiting records", {}, "nothing is waiting\n"],
    [
      "a service that does not accept readings",
      { delivery: "none", waiting: 9 },
      "this service does not accept readings: they are stored only on the gateway\n",
    ],
    [
      "a shrinking backlog",
      {
        waiting: 1_234,
        oldest_at: AT - 7_200_000,
        waiting_ms: 7_200_000,
        hours_to_full: 40.5,
        drain: { waiting: 1_234, acked_per_s: 250.4, new_per_s: 2.04, done_in_ms: 5_000, share: 0 },
      },
      "1234 records wait for the service, the oldest for 2 h (since 2026-03-02 13:00:00 UTC)\n" +
        "  rate      250 records/s go, 2 come: done in about 5 s\n  full      in 40 h 30 min if the service accepts none\n",
    ],
    [
      "a growing backlog that waits for a broker",
      {
        delivery: "broker",
        waiting: 1,
        drain: { waiting: 1, acked_per_s: 0, new_per_s: 1, done_in_ms: null, share: 0 },
      },
      "1 record waits for the broker\n  rate      0 records/s go, 1 come: it doesn't shrink\n",
    ],
    [
      "a small backlog of constant size",
      { waiting: 12, drain: { waiting: 12, acked_per_s: 6, new_per_s: 6.2, done_in_ms: null, share: 0 } },
      "12 records wait for the service\n  rate      6 records/s go, 6.2 come: it keeps up\n",
    ],
    [
      "a large backlog of constant size",
      { waiting: 5_000, drain: { waiting: 5_000, acked_per_s: 6, new_per_s: 6, done_in_ms: null, share: 0 } },
      "5000 records wait for the service\n  rate      6 records/s go, 6 come: it doesn't shrink\n",
    ],
  ])("describes the backlog: %s", (_, booth, text) => {
    expect(backlogText(answer(booth))).toBe(HEAD + text);
  });
});

describe("linkText", () => {
  const down: LinkStatus = {
    kind: "down",
    since: AT - 90_000,
    reason: "127.0.0.1:502: ECONNREFUSED",
    advice: "check the cable",
    attempt: 3,
    next_try_at: AT + 12_000,
  };
  it.each<[LinkStatus, string]>([
    [{ kind: "up", since: AT - 5_000 }, "up for 5 s"],
    [{ kind: "degraded", since: AT, reason: "half of it", advice: "look" }, "DEGRADED for 0 ms: half of it; look"],
    [down, "DOWN for 1 min: 127.0.0.1:502: ECONNREFUSED; check the cable; 3 failed attempts, next attempt in 12 s"],
    [{ ...down, attempt: 0, next_try_at: null, advice: "" }, "DOWN for 1 min: 127.0.0.1:502: ECONNREFUSED"],
  ])("describes a link that is $kind", (link, text) => {
    expect(linkText(link, AT)).toBe(text);
  });

  it("colors the link state only if the terminal supports colors", () => {
    const colored = terminalText(linkText({ kind: "up", since: AT }, AT, styleOf({ colors: true })));
    expect(colored).toBe("\u001b[32mup\u001b[0m for 0 ms");
    expect(linkText({ kind: "up", since: AT }, AT, styleOf({ colors: false }))).toBe("up for 0 ms");
  });
});
