import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loadProfile } from "../../src/config/profile.ts";
import type { ProfileMode } from "../../src/domain/booth.ts";
import type { ModbusTag } from "../../src/domain/profile.ts";
import type { Text } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";
import { DRAWN_MODES, drawnProfile, readBy, workshopAt, type Workshop } from "./drawn-plc.ts";
import { say } from "./say.ts";

/** Returns an address as in the manual of such a PLC: from 1, with the digit of its table. */
function manualAddress({ point }: ModbusTag): string {
  const digit = { coil: "0", discrete: "1", input: "3", holding: "4" }[point.table];
  return `${digit}${String(point.address + 1).padStart(5, "0")}`;
}

/** Adds every tag by its displayed value. */
async function addAll(site: Workshop): Promise<void> {
  for (const tag of site.profile.tags.filter(({ role }) => role !== "mode")) {
    const shown = site.shows(tag.name);
    const said = await site.run(`add ${tag.name} --at ${manualAddress(tag)} --expect ${shown} --yes`);
    expect(said, `${tag.name} ${shown}`).toMatchObject({ code: 0, err: "" });
  }
}

/** Answers as a person at the booth who sets the requested modes. */
function operator(site: Workshop): (asked: Text) => Promise<string> {
  return (asked) => {
    const question = render(asked);
    const [, mode] = /Set the booth to (\w+)/.exec(question) ?? [];
    if (mode !== undefined) site.set(mode as ProfileMode);
    return Promise.resolve(question.includes("Which one") ? "" : "y");
  };
}

describe("the profile command", () => {
  it.each([1, 2, 3])(
    "makes a correct profile of an unknown PLC by its subcommands alone (PLC with register map %i)",
    async (seed) => {
      const site = await workshopAt(drawnProfile(seed));
      expect(await site.run("new unknown --from modbus")).toMatchObject({ code: 0, err: "" });
      site.set("spray");
      site.clock.pace(60);
      await site.clock.sleep(60_000);
      site.clock.pace(0);
      await addAll(site);
      const text = readFileSync(site.file, "utf8");
      expect(text.match(/^ {2}- \{ name: .* \} # .*, read .* on \d{4}-\d\d-\d\d/gm)).toHaveLength(24);

      site.clock.pace(1);
      const learned = await site.run("learn modes --for 1s", { ask: operator(site) });
      expect(learned).toMatchObject({
        code: 0,
        err: expect.stringContaining("holding:0-499 with at most 5 requests per second") as string,
      });
      expect(learned.out).toContain("the profile is complete");
      const made = loadProfile(site.file);
      const codes = Object.entries(site.profile.modes).filter(([, mode]) =>
        (DRAWN_MODES as readonly string[]).includes(mode),
      );
      expect(made.modes).toEqual(Object.fromEntries(codes));
      expect(await say(["check", site.file])).toMatchObject({ code: 0, err: "" });
      const tested = await site.run("test --for 2s");
      expect(tested).toMatchObject({ code: 0, err: "" });
      expect(tested.out).toContain("all tags are plausible");

      // Other instants and modes than those of the search.
      for (const mode of ["bake", "idle"] as const) {
        site.set(mode);
        site.clock.pace(600);
        await site.clock.sleep(300_000);
        site.clock.pace(0);
        const truth = await readBy(site.profile, site);
        expect(await readBy(made, site)).toEqual(truth);
      }
      expect(site.plc.counts).toMatchObject({ writes: 0, malformed: 0 });
    },
  );

  it("finds the counters of an unknown PLC by watching registers, and their word order and scale by displayed values", async () => {
    const site = await workshopAt(drawnProfile(5));
    await site.run("new unknown --from modbus");
    site.clock.pace(1);
    expect(await site.run("learn modes --for 1s", { ask: operator(site) })).toMatchObject({ code: 0 });
    const placed = new Map(site.profile.tags.map((tag) => [tag.point.address, tag]));
    const tagAt = (question: string): ModbusTag | undefined => {
      const [, table, address = ""] = /^(holding|input):(\d+)/.exec(question) ?? [];
      const near = [0, -1].map((by) => placed.get(Number(address) + by));
      return near.find((tag) => tag?.point.table === table && tag?.point.type === "uint32");
    };
    const ask = (asked: Text): Promise<string> => {
      const question = render(asked);
      // Reading the display takes no simulated time.
      site.clock.pace(0);
      const [, name] = /Which value of (\w+) is/.exec(question) ?? [];
      if (name !== undefined) return Promise.resolve(site.shows(name));
      return Promise.resolve(question.startsWith("Save these lines") ? "y" : (tagAt(question)?.name ?? "-"));
    };
    site.clock.pace(300);
    const said = await site.run("learn counters --for 90m", { ask });
    expect(said).toMatchObject({ code: 0 });
    expect(said.out).toMatch(/^register +type +now +per hour +increased in +unchanged in$/m);
    const made = loadProfile(site.file);
    const names = made.tags.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["run_minutes", "gas", "energy", "uptime_s", "exhaust_minutes"]));
    expect(made.tags.find(({ name }) => name === "run_minutes")).toMatchObject({ role: "hour_meter", unit: "min" });
    expect(await readBy(site.profile, site)).toMatchObject(await readBy(made, site));
    expect(readFileSync(site.file, "utf8")).toMatch(
      /name: run_minutes, .* # learned on .* in 90 min: grew .*\d+ in spray.*; the display showed/,
    );
  });
});
