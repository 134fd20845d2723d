// Needs a Debian package: chromium-headless-shell.
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { loadProfile } from "../../../src/config/profile.ts";
import { boothOnce, runningAgent } from "../box-http.ts";
import { drawnProfile, listRows, workshopAt } from "../../cli/drawn-plc.ts";
import { freshBox } from "../../support/real-site.ts";
import { workbook } from "../../support/workbook.ts";
import { enterPin, mustBeUsable, screenshot, useBrowser } from "./browser.ts";

/** A PLC of which a technician has only a workbook, and a phone. */

const { openSite } = useBrowser();

const press = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole("button", { name, exact: true }).click();

const WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

it("a booth whose PLC is known only by a workbook is set up on the web page, with a column mapped by hand", async () => {
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
  await page.locator('#workshop summary:text-is("Create a profile")').click();
  await page.getByLabel("Profile name").fill("acme");
  await press(page, "Create");
  await page.getByText("acme: 0 tags. Missing").waitFor();

  await page.locator("#import-list > summary").click();
  const [, ...rows] = listRows(profile);
  const heads = ["Bezeichnung", "Platz im Plan", "Funktionscode", "Datentyp", "Wortfolge", "String order", "Faktor"];
  const others = Array.from({ length: 300 }, (_, i) => [
    `Reserve ${i}`,
    402_001 + i,
    "FC03",
    "WORD",
    "",
    "",
    1,
    "",
    "",
  ]);
  const file = workbook({ Deckblatt: [["Kabine 7"]], Liste: [[...heads, "Einheit", "Codes"], ...rows, ...others] });
  await page
    .locator("#import-file")
    .setInputFiles({ name: "Kabine 7.xlsx", mimeType: WORKBOOK, buffer: Buffer.from(file) });

  // The head of the addresses is not known. Three cells show what the column holds.
  await page.getByText("Choose which column has the name and which has the address.").waitFor();
  const column = page.getByLabel("B: Platz im Plan");
  await expect.poll(() => column.locator("..").locator("small").textContent()).toMatch(/^\d{1,6} · \d{1,6} · \d{1,6}$/);
  await mustBeUsable(page);
  await screenshot(page, "import-1-columns");
  await column.selectOption({ label: "Address" });
  // Three rows are shown with their registers and what the PLC holds there now.
  const samples = page.getByRole("group", { name: /^Three rows/ });
  await samples.waitFor();
  expect(await samples.locator("p").nth(1).textContent()).toMatch(/ (holding|input|coil|discrete):\d+: .+ now$/);

  // A long list is not chosen whole: the technician searches.
  expect(await page.getByRole("button", { name: "Import 0 rows" }).isDisabled()).toBe(true);
  await page.getByLabel("Search rows").fill("reserve");
  await page.getByText("300 rows match").waitFor();
  await page.getByLabel("Search rows").fill("");
  await press(page, "Choose all of these");
  await page.getByLabel("Search rows").fill("reserve");
  await press(page, "Choose none of these");
  await mustBeUsable(page);
  await screenshot(page, "import-2-rows");
  await press(page, `Import ${rows.length} rows`);
  // The list does not say how its coils count. Each answer shows what the PLC holds there.
  await page.getByText("Do the list's register numbers count from 0 or from 1?").waitFor();
  await mustBeUsable(page);
  await screenshot(page, "import-3-question");
  await page.getByRole("button", { name: /^1: .* is (true|false) now/ }).click();
  await page.getByText("Save these lines in the profile?").waitFor();
  await press(page, "Yes");
  await page.getByText(`acme: ${rows.length} tags. The profile is ready to use.`).waitFor();
  await press(page, "Use acme");
  await press(page, "Test these settings");
  await boothOnce(site, "the booth runs by it", ({ plc: link, now }) => link.kind === "up" && now?.mode === "idle");
  const made = loadProfile(join(site.dataDir, "profiles", "acme.yaml"));
  const place = ({ point }: { readonly point: object }): unknown =>
    "address" in point && "table" in point ? `${String(point.table)}:${String(point.address)}` : null;
  expect(made.tags.map(place)).toEqual(profile.tags.map(place));
  expect(plc.plc.counts).toMatchObject({ writes: 0, malformed: 0 });
  expect(faults).toEqual([]);
});

it("the web page says why a file can't be imported, and keeps what was chosen of another file", async () => {
  const site = await freshBox();
  await runningAgent(site);
  const { page, faults, pin } = await openSite(site);
  await press(page, "Later");
  await enterPin(page, pin);
  await page.locator("#workshop > summary").click();
  await page.locator('#workshop summary:text-is("Create a profile")').click();
  await page.getByLabel("Profile name").fill("acme");
  await press(page, "Create");
  await page.locator("#import-list > summary").click();
  const send = (name: string, text: string): Promise<void> =>
    page.locator("#import-file").setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
  await send("tags.csv", "TYPE,SCOPE,NAME,DESCRIPTION,DATATYPE,SPECIFIER,ATTRIBUTES\nTAG,,a,,REAL,,\n");
  await page.getByText("Logix tags are symbolic").waitFor();
  await send("list.csv", "Name,Address,Type\nair,400001,REAL\n");
  await page.getByRole("button", { name: "Import 1 row" }).waitFor();
  expect(faults).toEqual([]);
});
