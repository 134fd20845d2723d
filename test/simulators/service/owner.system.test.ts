// Needs a Debian package: chromium.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { seedAlerts } from "../../../simulators/service/demo/alerts.ts";
import { DEMO_ACCOUNT, DEMO_ADMIN_KEY, seedDemo } from "../../../simulators/service/demo/seed-demo.ts";
import { idOf } from "../../../simulators/service/seed.ts";
import { startService } from "../../../simulators/service/start.ts";
import {
  openBrowser,
  openTab,
  PHONE,
  screenshot,
  seriousFaults,
  smallTargets,
  wideParts,
} from "../../api/page/browser.ts";

const NOW = Date.UTC(2026, 5, 10, 19, 20);
const WIDE = { width: 1440, height: 900 } as const;

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** Ten booths in ten shops; the last one's filters are never changed. */
async function fleet(): Promise<string> {
  const running = await startService({ dataDir: ":memory:", port: 0, mqttPort: 0, clock: { wall: () => NOW } });
  onTestFinished(() => running.stop());
  await seedDemo(running.db, { seed: 1, booths: 10, days: 30, now: NOW });
  seedAlerts(running.db, idOf("acc", DEMO_ACCOUNT), 0);
  return running.url;
}

async function sound(page: Page, name: string): Promise<void> {
  await screenshot(page, `owner-${name}`);
  expect(await seriousFaults(page)).toEqual([]);
  expect(await wideParts(page)).toEqual([]);
}

it("shows shops, booths, filters, alerts and use by the link alone, narrow and wide, light and dark", async () => {
  const url = await fleet();
  for (const [name, viewport, colorScheme] of [
    ["phone-light", PHONE, "light"],
    ["phone-dark", PHONE, "dark"],
    ["wide-light", WIDE, "light"],
    ["wide-dark", WIDE, "dark"],
  ] as const) {
    const { page, faults } = await openTab(browser, { viewport, colorScheme });
    await page.goto(`${url}/owner/#key=${DEMO_ADMIN_KEY}`);
    await page.locator(".booth").nth(9).waitFor();
    expect(page.url()).toBe(`${url}/owner/`);
    await page.getByRole("heading", { name: DEMO_ACCOUNT }).waitFor();
    await sound(page, name);
    if (viewport === PHONE) expect(await smallTargets(page)).toEqual([]);
    const bake = page.locator(`.booth rect[data-mode="bake"]`);
    expect(await bake.count()).toBeGreaterThan(5);
    await page
      .getByText(/overdue: .+ past its limit/)
      .first()
      .waitFor();
    await page.getByText("As a table").click();
    expect(await page.getByRole("row").count()).toBeGreaterThan(25);
    await page.reload();
    await page.locator(".booth").nth(9).waitFor();
    expect(faults).toEqual([]);
  }
});

it("asks who it is, says what is wrong, and lets a user in by e-mail and out again", async () => {
  const url = await fleet();
  const { page, faults } = await openTab(browser, { viewport: PHONE });
  await page.goto(`${url}/owner/#key=of-somebody-else`);
  await page.getByText("that key isn't valid").waitFor();
  await sound(page, "sign-in");
  await page.getByLabel("E-mail").fill("jordan.reyes@northside.example");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByText("e-mail or password is not valid").waitFor();
  await page.getByLabel("E-mail").fill("jordan.reyes@northside.example");
  await page.getByLabel("Password").fill("demo password");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.locator(".booth").first().waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key of scope user or admin").waitFor();
  expect(await page.locator(".booth").count()).toBe(0);
  expect(faults).toEqual([]);
});
