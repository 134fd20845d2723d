// Needs a Debian package: chromium-headless-shell.
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { ask, boothOnce, runningAgent } from "../box-http.ts";
import { enterPin, useBrowser, PHONE, screenshot } from "./browser.ts";
import { realSite, SERIAL, type RealSite } from "../../support/real-site.ts";

/** Two simulators and the agent with real sockets, and a person with a browser. */

const { openSite, openTab } = useBrowser();

async function setupPage(site: RealSite): Promise<{ page: Page; faults: readonly string[]; pin: string }> {
  const { page, faults, pin } = await openSite(site, "setup");
  return { page, faults, pin };
}

async function enterSerial(page: Page, serial: string): Promise<void> {
  await page.getByLabel("Serial number on the booth's nameplate").fill(serial);
  await page.getByRole("button", { name: "Look up" }).click();
}

it("the web page binds a booth by serial number with PIN and confirmation, and then changes its size at the service", async () => {
  const site = await realSite({ speed: 30, serial: null });
  await runningAgent(site);
  await boothOnce(site, "the PLC has said who it is", ({ plc, now }) => plc.shows_serial !== null && now !== null);
  const { page, faults, pin } = await setupPage(site);
  await screenshot(page, "setup-empty");
  await enterSerial(page, SERIAL.toLowerCase());
  await enterPin(page, pin);
  const card = page.getByRole("form", { name: "Is this the booth in front of you?" });
  await card.waitFor();
  const text = await card.innerText();
  for (const part of [SERIAL, "Demo Body Shop", "Main Street", "SB-24"]) expect(text).toContain(part);
  await screenshot(page, "setup-card");
  await page.getByLabel("Your name").fill("Alex");
  await page.getByRole("button", { name: "Yes, this is the booth" }).click();
  await page.getByText(`This gateway is linked to ${SERIAL}`).waitFor();
  expect(await page.locator("ol.steps li.done").count()).toBe(7);
  expect(await page.locator("ol.steps time").count()).toBe(7);
  await screenshot(page, "setup-active");
  // The box keeps the time of each step for all devices.
  const { page: later } = await openTab({ viewport: PHONE });
  await later.goto(page.url());
  await later.getByText(`This gateway is linked to ${SERIAL}`).waitFor();
  expect(await later.locator("ol.steps time").allInnerTexts()).toEqual(
    await page.locator("ol.steps time").allInnerTexts(),
  );

  await page.getByRole("button", { name: "Load data" }).click();
  const width = page.getByLabel("Width, ft");
  await width.fill("14.25");
  await page.getByRole("button", { name: "Save at the service" }).click();
  const question = page.getByRole("dialog", { name: "Save these changes at the service?" });
  expect(await question.innerText()).toContain("Width, ft: 13.5 → 14.25");
  await screenshot(page, "setup-size", { whole: false });
  await question.getByRole("button", { name: "Save at the service" }).click();
  await page.getByText("Saved and verified.").waitFor();
  const id = (await site.status())?.booths[0]?.provisioning.booth_id ?? "";
  const { body } = await ask(`${site.service.url}/api/booths/${id}`, { key: site.adminKey });
  expect(body).toMatchObject({ width: "14.25", model_number: "SB-24" });
  expect(faults).toEqual([]);
});

it("a serial number entered on the page while the service is down is queued, and the booth can be bound later", async () => {
  const site = await realSite({ speed: 30, serial: null });
  await site.serviceDown();
  await runningAgent(site);
  await boothOnce(site, "readings are kept", ({ log }) => log.newest_seq > 0);
  const { page, faults, pin } = await setupPage(site);
  await enterSerial(page, SERIAL);
  await enterPin(page, pin);
  await page.getByRole("heading", { name: "Saved: you can leave" }).waitFor();
  await screenshot(page, "setup-queued");
  await site.serviceUp();
  await page.getByRole("form", { name: "Is this the booth in front of you?" }).waitFor();
  await page.getByLabel("Your name").fill("Alex");
  await page.getByRole("button", { name: "Yes, this is the booth" }).click();
  await page.getByText(`This gateway is linked to ${SERIAL}`).waitFor();
  expect(faults).toEqual([]);
});

it("a wrong serial number entered on the page is reported as unknown or malformed, and can be corrected immediately", async () => {
  const site = await realSite({ speed: 30, serial: null });
  await runningAgent(site);
  const { page, faults, pin } = await setupPage(site);
  await enterSerial(page, "ABCD-999-000");
  await enterPin(page, pin);
  await page.getByText("The service has no booth with serial number").waitFor();
  expect(await page.getByText("Is it O or 0, I or 1?").count()).toBe(0);
  await screenshot(page, "setup-wrong-serial");
  await enterSerial(page, "AB CD");
  await page.getByText("A serial number has letters, digits and single dashes").waitFor();
  await enterSerial(page, SERIAL);
  await page.getByRole("form", { name: "Is this the booth in front of you?" }).waitFor();
  expect(faults).toEqual([]);
});
