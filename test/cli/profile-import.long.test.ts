import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { render } from "../../src/domain/messages/render.ts";
import { findProfile, loadProfile, profileNames, SHIPPED_PROFILES } from "../../src/config/profile.ts";
import type { ModbusProfile } from "../../src/domain/profile.ts";
import { temporaryFolder } from "../support/temporary.ts";
import type { Io } from "../../src/tools/command.ts";
import { drawnProfile, listRows, readBy, workshopAt } from "./drawn-plc.ts";
import { say } from "./say.ts";

/** Writes a register list as an office would. */
function listOf(profile: Pick<ModbusProfile, "tags" | "modes">): string {
  return listRows(profile)
    .map((row) => row.join(";"))
    .join("\r\n");
}

describe("the profile import command", () => {
  it.each([
    ["UTF-8", (text: string) => Buffer.from(text)],
    ["UTF-16, low byte first", (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le")],
    ["UTF-16, high byte first", (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le").swap16()],
    ["Latin-1", (text: string) => Buffer.from(text, "latin1")],
  ])("reads a register list encoded in %s", async (_, bytesOf) => {
    const site = await workshopAt(drawnProfile(4));
    const file = join(temporaryFolder(), "list.csv");
    writeFileSync(file, bytesOf("Name\tAddress\tType\tLabel\nair\t400007\tREAL\tKühlluft °C\n"));
    await site.run("new unknown --from modbus");
    expect(await site.run(`import ${file} --yes`)).toMatchObject({ code: 0 });
    expect(readFileSync(site.file, "utf8")).toContain("label: Kühlluft °C");
  });

  it("rejects a register list that exceeds the size limits, and leaves the profile unchanged", async () => {
    const site = await workshopAt(drawnProfile(4));
    const file = join(temporaryFolder(), "list.csv");
    await site.run("new unknown --from modbus");
    const before = readFileSync(site.file, "utf8");
    const head = "Name,Address,Type\n";
    for (const [text, why] of [
      [head + "x".repeat(5_000_000), "is larger than 5 MB"],
      [head + ",400001,REAL\n".repeat(20_001), "has more than 20000 rows"],
      [",".repeat(500_000) + head, "line 1 has more than 256 columns"],
    ] as const) {
      writeFileSync(file, text);
      const said = await site.run(`import ${file} --yes`);
      expect(said).toMatchObject({ code: 2, err: expect.stringContaining(why) as string });
    }
    expect(readFileSync(site.file, "utf8")).toBe(before);
  });

  it("makes a profile from an unknown PLC's register list, and the profile reads every tag and mode correctly", async () => {
    const site = await workshopAt(drawnProfile(4));
    const file = join(temporaryFolder(), "list.csv");
    writeFileSync(file, listOf(site.profile));
    expect(await site.run("new unknown --from modbus")).toMatchObject({ code: 0, err: "" });
    const at = `--host 127.0.0.1 --port ${site.plc.port}`;
    const said = await site.run(`import ${file} --base 1 --yes ${at}`);
    expect(said).toMatchObject({ code: 0, err: "" });
    // The rows that show how the list counts have the PLC's values.
    expect(said.out).toMatch(/^The list's numbers count from 1: .* \(\d+\): \w+:\d+ is .+ now; .* is .+ now$/m);
    expect(said.out).toContain("format generic; columns name, address, function, type, word_order");
    expect(said.out).toContain("the profile is complete");
    const made = loadProfile(site.file);
    expect(made.modes).toEqual(site.profile.modes);
    expect(made.tags.map(({ role }) => role)).toEqual(site.profile.tags.map(({ role }) => role));
    expect(readFileSync(site.file, "utf8")).toMatch(/name: air_temperature, .* # list\.csv:\d+, generic$/m);
    for (const mode of ["spray", "bake"] as const) {
      site.set(mode);
      site.clock.pace(600);
      await site.clock.sleep(300_000);
      site.clock.pace(0);
      expect(await readBy(made, site)).toEqual(await readBy(site.profile, site));
    }
    expect(await site.run("test --for 1s")).toMatchObject({ code: 0, err: "" });
  });

  it("asks about anything ambiguous in a register list, and reports each skipped row with the reason", async () => {
    const folder = temporaryFolder();
    const config = join(folder, "gateway.yaml");
    const file = join(folder, "list.csv");
    writeFileSync(file, "Name,Address,Type,Color\nBooth State,2,INT,red\nAir,3,REAL,\nAir,5,REAL,\nOdd,7,TIMER,\n");
    await say(["profile", "new", "acme", "--config", config]);
    const asked: string[] = [];
    const ask: Io["ask"] = (question, _, choices = []) => {
      asked.push(render(question));
      return Promise.resolve(choices.some(({ value }) => value === "holding:0") ? "holding:0" : "y");
    };
    const said = await say(["profile", "import", file, "--config", config, "--json"], { io: { ask } });
    expect(said).toMatchObject({ code: 0, err: "" });
    expect(asked).toEqual([
      "Which table do the list's register numbers belong to, and do they count from 0 or from 1?",
      "Does booth_state contain the booth's mode?",
      expect.stringContaining("Save these lines in"),
    ]);
    const { tags, left, missing } = JSON.parse(said.out) as Record<string, { name: string; address: string }[]>;
    expect(tags).toMatchObject([
      { name: "booth_state", address: "holding:2", role: "mode" },
      { name: "air", address: "holding:3", type: "float32" },
      { name: "air_2", address: "holding:5" },
    ]);
    expect(left).toEqual([{ line: 5, why: 'odd: the type "TIMER" is unknown' }]);
    expect(missing).toEqual(["no raw value is assigned to a mode"]);
  });

  it("exits with 2 and lists the columns if the file has no known column heads", async () => {
    const folder = temporaryFolder();
    const config = join(folder, "gateway.yaml");
    writeFileSync(join(folder, "x.csv"), "a,b\n1,2\n");
    await say(["profile", "new", "acme", "--config", config]);
    const said = await say(["profile", "import", join(folder, "x.csv"), "--config", config, "--yes"]);
    expect(said).toMatchObject({ code: 2, out: "" });
    expect(said.err).toContain("The columns are: A a, B b");
  });
});

describe("the profile export command", () => {
  it.each(profileNames().filter((name) => findProfile(name).kind !== "device"))(
    "exports the profile %s as a list from which import makes the same profile",
    async (name) => {
      const folder = temporaryFolder();
      const config = join(folder, "gateway.yaml");
      const own = join(dirname(config), "profiles");
      mkdirSync(own);
      copyFileSync(join(SHIPPED_PROFILES, `${name}.yaml`), join(own, `${name}.yaml`));
      const list = join(folder, "list.csv");
      const run = (...words: string[]) => say(["profile", ...words, "--config", config]);
      expect(await run("export", "--profile", name, "--out", list)).toMatchObject({ code: 0, err: "" });
      expect(await run("new", "again", "--from", name)).toMatchObject({ code: 0, err: "" });
      expect(await run("import", list, "--profile", "again", "--yes")).toMatchObject({ code: 0, err: "" });
      const before = findProfile(name);
      const after = loadProfile(join(own, "again.yaml"));
      expect(after.modes).toEqual(before.modes);
      const places = ({ tags }: typeof before) => tags.map(({ name: tag, point }) => [tag, decoded(point, before)]);
      expect(places(after)).toEqual(places(before));
      const meaning = ({ tags }: typeof before) => tags.map((tag) => ({ ...tag, point: null }));
      expect(meaning(after)).toEqual(meaning(before));
    },
  );
});

/** Returns a point with the word order in force. */
function decoded(point: object, { protocol, ...profile }: ReturnType<typeof findProfile>): object {
  if (protocol !== "modbus" || !("quirks" in profile)) return point;
  const isWide = "type" in point && /32|64/.test(String(point.type));
  const { word_order } = profile.quirks as { word_order: string };
  return isWide ? { word_order, ...point } : point;
}
