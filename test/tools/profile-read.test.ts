import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { render } from "../../src/domain/messages/render.ts";
import { pollTrace, rangesIn, rangesOf } from "../../src/tools/profile/read.ts";
import { judge } from "../../src/tools/rules/profile-test.ts";
import { point, profileOf, QUIRKS } from "../support/profiles.ts";
import { temporaryFolder } from "../support/temporary.ts";

const HEADER = {
  kind: "header",
  format: "booth-plc-trace",
  version: 1,
  started_at: 0,
  profile: "p",
  profile_version: "1",
};

function traceOf(lines: readonly object[]): string {
  const file = join(temporaryFolder(), "booth.trace");
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}

const answer = (at_ms: number, request: string, said: string) => ({
  kind: "answer",
  at_ms,
  request,
  answer: said,
  took_ms: 1,
});

describe("the decoding of a recorded PLC session (pollTrace)", () => {
  const profile = profileOf([
    point(),
    point({ address: 1, type: "uint32", word_order: "low_first" }),
    point({ table: "coil", address: 9, type: "bool" }),
    point({ address: 40 }),
  ]);

  it("gives a tag's value from any read block that contains its registers, and no value after an exception or silence", () => {
    const file = traceOf([
      { ...HEADER, unit: 1, identification: null },
      answer(0, "010300000002", "0103040003" + "0732"),
      answer(100, "010300020001", "0103020001"),
      answer(200, "010100080008", "01010102"),
      answer(300, "010300280001", "018302"),
      { kind: "silence", at_ms: 400, request: "010300000002" },
      answer(500, "010300000001", "0103020004"),
      { kind: "end", at_ms: 600 },
    ]);
    const polls = pollTrace(file, profile);
    expect(
      polls.map(({ at_ms, samples }) => [at_ms, ...samples.map(({ tag, value }) => `${tag} ${String(value)}`)]),
    ).toEqual([
      [0, "t0 3"],
      [100, "t1 67378"],
      [200, "t2 true"],
      [500, "t0 4"],
    ]);
    const { tags, ok } = judge(profile, polls);
    expect(tags.map(({ verdict, why }) => `${verdict} ${render(why)}`.trim())).toEqual([
      "ok",
      "ok",
      "ok",
      "wrong not read",
    ]);
    expect(ok).toBe(false);
  });

  it("rejects a file that is missing, is not a trace, or has an invalid line, with the line number", () => {
    expect(() => pollTrace(traceOf([{ kind: "end", at_ms: 0 }]), profile)).toThrow(/booth\.trace:1: not a trace of/);
    const broken = traceOf([{ ...HEADER, unit: 1, identification: null }]);
    writeFileSync(broken, "x", { flag: "a" });
    expect(() => pollTrace(broken, profile)).toThrow(/booth\.trace:2: the line is not JSON/);
    expect(() => pollTrace(`${broken}.none`, profile)).toThrow(/cannot be read/);
  });
});

describe("the address ranges that a search reads", () => {
  it("are parsed from --range, and an invalid or too large range is rejected", () => {
    expect(rangesIn("holding:10-20, coil:0-7")).toEqual([
      { table: "holding", first: 10, last: 20 },
      { table: "coil", first: 0, last: 7 },
    ]);
    for (const wrong of ["holding:20-10", "holding", "hold:1-2", "holding:0-65536"])
      expect(() => rangesIn(wrong)).toThrow("does not have the form TABLE:FIRST-LAST");
    expect(() => rangesIn("holding:0-9000")).toThrow("more than 8000");
  });

  it("are the addresses outside the profile's holes, or the first 500 addresses of a table without known holes", () => {
    expect(
      rangesOf({
        ...QUIRKS,
        tables: ["holding", "coil"],
        holes: {
          holding: [
            [100, 199],
            [300, 65_535],
          ],
        },
      }),
    ).toEqual([
      { table: "holding", first: 0, last: 99 },
      { table: "holding", first: 200, last: 299 },
      { table: "coil", first: 0, last: 499 },
    ]);
  });
});
