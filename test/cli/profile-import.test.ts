import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { render } from "../../src/domain/messages/render.ts";
import type { Choice, Io } from "../../src/tools/command.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { say } from "./say.ts";

type Tag = Readonly<Record<string, unknown>>;

/** Makes a new Modbus profile, and imports lists into it. */
async function bench() {
  const folder = temporaryFolder();
  const config = join(folder, "gateway.yaml");
  const profile = join(folder, "profiles", "acme.yaml");
  await say(["profile", "new", "acme", "--from", "modbus", "--config", config]);
  const asked: { readonly question: string; readonly choices: readonly Choice[] }[] = [];
  return {
    profile,
    asked,
    tags: () => (parse(readFileSync(profile, "utf8")) as { readonly tags: readonly Tag[] }).tags,
    /** `reply` answers each choice; a yes-or-no question gets yes. Without a reply no terminal is there. */
    run: (text: string, options: readonly string[] = ["--yes"], reply?: string) => {
      const file = join(folder, "list.csv");
      writeFileSync(file, text);
      const ask: Io["ask"] = (question, kind, choices = []) => {
        asked.push({ question: render(question), choices });
        return Promise.resolve(kind === "choose" ? (reply ?? null) : "y");
      };
      const io = reply === undefined ? {} : { ask };
      return say(["profile", "import", file, "--config", config, ...options], { io });
    },
  };
}

const place = ({ name, address }: Tag): unknown => [name, address];

