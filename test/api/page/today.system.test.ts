// Needs a Debian package: chromium-headless-shell.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { boothOnce, openPage, runningAgent } from "../box-http.ts";
import { openBrowser, openTab, PHONE } from "./browser.ts";
import { realSite } from "../../support/real-site.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

it("before the working hours of the day begin there are none so far, which isn't none today", async () => {
  // The story begins on a Monday at 8.
  const evening = { day: "monday", start: "20:00", stop: "21:00" };
  const site = await realSite({ speed: 30, serial: null, booth: { working_hours: [evening] } });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ now }) => now !== null);
  const { url } = await openPage(site);
  const { page, faults } = await openTab(browser, { viewport: PHONE });
  await page.goto(`${url ?? ""}/#/now`);
  const today = page.getByRole("region", { name: "Today" });
  await today.getByText("no working hours so far today", { exact: true }).waitFor();
  expect(faults).toEqual([]);
});
