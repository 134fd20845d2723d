import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Driver, PlcTools } from "../../src/acquisition/port.ts";
import { profileCommand } from "../../src/tools/profile/profile.ts";
import { loadProfile } from "../../src/config/profile.ts";
import { render } from "../../src/domain/messages/render.ts";
import type { ProfileTag } from "../../src/domain/profile.ts";
import { CommandError, type Io } from "../../src/tools/command.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { say } from "./say.ts";

/** Makes a PLC in memory. `places` returns its values in a mode; other addresses answer with an exception. */
function workshop(places: (mode: string) => Readonly<Record<string, number>>) {
  const config = join(temporaryFolder(), "gateway.yaml");
  const asked: string[] = [];
  let mode = "off";
  let now = 0;
  const driver = (profile: { readonly tags: readonly ProfileTag[] }): Driver => ({
    open: () => Promise.resolve(),
    close: () => Promise.resolve(),
    read: ([group = ""]) => {
      const memory = places(mode);
      const samples = profile.tags.map(({ name, point }) => {
        const raw = "table" in point ? memory[`${point.table}:${point.address}`] : undefined;
        const bit = "bit" in point ? point.bit : undefined;
        const value = raw === undefined || bit === undefined ? raw : ((raw >> bit) & 1) === 1;
        if (value === undefined) return { tag: name, value: null, quality: "bad", reason: "exception_2" } as const;
        return { tag: name, value, quality: "good" } as const;
      });
      return Promise.resolve(new Map([[group, samples]]));
    },
  });
  const tools: PlcTools = {
    paced: () => tools,
    driver: (_booth: unknown, profile: { readonly tags: readonly ProfileTag[] }) => driver(profile),
    mono: () => now,
    sleep: (ms: number) => {
      now += ms;
      return Promise.resolve();
    },
  } as unknown as PlcTools;
  const answer: Io["ask"] = (text) => {
    const question = render(text);
    asked.push(question);
    mode = /Set the booth to (\w+)/.exec(question)?.[1] ?? mode;
    return Promise.resolve("y");
  };
  const run = (words: string, answers: Readonly<Record<string, string>> = {}, io: Partial<Io> = {}) => {
    const ask: Io["ask"] = (text) => {
      const question = render(text);
      asked.push(question);
      mode = /Set the booth to (\w+)/.exec(question)?.[1] ?? mode;
      const known = Object.entries(answers).find(([part]) => question.includes(part));
      return Promise.resolve(known?.[1] ?? "y");
    };
    const argv = ["profile", ...words.split(" "), "--config", config, "--host", "192.0.2.1"];
    return say(argv, { runs: { profile: profileCommand(tools) }, io: { ask, ...io } });
  };
  return { run, answer, asked, file: join(config, "../profiles/acme.yaml") };
}