describe("the profile import command", () => {
  it("counts registers from 0 if a list with function codes contains register 0, and shows the rows that prove it", async () => {
    const { run, tags } = await bench();
    const said = await run(
      "Name,Function Code,Register,Data Type\nBooth mode,3,0,UINT16\nCycle count,3,1,UINT32\nAir,3,3,FLOAT32\nDoor open,2,0,BOOL\n",
    );
    expect(said).toMatchObject({ code: 0, err: "" });
    expect(said.out).toContain(
      "The list's numbers count from 0: Booth mode (0): holding:0; Cycle count (1): holding:1; Air (3): holding:3\n",
    );
    expect(tags().map(place)).toEqual([
      ["booth_mode", "holding:0"],
      ["cycle_count", "holding:1"],
      ["air", "holding:3"],
      ["door_open", "discrete:0"],
    ]);
  });

  it.each([
    [
      "whether addresses count from 0 or 1",
      "Name,FC,Address,Type\na,3,7,INT\n",
      { options: ["--base", "1"], named: "--base 0 or 1" },
    ],
    [
      "the register table and whether addresses count from 0 or 1",
      "Name,Address,Type\na,7,INT\n",
      { options: ["--table", "input", "--base", "0"], named: "--table holding or input, --base 0 or 1" },
    ],
    [
      "the data block",
      "Name,Address,Type\na,DB11.DBW2,INT\nb,DB42.DBW2,INT\n",
      { options: ["--block", "db11"], named: "--block DB11 or DB42 or none" },
    ],
    [
      "which table a word in the list stands for",
      "Name,Register Type,Address,Type\na,3,400001,INT\nb,holding,400002,INT\n",
      { options: ["--tables", "3=holding"], named: '--tables "3=TABLE"' },
    ],
    [
      "how to treat an unknown unit",
      "Name,Address,Type,Unit\na,400001,INT,furlong\n",
      { options: ["--unknown-units", "drop"], named: "--unknown-units drop" },
    ],
    [
      "whether a whole number as scale multiplies or divides",
      "Name,Address,Type,Scale\na,400001,INT,10\n",
      { options: ["--scale", "divide"], named: "--scale multiply or divide" },
    ],
    [
      "what the dot in an address means",
      "Name,FC,Address,Type\na,3,12.3,BOOL\n",
      { options: ["--dots", "bits", "--base", "0"], named: "--dots bits or bytes" },
    ],
  ])(
    "without a terminal, does not guess %s but names the missing option, and succeeds if that option is given",
    async (_, text, { options, named }) => {
      const { run, profile } = await bench();
      const before = readFileSync(profile, "utf8");
      const refused = await run(text);
      expect(refused.code).toBe(2);
      expect(refused.err).toContain(named);
      expect(readFileSync(profile, "utf8")).toBe(before);
      expect(await run(text, [...options, "--yes"])).toMatchObject({ code: 0, err: "" });
    },
  );

  it("asks on a terminal for register table and address base in one question, whose choices show the resulting addresses", async () => {
    const { run, tags, asked } = await bench();
    expect(await run("Name,Address,Type\nair,7,INT\n", [], "input:1")).toMatchObject({ code: 0, err: "" });
    expect(asked[0]?.choices.map(({ value, text }) => [value, text])).toEqual([
      ["holding:0", "air (7): holding:7"],
      ["holding:1", "air (7): holding:6"],
      ["input:0", "air (7): input:7"],
      ["input:1", "air (7): input:6"],
    ]);
    expect(asked).toHaveLength(2);
    expect(tags().map(place)).toEqual([["air", "input:6"]]);
  });

  it("applies the scaling, units and strings of a Kepware list, and doesn't treat a gas temperature as a gas meter", async () => {
    const { run, tags } = await bench();
    const said = await run(
      'Tag Name,Address,Data Type,Scaling,Raw Low,Raw High,Scaled Low,Scaled High,Eng Units,Description\n"B2.AirTemp",400203,Float,,,,,,"degF",""\n"B2.GasTemp",400205,Short,Linear,0,1000,0,250,"degC",""\n"B2.Text",400220.20H,String,,,,,,,""\n',
    );
    expect(said).toMatchObject({ code: 0, err: "" });
    expect(tags()).toMatchObject([
      { name: "b2_air_temp", address: "holding:202", unit: "F" },
      { name: "b2_gas_temp", address: "holding:204", unit: "C", scale: 0.25 },
      { name: "b2_text", address: "holding:219", type: "string", length: 10 },
    ]);
    expect(tags().map(({ role }) => role)).toEqual([undefined, undefined, undefined]);
  });

  it("assigns a role to a tag whose name and unit match, or whose name alone matches if --by-name yes is given", async () => {
    const list =
      "Name,Address,Type,Unit\nAir temperature,400001,REAL,degF\nGas,400003,REAL,°C\nBooth pressure,400005,REAL,\n";
    const { run, tags } = await bench();
    expect(await run(list)).toMatchObject({ code: 0, err: "" });
    expect(tags().map(({ role, unit }) => [role, unit])).toEqual([
      ["air_temperature", "F"],
      [undefined, "C"],
      [undefined, undefined],
    ]);
    expect(tags()[0]).toMatchObject({ min: -58, max: 752, deadband: 1.8 });
    expect(await run(list, ["--yes", "--by-name", "yes", "--same-names", "replace"])).toMatchObject({ code: 0 });
    expect(tags()[2]).toMatchObject({ role: "booth_pressure", unit: "Pa" });
  });

  it("assigns no role to a setpoint, a second counter or a door-shut contact, even if the name resembles a usual tag's name", async () => {
    const { run, tags } = await bench();
    await run(
      "Name,Address,Type,Unit\nDoor shut,100001,BOOL,\nAir temp setpoint,400001,REAL,C\nCycle count 2,400003,UDINT,\n",
    );
    expect(tags().map(({ role, bay }) => [role, bay])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it("replaces, keeps or skips a tag whose name the profile already has, as --same-names or the user chooses", async () => {
    const list = (at: number): string => `Name,Address,Type\nCycle count,${at},UDINT\n`;
    const kept = await bench();
    await kept.run(list(400001));
    expect((await kept.run(list(400011))).err).toContain("--same-names replace, keep or skip");
    expect(await kept.run(list(400011), [], "keep")).toMatchObject({ code: 0 });
    expect(kept.tags().map(place)).toEqual([
      ["cycle_count", "holding:0"],
      ["cycle_count_2", "holding:10"],
    ]);
    expect(kept.tags()[1]).not.toHaveProperty("role");
    expect(kept.tags()[1]).not.toHaveProperty("bay");
    const replaced = await bench();
    await replaced.run(list(400001));
    await replaced.run(list(400011), ["--yes", "--same-names", "replace"]);
    expect(replaced.tags().map(place)).toEqual([["cycle_count", "holding:10"]]);
    const skipped = await bench();
    await skipped.run(list(400001));
    expect(await skipped.run(list(400011), ["--yes", "--same-names", "skip"])).toMatchObject({ code: 0 });
    expect(skipped.tags().map(place)).toEqual([["cycle_count", "holding:0"]]);
  });

  it("writes a label with line breaks, quotes and braces as a single valid YAML line", async () => {
    const { run, tags, profile } = await bench();
    const label = 'Bits: # {a}, "b"\r\n0x1 - plug\u2028in\n\tand: out';
    const cell = `"${label.replaceAll('"', '""')}"`;
    expect(
      await run(`Name,Address,Type,Description\nLock,400021,UINT16,${cell}\nSpare,400022,UINT16,none\n`),
    ).toMatchObject({
      code: 0,
      err: "",
    });
    expect(tags().map(({ label: text }) => text)).toEqual(['Bits: # {a}, "b" 0x1 - plug in and: out', "none"]);
    expect(readFileSync(profile, "utf8").match(/^ {2}- \{ name: .* \} # list\.csv:/gm)).toHaveLength(2);
  });
});
