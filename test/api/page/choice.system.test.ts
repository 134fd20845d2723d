// Needs a Debian package: chromium-headless-shell.
import { expect, it } from "vitest";
import { boothOnce } from "../box-http.ts";
import { enterPin, useBrowser, screenshot, seriousFaults, smallTargets } from "./browser.ts";
import { PLAIN_SERIAL, strictPlainSite } from "../../system/strict-plain.ts";

const { openSite } = useBrowser();

it("the web page lists all booths that match a serial number at a plain service, and binds only the booth the user chooses", async () => {
  const booths = [
    { nameplate: PLAIN_SERIAL, facility_id: "f-1", id: "b-1" },
    { nameplate: PLAIN_SERIAL, facility_id: "f-2" },
    { nameplate: PLAIN_SERIAL, facility_id: "f-3", id: "b-3" },
  ];
  const site = await strictPlainSite({ booths, shown: ["id"] });
  const { page, faults, pin } = await openSite(site, "setup");
  await page.getByLabel("Serial number on the booth's nameplate").fill(PLAIN_SERIAL);
  await page.getByRole("button", { name: "Look up" }).click();
  await enterPin(page, pin);
  const card = page.getByRole("form", { name: "Is this the booth in front of you?" });
  await card.waitFor();
  await page.getByText("Choose the booth where this gateway is installed").waitFor();
  const choices = card.getByRole("radio");
  expect(await choices.count()).toBe(3);
  expect(await card.locator("label.check").allInnerTexts()).toEqual([
    "b-1, Facility f-1",
    "#2, Facility f-2",
    "b-3, Facility f-3",
  ]);
  expect(await card.getByRole("radio", { checked: true }).count()).toBe(0);
  await screenshot(page, "setup-choice");
  expect([...(await seriousFaults(page)), ...(await smallTargets(page))]).toEqual([]);

  await card.getByLabel("Your name").fill("Alex");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await card.getByRole("button", { name: "Yes, this is the booth" }).click();
  // The browser requires a choice; nothing was sent.
  expect(await page.evaluate<boolean>("document.querySelector('[name=service_booth]').validity.valueMissing")).toBe(
    true,
  );
  expect([asked.includes("/confirm"), site.writes()]).toEqual([false, []]);

  await card.getByLabel("#2, Facility f-2").check();
  await card.getByRole("button", { name: "Yes, this is the booth" }).click();
  await page.getByText(`This gateway is linked to ${PLAIN_SERIAL}`).waitFor();
  const { provisioning } = await boothOnce(site, "it is bound", (booth) => booth.provisioning.state === "active");
  expect(provisioning).toMatchObject({ booth_id: null, facility: "Facility f-2" });
  expect(site.writes()).toEqual([
    "POST /api/booths_provisioning 201",
    `PUT /api/booths_provisioning/${PLAIN_SERIAL} 200`,
  ]);
  expect(faults).toEqual([]);
});
