// Needs a Debian package: chromium-headless-shell.
import { expect, it } from "vitest";
import { boothOnce, openPage, runningAgent } from "../box-http.ts";
import { enterPin, useBrowser, PHONE, screenshot } from "./browser.ts";
import { realSite, SERIAL } from "../../support/real-site.ts";

const { openTab } = useBrowser();

it("the web page on the network is encrypted, asks for the PIN, and locks sign-in after five wrong PINs", async () => {
  const site = await realSite({ speed: 30, serial: SERIAL });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ now }) => now !== null);
  const { pin, lan } = await openPage(site, { lan: true });
  if (lan === null) throw new Error("not open on the network");
  expect(lan.fingerprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  // A machine without a network uses the same listener on loopback.
  const url = lan.urls[0] ?? `https://127.0.0.1:${String(lan.port)}`;
  const { page, faults } = await openTab({ viewport: PHONE });
  const answer = await page.goto(url);
  const shown = await answer?.securityDetails();
  expect(shown?.issuer).toBe("booth-gateway");
  await page.getByLabel("PIN (8 digits)").waitFor();
  expect(await page.locator("#mode").count()).toBe(0);
  await screenshot(page, "pin", { whole: false });
  const wrong = pin === "1111 1111" ? "2222 2222" : "1111 1111";
  for (let left = 4; left >= 1; left -= 1) {
    await enterPin(page, wrong);
    await page
      .getByText(`Wrong PIN: ${left === 1 ? "one attempt is" : `${left} attempts are`} left before sign-in is locked`)
      .waitFor();
  }
  await enterPin(page, wrong);
  await page.getByText("Sign-in is locked after too many wrong PINs").waitFor();
  await enterPin(page, pin);
  await page.getByText("Sign-in is locked after too many wrong PINs").waitFor();
  await screenshot(page, "pin-locked", { whole: false });

  // A new PIN ends the lock. The port, and so the address, is another one.
  const again = await openPage(site, { lan: true });
  expect(again.pin).not.toBe(pin);
  const { page: phone } = await openTab({ viewport: PHONE });
  await phone.goto(again.lan?.urls[0] ?? `https://127.0.0.1:${String(again.lan?.port)}`);
  await enterPin(phone, again.pin);
  await phone.locator("#mode").waitFor();
  await screenshot(phone, "lan-now", { whole: false });
  expect(faults).toEqual([]);
});

it("the web page can be used with the keyboard alone", async () => {
  const site = await realSite({ speed: 30, serial: SERIAL });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ now }) => now !== null);
  const { url } = await openPage(site);
  const { page } = await openTab();
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
  // The focus is at the start of the view, not at the top of the page.
  expect(await page.evaluate<string>("document.activeElement.id")).toBe("main");
  for (let i = 0; i < 8 && (await focused()) !== "Filter changed"; i += 1) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  expect(await page.getByRole("dialog").count()).toBe(0);
});
