// Needs a Debian package: chromium-headless-shell.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { seedAlerts } from "../../../simulators/service/demo/alerts.ts";
import { DEMO_ACCOUNT, DEMO_ADMIN_KEY, seedDemo } from "../../../simulators/service/demo/seed-demo.ts";
import { idOf } from "../../../simulators/service/accounts/seed.ts";
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
import { until } from "../../support/eventually.ts";

const NOW = Date.UTC(2026, 5, 10, 19, 20);
const WIDE = { width: 1440, height: 900 } as const;

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** Booths in ten shops, ten unless more are wanted; the last one's filters are never changed. */
async function fleet({ booths = 10, days = 30 } = {}): Promise<string> {
  const running = await startService({ dataDir: ":memory:", port: 0, mqttPort: 0, clock: { wall: () => NOW } });
  onTestFinished(() => running.stop());
  await seedDemo(running.db, { seed: 1, booths, days, now: NOW });
  seedAlerts(running.db, idOf("acc", DEMO_ACCOUNT), 0);
  return running.url;
}

async function sound(page: Page, name: string): Promise<void> {
  await screenshot(page, `owner-${name}`);
  expect(await seriousFaults(page)).toEqual([]);
  expect(await wideParts(page)).toEqual([]);
}

it("the owner's page, opened by a link with a key, shows shops, booths, filters, alerts and use on narrow and wide screens", async () => {
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
      .getByText(/overdue: .+ beyond its limit/)
      .first()
      .waitFor();
    await page.getByText("As a table").click();
    expect(await page.getByRole("row").count()).toBeGreaterThan(25);
    await page.reload();
    await page.locator(".booth").nth(9).waitFor();
    expect(faults).toEqual([]);
  }
});

it("the owner's page asks for sign-in, reports a wrong key or password, and signs a user in and out", async () => {
  const url = await fleet();
  const { page, faults } = await openTab(browser, { viewport: PHONE });
  await page.goto(`${url}/owner/#key=of-somebody-else`);
  await page.getByText("the key isn't valid").waitFor();
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

it("the owner's page uses the browser's language, or a language chosen and remembered on this device", async () => {
  const url = await fleet({ booths: 2, days: 2 });
  const { page, faults } = await openTab(browser, { viewport: PHONE, locale: "de-AT" });
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await page.goto(`${url}/owner/#key=${DEMO_ADMIN_KEY}`);
  await page.getByRole("heading", { name: "Filter zu wechseln" }).waitFor();
  expect(await page.locator("html").getAttribute("lang")).toBe("de");
  expect(loaded.filter((path) => /\/(en|es|de)\.js$/.test(path))).toEqual(["/owner/de.js"]);
  await sound(page, "phone-de");
  expect(await smallTargets(page)).toEqual([]);
  await page.getByLabel("Sprache").selectOption({ label: "Español" });
  await page.getByRole("heading", { name: "Filtros por cambiar" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Cerrar sesión" }).waitFor();
  await sound(page, "phone-es");
  expect(faults).toEqual([]);
});

it("the owner's page shows many booths in pages, requests only the shown page's data, and finds a booth by name, number or shop", async () => {
  const url = await fleet({ booths: 75, days: 1 });
  const { page, faults } = await openTab(browser, { viewport: PHONE });
  const asked = new Set<string>();
  page.on("request", (request) => {
    const [, booth] = /\/api\/booths\/([^/]+)\/recent_stages/.exec(request.url()) ?? [];
    if (booth !== undefined) asked.add(booth);
  });
  await page.goto(`${url}/owner/#key=${DEMO_ADMIN_KEY}`);
  await page.getByText("Booths 1 to 30 of 75").waitFor();
  await page.getByText("75 booths in").waitFor();
  await until(() => asked.size >= 30, "the stages of the page's booths are asked for");
  expect([await page.locator(".booth").count(), asked.size]).toEqual([30, 30]);
  await sound(page, "pages");
  expect(await smallTargets(page)).toEqual([]);
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("Booths 31 to 60 of 75").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("Booths 61 to 75 of 75").waitFor();
  await until(() => asked.size >= 75, "those of the other pages' are too");
  expect([await page.locator(".booth").count(), asked.size]).toEqual([15, 75]);
  expect(await page.getByRole("button", { name: "Next" }).isDisabled()).toBe(true);
  const name = (await page.locator(".booth h3").last().textContent()) ?? "";
  await page.getByLabel("Find a booth").fill(name.toUpperCase());
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText("Booths 1 to 1 of 1").waitFor();
  expect(await page.locator(".booth h3").allTextContents()).toEqual([name]);
  await page.getByLabel("Find a booth").fill("of nobody");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText("No booth has that name, serial number or shop.").first().waitFor();
  expect(faults).toEqual([]);
});
