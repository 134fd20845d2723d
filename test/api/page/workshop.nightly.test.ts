// Needs a Debian package: chromium-headless-shell.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { loadProfile } from "../../../src/config/profile.ts";
import type { ProfileMode } from "../../../src/domain/booth.ts";
import { type ModbusProfile, MODBUS_TABLES, pointWidth } from "../../../src/domain/profile.ts";
import { boothOnce, runningAgent } from "../box-http.ts";
import { workshopAt } from "../../cli/drawn-plc.ts";
import { clickBooth } from "../../support/profiles.ts";
import { freshBox } from "../../support/real-site.ts";
import { enterPin, mustBeUsable, PHONE, screenshot, useBrowser } from "./browser.ts";
import { person, type Person } from "./person.ts";

/** A PLC with an unknown program, and a technician with a phone who has the PLC's memory map on paper. */

const REGISTERS = 40;
const TAGS = ["air_temperature", "cycle_count", "exhaust_minutes", "fan_speed", "exhaust_pressure"];
const MODES = ["idle", "spray", "bake"] as const satisfies readonly ProfileMode[];
/** The modes as the page names them. */
const WORDS = { idle: "Idle", spray: "Spray", bake: "Bake" } as const;

/** Makes a register map of 40 holding registers that no shipped profile fits. Every other address is refused. */
function smallMap(): ModbusProfile {
  const usual = clickBooth();
  let next = 3;
  const tags = ["mode", ...TAGS].flatMap((name) => usual.tags.filter((tag) => tag.name === name));
  const placed = tags.map((tag) => {
    const point = { ...tag.point, table: "holding", address: next, word_order: "low_first" } as const;
    next += pointWidth(point) + 1;
    return { ...tag, point };
  });
  const holes = { holding: [[REGISTERS, 65_535] as const] };
  const codes = { "2": "idle", "5": "spray", "9": "bake" } as const;
  return {
    ...usual,
    name: "small",
    modes: codes,
    tags: placed,
    quirks: { ...usual.quirks, holes, max_registers: 125 },
  };
}

const { openSite } = useBrowser();

/** Opens a step of the workshop. */
async function opened(page: Page, who: Person, title: string): Promise<Locator> {
  const step = page.locator("#workshop details", { has: page.locator(`summary:text-is("${title}")`) });
  if ((await step.getAttribute("open")) === null) await who.tap(step.locator("summary"));
  return step;
}

