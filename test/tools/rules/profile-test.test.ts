import { describe, expect, it } from "vitest";
import { parseProfile } from "../../../src/config/profile.ts";
import { render } from "../../../src/domain/messages/render.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { judge } from "../../../src/tools/rules/profile-test.ts";

const PROFILE = parseProfile(
  `name: p
version: "1"
protocol: modbus
groups: { g: { poll_interval_ms: 1000 } }
modes: { "1": idle, "3": spray }
tags:
  - { name: mode, role: mode, address: "holding:0", type: uint16, group: g }
  - { name: temp, address: "holding:1", type: float32, group: g }
  - { name: cycles, role: cycle_counter, address: "holding:3", type: uint32, group: g, counter: { step: 1, retained: true } }
`,
  "p.yaml",
);

const good = (tag: string, value: Sample["value"]): Sample => ({ tag, value, quality: "good" });

function verdicts(...polls: readonly (readonly Sample[])[]) {
  const { tags, modes, ok } = judge(
    PROFILE,
    polls.map((samples, i) => ({ at_ms: i * 1000, samples })),
  );
  return {
    tags: Object.fromEntries(tags.map(({ tag, verdict, why }) => [tag, `${verdict} ${render(why)}`.trim()])),
    modes,
    ok,
  };
}

describe("the result of a test of a profile's readings", () => {
  it("is ok if all tags are read, all values are plausible and all mode codes are mapped", () => {
    const poll = [good("mode", 3), good("temp", 21.5), good("cycles", 1842)];
    expect(verdicts(poll, poll)).toEqual({
      tags: { mode: "ok", temp: "ok", cycles: "ok" },
      modes: [{ raw: "3", mode: "spray", reads: 2 }],
      ok: true,
    });
  });

  it("is wrong for a tag whose mode code isn't mapped, whose address the PLC rejects, or that was not read", () => {
    const refused: Sample = { tag: "temp", value: null, quality: "bad", reason: "exception_2" };
    expect(verdicts([good("mode", 9), refused])).toEqual({
      tags: {
        mode: "wrong the profile maps no mode to the code 9",
        temp: "wrong the PLC rejects this address",
        cycles: "wrong not read",
      },
      modes: [{ raw: "9", mode: null, reads: 1 }],
      ok: false,
    });
  });

  it("is look (a warning) for an implausible float, a counter that falls or jumps, or occasional failed reads", () => {
    const temp = (value: number) => [good("mode", 1), good("temp", value), good("cycles", 1)];
    expect(verdicts(temp(1e-38)).tags["temp"]).toContain("look almost zero");
    expect(verdicts(temp(1e30)).tags["temp"]).toContain("look implausibly large");
    expect(verdicts([good("cycles", 5)], [good("cycles", 4)]).tags["cycles"]).toContain("look the value decreased");
    expect(verdicts([good("cycles", 65_536)], [good("cycles", 131_072)]).tags["cycles"]).toContain(
      "look grew by 65536 in 1 s",
    );
    const lost: Sample = { tag: "temp", value: null, quality: "bad", reason: "no_answer" };
    expect(verdicts([good("temp", 20)], [lost]).tags["temp"]).toBe("look 1 of 2 reads failed: no answer");
  });
});