describe("the profile learn modes command", () => {
  it("finds the bit that is set in each mode, and the mode in which no bit is set", async () => {
    const bits: Readonly<Record<string, number>> = { spray: 2, flash: 4, bake: 16 };
    const site = workshop((mode) => ({ "holding:7": 0x8000 + (bits[mode] ?? 0), "holding:8": 5 }));
    await site.run("new acme");
    const said = await site.run("learn modes --modes idle,spray,flash,bake --range holding:0-20");
    // Printed before the first read.
    const err = "Reading holding:0-20 with at most 5 requests per second. The gateway writes nothing to the PLC.\n";
    expect(said).toMatchObject({ code: 0, err });
    const stays = ["idle", "spray", "flash", "bake", "idle once more"].map((mode) => `Set the booth to ${mode}`);
    expect(site.asked.slice(0, 5).map((one) => one.split(",")[0])).toEqual(stays);
    const made = loadProfile(site.file);
    expect(made.modes).toEqual({ none: "idle" });
    expect(
      made.tags.map(({ name, role, mode, point }) => [name, role, mode, "bit" in point ? point.bit : null]),
    ).toEqual([
      ["mode_spray", "mode_bit", "spray", 1],
      ["mode_flash", "mode_bit", "flash", 2],
      ["mode_bake", "mode_bit", "bake", 4],
    ]);
    const tested = await site.run("test --for 1s");
    expect(tested.out).toContain("mode none: idle");
  });

  it("continues after an interruption without asking again for modes that are already learned", async () => {
    const codes: Readonly<Record<string, number>> = { idle: 1, spray: 3, bake: 6 };
    const site = workshop((mode) => ({ "holding:1": codes[mode] ?? 0 }));
    await site.run("new acme");
    const learn = "learn modes --modes idle,spray,bake --range holding:0-9";
    const leaving: Io["ask"] = (question) => {
      if (render(question).includes("to bake")) return Promise.reject(new CommandError("left"));
      return site.answer(question);
    };
    expect(await site.run(learn, {}, { ask: leaving })).toMatchObject({ code: 1 });
    site.asked.length = 0;
    expect(await site.run(learn)).toMatchObject({ code: 0 });
    expect(site.asked[0]).toContain("The modes idle, spray are already learned. Continue with the others?");
    expect(site.asked.slice(1, 3).map((one) => one.split(",")[0])).toEqual([
      "Set the booth to bake",
      "Set the booth to idle once more",
    ]);
    expect(loadProfile(site.file).modes).toEqual({ "1": "idle", "3": "spray", "6": "bake" });
    // The finished run leaves no file, and another list of modes starts from the first.
    expect(existsSync(`${site.file}.learning`)).toBe(false);
    await site.run(learn, {}, { ask: leaving });
    site.asked.length = 0;
    await site.run("learn modes --modes idle,bake --range holding:0-9");
    expect(site.asked[0]).toContain("Set the booth to idle,");
  });

  it("asks which address holds the mode if several match, and skips a mode that the booth can't enter", async () => {
    const codes: Readonly<Record<string, number>> = { idle: 1, spray: 3, bake: 6 };
    const site = workshop((mode) => ({ "holding:1": codes[mode] ?? 0, "holding:2": 10 * (codes[mode] ?? 0) }));
    await site.run("new acme");
    const said = await site.run("learn modes --modes idle,spray,purge,bake --range holding:0-9", {
      "to purge": "s",
      "Correct?": "2",
    });
    expect(said).toMatchObject({ code: 0, err: expect.stringContaining("Reading holding:0-9 with") as string });
    expect(loadProfile(site.file).modes).toEqual({ "10": "idle", "30": "spray", "60": "bake" });
    expect(readFileSync(site.file, "utf8")).toMatch(/"30": spray # learned on [\d-]+ from 20 readings in 4 modes/);
  });

  it("lists the registers that can still be the mode while it runs, and records the mode before again on request", async () => {
    const codes: Readonly<Record<string, number>> = { idle: 1, spray: 4, bake: 6 };
    let isLate = true;
    const site = workshop((mode) => ({
      "holding:4": mode === "spray" && isLate ? 1 : (codes[mode] ?? 0),
      "holding:5": 7,
    }));
    await site.run("new acme");
    const ask: Io["ask"] = (text) => {
      void site.answer(text);
      const isRepeated = render(text).includes("to bake") && isLate;
      // The booth was not yet in the mode spray when the person pressed Enter.
      if (isRepeated) isLate = false;
      return Promise.resolve(isRepeated ? "r" : "y");
    };
    const said = await site.run("learn modes --modes idle,spray,bake --range holding:0-9", {}, { ask });
    expect(said.code).toBe(0);
    expect(said.out).toContain("none yet: no register is constant in each mode");
    expect(said.out).toContain("holding:4 was 1, 4\n");
    expect(said.out).toContain("holding:4 was 1, 4, 6, 1\n");
    expect(site.asked.filter((one) => one.startsWith("Set the booth to spray"))).toHaveLength(2);
    expect(loadProfile(site.file).modes).toEqual({ "1": "idle", "4": "spray", "6": "bake" });
  });

  it("offers to record a single mode again if no register fits, and keeps the readings of the others", async () => {
    const codes: Readonly<Record<string, number>> = { idle: 1, spray: 4, bake: 6 };
    let isLate = true;
    const site = workshop((mode) => ({ "holding:4": mode === "bake" && isLate ? 1 : (codes[mode] ?? 0) }));
    await site.run("new acme");
    const ask: Io["ask"] = (text, _kind, choices = []) => {
      void site.answer(text);
      if (!render(text).includes("should be recorded once more")) return Promise.resolve("y");
      isLate = false;
      expect(choices.map(({ value }) => value)).toEqual(["idle", "spray", "bake", "-"]);
      return Promise.resolve("bake");
    };
    const said = await site.run("learn modes --modes idle,spray,bake --range holding:0-9", {}, { ask });
    expect(said.code).toBe(0);
    const sets = site.asked.filter((one) => one.startsWith("Set the booth to")).map((one) => one.split(",")[0]);
    expect(sets).toEqual(["idle", "spray", "bake", "idle once more", "bake"].map((mode) => `Set the booth to ${mode}`));
    expect(loadProfile(site.file).modes).toEqual({ "1": "idle", "4": "spray", "6": "bake" });
  });

  it("fails without a terminal, for an unknown mode, without a matching register, or if the user declines to save", async () => {
    const site = workshop(() => ({ "holding:1": 5 }));
    await site.run("new acme");
    const before = readFileSync(site.file, "utf8");
    const learn = "learn modes --modes idle,spray --range holding:0-9";
    const nobody = await site.run(learn, {}, { ask: () => Promise.resolve(null) });
    expect(nobody).toMatchObject({
      code: 1,
      err: expect.stringContaining("run profile learn modes on a terminal") as string,
    });
    const typed = await site.run("learn modes --modes idle,sprya");
    expect(typed).toMatchObject({ code: 2, err: expect.stringContaining("(did you mean spray?)") as string });
    const nothing = await site.run(learn);
    expect(nothing).toMatchObject({
      code: 1,
      err: expect.stringContaining("no register is constant in each mode") as string,
    });
    const told = workshop((mode) => ({ "holding:1": mode === "idle" ? 1 : 2 }));
    await told.run("new acme");
    expect(await told.run(learn, { "Correct?": "n" })).toMatchObject({
      code: 1,
      err: expect.stringContaining("the profile was not changed") as string,
    });
    expect(readFileSync(site.file, "utf8")).toBe(before);
    expect(await site.run("learn mods")).toMatchObject({
      code: 2,
      err: expect.stringContaining("did you mean modes?") as string,
    });
  });
});