it("a technician makes a profile by taps for an unknown PLC with 40 registers, whose other function codes are refused", async () => {
  const profile = smallMap();
  const others = MODBUS_TABLES.filter((table) => table !== "holding");
  const bad_ranges = others.map((table) => ({ table, first: 0, last: 65_535, code: 1 }));
  const plc = await workshopAt(profile, { manners: { bad_ranges } });
  const site = await freshBox();
  await runningAgent(site);
  const { page, faults, pin } = await openSite(site, "", { viewport: PHONE, isTouched: true });
  const who = person(page);
  const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
  const shown = async (name: string): Promise<void> => {
    await mustBeUsable(page);
    await screenshot(page, `unknown-${name}`);
  };
  await who.tap(button("Later"));
  await enterPin(page, pin);
  const at = `127.0.0.1:${plc.plc.port}`;
  await who.type(page.getByLabel("Address of the PLC").first(), at);
  await who.tap(button("Find PLC"));
  await who.tap(button(`Use ${at}`));
  await who.tap(button("None fits: create a profile"));
  await page.getByText(`PLC: ${at}`).waitFor();
  await shown("1-new");
  await who.tap(button("Create"));
  await page.getByText("plc-1: 0 tags. Missing").waitFor();

  plc.set("spray");
  const table = page.getByRole("table", { name: "Tags of the profile" });
  for (const [index, name] of TAGS.entries()) {
    const tag = profile.tags.find((one) => one.name === name);
    if (tag === undefined) throw new Error(`no tag ${name}`);
    const add = await opened(page, who, "Add a tag");
    await add.getByLabel("What is it?").selectOption(name);
    await who.type(add.getByLabel("Address, such as 40011"), String(40_001 + tag.point.address));
    await who.type(add.getByLabel("Value on the display"), plc.shows(name));
    await who.tap(add.getByRole("button", { name: "Find tag" }));
    await page.getByText("Correct?").waitFor();
    if (index === 0)
      expect(await page.getByText("Correct?").innerText()).toMatch(
        /^Air temperature: [\d.]+ °C at 40006, low word first/,
      );
    if (index === 0) await shown("2-correct");
    await who.tap(button("Yes"));
    await page.getByText(`plc-1: ${index + 1} tag`).waitFor();
    // The value is read at once, before any mode is known.
    await table
      .getByRole("row")
      .nth(index + 1)
      .getByText("plausible")
      .waitFor();
  }
  await shown("3-five-tags");

  // A wrong name is corrected, a tag is deleted, and both changes are taken back and one made again.
  await who.tap(button("Change Fan speed"));
  await shown("4-change");
  await who.type(page.getByRole("dialog").getByLabel("Name"), " 1");
  await who.tap(button("Save"));
  await table.getByText("Fan speed 1").waitFor();
  await who.tap(button("Delete Cycles"));
  await page.getByText("plc-1: 4 tags").waitFor();
  await who.tap(button("Undo last change"));
  await page.getByText("plc-1: 5 tags").waitFor();
  await who.tap(button("Undo last change"));
  await table.getByText("Fan speed", { exact: true }).waitFor();

  plc.clock.pace(1);
  const learn = await opened(page, who, "Find the modes");
  for (const mode of ["Flash", "Purge"]) await who.tap(learn.getByLabel(mode, { exact: true }));
  await who.tap(learn.getByRole("button", { name: "Find modes" }));
  await page.getByText("Searching the registers that the PLC answers").waitFor();
  await page.getByText(/^About .* left$/).waitFor();
  await screenshot(page, "unknown-5-ranges", { whole: false });
  for (const mode of [...MODES, MODES[0]]) {
    const wish = page.getByText(new RegExp(`^Set the booth to ${WORDS[mode]}( once more)?$`));
    await wish.waitFor();
    if (mode === "bake") await shown("6-candidates");
    plc.set(mode);
    await who.tap(button("Done"));
    await wish.waitFor({ state: "detached" });
  }
  await page.getByText("holding:3 was 2, 5, 9, 2").waitFor();
  await page.getByText("holding:3 contains the mode").waitFor();
  await shown("7-modes");
  await who.tap(button("Yes"));
  await page.getByText("plc-1: 6 tags. The profile is ready to use.").waitFor();
  await who.tap(button("Test: read all tags"));
  await page.getByText("Reading all tags").waitFor();
  await page.getByText("Reading all tags").waitFor({ state: "detached" });
  await shown("8-tested");
  await who.tap(button("Use plc-1"));
  await shown("9-use");
  await who.tap(button("Test these settings"));
  await boothOnce(site, "the booth runs by it", ({ plc: link, now }) => link.kind === "up" && now?.mode === "idle");
  const file = join(site.dataDir, "profiles", "plc-1.yaml");
  const made = loadProfile(file);
  const placed = made.tags.map(({ name, point }) => [name, "address" in point ? point.address : null]);
  expect(Object.fromEntries(placed)).toEqual(
    Object.fromEntries(profile.tags.map(({ name, point }) => [name, point.address])),
  );
  expect(made.modes).toEqual(profile.modes);
  expect(readFileSync(file, "utf8")).toMatch(/# learned on /);
  expect(plc.plc.counts).toMatchObject({ writes: 0, malformed: 0 });
  expect(faults).toEqual([]);
  const { taps, typed, seconds } = who.tally();
  process.stdout.write(`unknown PLC: ${taps} taps, ${typed} characters typed, ${seconds.toFixed(0)} s\n`);
});
