// Needs a Debian package: chromium-headless-shell.
import { gzipSync } from "node:zlib";
import type { Browser, Response } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { boothOnce, openPage, runningAgent } from "../box-http.ts";
import { enterPin, openBrowser, openTab, PHONE, screenshot } from "./browser.ts";
import { realSite, SERIAL } from "../../support/real-site.ts";

const MAX_WEIGHT_BYTES = 150_000;

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

it("on the network the page is encrypted, wants the PIN, locks after five wrong ones, and closes", async () => {
  const site = await realSite({ speed: 30, serial: SERIAL });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ now }) => now !== null);
  const { pin, lan } = await openPage(site, { lan: true });
  if (lan === null) throw new Error("not open on the network");
  expect(lan.fingerprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  // A machine without a network has loopback alone; the listener is the same.
  const url = lan.urls[0] ?? `https://127.0.0.1:${String(lan.port)}`;
  const { page, faults } = await openTab(browser, { viewport: PHONE });
  const answer = await page.goto(url);
  const shown = await answer?.securityDetails();
  expect(shown?.issuer).toBe("booth-gateway");
  await page.getByLabel("PIN, eight digits").waitFor();
  expect(await page.locator("#mode").count()).toBe(0);
  await screenshot(page, "pin", { whole: false });
  const wrong = pin === "1111 1111" ? "2222 2222" : "1111 1111";
  for (let left = 4; left >= 1; left -= 1) {
    await enterPin(page, wrong);
    await page.getByText(`${left === 1 ? "one more try" : `${left} more tries`}, then it is locked`).waitFor();
  }
  await enterPin(page, wrong);
  await page.getByText("locked after too many wrong PINs").waitFor();
  await enterPin(page, pin);
  await page.getByText("locked after too many wrong PINs").waitFor();
  await screenshot(page, "pin-locked", { whole: false });

  // A new PIN is a new start; with any free port the address is another one too.
  const again = await openPage(site, { lan: true });
  expect(again.pin).not.toBe(pin);
  const { page: phone } = await openTab(browser, { viewport: PHONE });
  await phone.goto(again.lan?.urls[0] ?? `https://127.0.0.1:${String(again.lan?.port)}`);
  await enterPin(phone, again.pin);
  await phone.locator("#mode").waitFor();
  await screenshot(phone, "lan-now", { whole: false });
  expect(faults).toEqual([]);
});

it("weighs little, and is usable soon after its first byte", async () => {
  const site = await realSite({ speed: 30, serial: SERIAL });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ now }) => now !== null);
  const { url } = await openPage(site);
  const { page } = await openTab(browser, { viewport: PHONE });
  const sizes: number[] = [];
  const bodies: Promise<void>[] = [];
  const weigh = (response: Response): void => {
    if (response.url().includes("/events")) return;
    bodies.push(response.body().then((body) => void sizes.push(gzipSync(body, { level: 9 }).length)));
  };
  page.on("response", weigh);
  await page.goto(url ?? "");
  await page.locator("#mode").filter({ hasText: /\w/ }).waitFor();
  const usable = await page.evaluate<number>(
    "performance.now() - performance.getEntriesByType('navigation')[0].responseStart",
  );
  for (const view of ["Days", "Filters", "Set up", "Health"]) {
    await page.getByRole("link", { name: view }).click();
    await page.locator(`nav a[aria-current="page"]`, { hasText: view }).waitFor();
  }
  // What the page asks for from now on ends with the tab.
  page.off("response", weigh);
  await Promise.all(bodies);
  const weight = sizes.reduce((sum, size) => sum + size, 0);
  process.stdout.write(
    `page: ${(weight / 1000).toFixed(1)} kB gzipped in ${sizes.length} files, usable ${usable.toFixed(0)} ms after its first byte\n`,
  );
  expect(sizes.length).toBeGreaterThan(10);
  expect(weight).toBeLessThan(MAX_WEIGHT_BYTES);
});

it("can be used with the keyboard alone", async () => {
  const site = await realSite({ speed: 30, serial: SERIAL });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ now }) => now !== null);
  const { url } = await openPage(site);
  const { page } = await openTab(browser);
  await page.goto(url ?? "");
  await page.getByRole("heading", { name: "Today" }).waitFor();
  const focused = (): Promise<string> => page.evaluate<string>("document.activeElement.textContent");
  await page.keyboard.press("Tab");
  expect(await focused()).toBe("Skip to content");
  const seen: string[] = [];
  for (let nth = 0; nth < 3; nth += 1) {
    await page.keyboard.press("Tab");
    seen.push(await focused());
  }
  expect(seen).toEqual(["Now", "Days", "Filters"]);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Exhaust filter" }).waitFor();
  // Where the view begins, not at the top of the page again.
  expect(await page.evaluate<string>("document.activeElement.id")).toBe("main");
  for (let i = 0; i < 8 && (await focused()) !== "Filter changed"; i += 1) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  expect(await page.getByRole("dialog").count()).toBe(0);
});
