// Needs a Debian package: chromium-headless-shell.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { loadProfile } from "../../../src/config/profile.ts";
import type { ProfileMode } from "../../../src/domain/booth.ts";
import { boothOnce, runningAgent } from "../box-http.ts";
import { drawnProfile, workshopAt } from "../../cli/drawn-plc.ts";
import { freshBox } from "../../support/real-site.ts";
import { enterPin, mustBeUsable, useBrowser, screenshot } from "./browser.ts";

/** A PLC with an unknown program, and a person with a phone. */

const { openSite } = useBrowser();

const press = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole("button", { name, exact: true }).click();

/** Opens a step of the workshop. */
async function opened(page: Page, title: string) {
  const step = page.locator("#workshop details", { has: page.locator(`summary:text-is("${title}")`) });
  if ((await step.getAttribute("open")) === null) await step.locator("summary").click();
  return step;
}

it("the web page's workshop makes a profile and configures a booth with the profile, without writing to the PLC", async () => {
  const profile = drawnProfile(3);
  const plc = await workshopAt(profile);
  const site = await freshBox();
  await runningAgent(site);
  const { page, faults, pin } = await openSite(site);
  await press(page, "Later");
  await enterPin(page, pin);
  const at = `127.0.0.1:${plc.plc.port}`;
  await page.getByLabel("Address of the PLC").first().fill(at);
  await press(page, "Find PLC");
  await press(page, `Use ${at}`);

  await page.locator("#workshop > summary").click();
  const begin = await opened(page, "Create a profile");
  await begin.getByLabel("Profile name").fill("acme");
  await press(page, "Create");
  await page.getByText("acme: 0 tags. Missing").waitFor();
  await mustBeUsable(page);
  await screenshot(page, "workshop-1-begun");

  const list = await opened(page, "Import a register list");
  const text = "Name,FC,Address,Type\nSpare,3,7,INT\n";
  await list
    .locator("input[type=file]")
    .setInputFiles({ name: "spare.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
  await list.getByRole("button", { name: "Import 1 row" }).click();
  await page.getByText("Do the list's register numbers count from 0 or from 1?").waitFor();
  // Each answer shows its register and the PLC's present value.
  await page.getByRole("button", { name: /^0: Spare \(7\): holding:7( is|$)/ }).waitFor();
  await mustBeUsable(page);
  await page.getByRole("button", { name: /^1: Spare \(7\): holding:6( is|$)/ }).click();
  await page.getByText("Save these lines in the profile?").waitFor();
  await press(page, "No");

  plc.set("spray");
  const tag = profile.tags.find(({ name }) => name === "cycle_count");
  if (tag === undefined) throw new Error("the drawn map has such a tag");
  const add = await opened(page, "Add a tag");
  await add.getByLabel("Tag, such as air_temperature").fill(tag.name);
  await add.getByLabel("Address from the manual").fill(`${tag.point.table}:${tag.point.address}`);
  await add.getByLabel("Value on the display").fill(plc.shows(tag.name));
  await press(page, "Find tag");
  await page.getByText("Save these lines in the profile?").waitFor();
  await mustBeUsable(page);
  await screenshot(page, "workshop-2-add");
  await press(page, "Yes");
  await page.getByText("acme: 1 tag. Missing").waitFor();

  plc.clock.pace(1);
  const code = profile.tags.find(({ role }) => role === "mode")?.point ?? { table: "holding", address: 0 };
  const learn = await opened(page, "Find the modes");
  const modes = ["idle", "spray", "bake"] as const satisfies readonly ProfileMode[];
  await learn.getByLabel("Modes, in this order").fill(modes.join(","));
  const range = `${code.table}:${Math.max(0, code.address - 3)}-${code.address + 3}`;
  await learn.getByLabel("Registers to search").fill(range);
  await learn.getByLabel("Duration").fill("1s");
  await press(page, "Find modes");
  // The list is shown before it is imported.
  await page.getByText(`Reading ${range} with at most 5 requests per second`).waitFor();
  for (const mode of [...modes, modes[0]]) {
    await page.getByText(`Set the booth to ${mode}`).waitFor();
    if (mode === "spray") await screenshot(page, "workshop-3-learn");
    plc.set(mode);
    await press(page, "Done");
    await page.getByText(`Set the booth to ${mode}`).waitFor({ state: "detached" });
  }
  await page.getByText("Save these lines in the profile?").waitFor();
  await press(page, "Yes");
  await page.getByText("acme: 2 tags. The profile is ready to use.").waitFor();

  const test = await opened(page, "Test the profile");
  await test.getByLabel("Duration").fill("1s");
  await press(page, "Start test");
  await page.getByText("all tags are plausible").waitFor();
  await mustBeUsable(page);
  await screenshot(page, "workshop-4-tested");
  await press(page, "Use acme");
  await press(page, "Test these settings");
  await boothOnce(site, "the booth runs by it", ({ plc: link, now }) => link.kind === "up" && now?.mode === "idle");
  const file = join(site.dataDir, "profiles", "acme.yaml");
  const made = loadProfile(file);
  expect(made.tags.map(({ name, point }) => [name, "table" in point ? [point.table, point.address] : null])).toEqual([
    [tag.name, [tag.point.table, tag.point.address]],
    ["mode", [code.table, code.address]],
  ]);
  expect(Object.values(made.modes)).toEqual(expect.arrayContaining([...modes]));
  expect(readFileSync(file, "utf8")).toMatch(/# learned on /);
  expect(plc.plc.counts).toMatchObject({ writes: 0, malformed: 0 });
  expect(faults).toEqual([]);
});
