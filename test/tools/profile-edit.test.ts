import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { say } from "../cli/say.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** Makes a profile of two tags from a register list. */
async function madeProfile(family = "click") {
  const folder = temporaryFolder();
  const config = join(folder, "gateway.yaml");
  const file = join(folder, "profiles", "acme.yaml");
  const list = join(folder, "list.csv");
  writeFileSync(list, "Name,Modbus Address,Data Type,Unit\nair_temperature,428673,REAL,C\ngas,428675,REAL,therm\n");
  const run = (...words: string[]) => say(["profile", ...words, "--config", config]);
  const made = await run("new", "acme", "--from", family);
  expect(made).toMatchObject({ code: 0 });
  await run("import", list, "--yes");
  const read = () => parse(readFileSync(file, "utf8")) as Readonly<Record<string, unknown>>;
  const tag = (name: string) => (read()["tags"] as { name: string }[]).find((one) => one.name === name);
  return { run, read, tag, file, config };
}

describe("the profile command for changes by hand", () => {
  it("starts a profile with the word order and limits of a family, without its holes, tags and modes", async () => {
    const { read } = await madeProfile();
    expect(read()).toMatchObject({ modes: {}, modbus: { word_order: "low_first", max_registers: 125 } });
    expect(read()["modbus"]).not.toHaveProperty("holes");
    expect(await madeProfile("opcua")).toBeDefined();
  });

  it("changes a tag, converts its limits to a new unit, and takes each change back", async () => {
    const { run, tag, file } = await madeProfile();
    const first = readFileSync(file, "utf8");
    expect(tag("air_temperature")).toMatchObject({ unit: "C", min: -50, max: 400 });
    expect(await run("set", "air_temperature", "--with", "unit=F,label=Air", "--yes")).toMatchObject({ code: 0 });
    expect(tag("air_temperature")).toMatchObject({ unit: "F", min: -58, max: 752, label: "Air" });
    expect(await run("remove", "gas")).toMatchObject({ code: 0 });
    expect(tag("gas")).toBeUndefined();
    expect(await run("undo")).toMatchObject({ code: 0 });
    expect(tag("gas")).toMatchObject({ unit: "therm" });
    expect(await run("undo")).toMatchObject({ code: 0 });
    expect(readFileSync(file, "utf8")).toBe(first);
  });

  it("rejects an unknown tag and a wrong value, and then leaves the profile as it was", async () => {
    const { run, file } = await madeProfile();
    const before = readFileSync(file, "utf8");
    expect(await run("remove", "gass")).toMatchObject({
      code: 2,
      err: expect.stringContaining("no tag gass") as string,
    });
    const wrong = await run("set", "gas", "--with", "unit=minuets", "--yes");
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('unknown unit "minuets"') as string });
    expect(readFileSync(file, "utf8")).toBe(before);
    for (let left = 5; left > 0 && (await run("undo")).code === 0; left--);
    expect(await run("undo")).toMatchObject({ code: 1, err: expect.stringContaining("no change is left") as string });
  });

  it("deletes a profile with its history, but not one that a booth uses", async () => {
    const { run, file, config } = await madeProfile();
    const booth = "booths:\n  - { id: b1, profile: acme, modbus: { host: 192.0.2.1 } }\n";
    writeFileSync(config, booth);
    expect(await run("delete", "--yes")).toMatchObject({ code: 2, err: expect.stringContaining("b1 uses") as string });
    expect(existsSync(file)).toBe(true);
    writeFileSync(config, "booths: []\n");
    expect(await run("delete", "--yes")).toMatchObject({ code: 0 });
    expect([existsSync(file), existsSync(`${file}.undo`)]).toEqual([false, false]);
  });
});
