// Needs a Debian package: chromium-headless-shell.
import { expect, it } from "vitest";
import { sessionAt } from "../box-http.ts";
import { type Tab, useBrowser, PHONE, screenshot, seriousFaults, smallTargets, wideParts } from "./browser.ts";

/** German has long words, and Spanish long sentences. */
const LOCALES = { en: "en-US", es: "es-ES", de: "de-DE" } as const;
const SIZES = { 360: PHONE, 1440: { width: 1440, height: 900 } } as const;
const VIEWS = ["now", "days", "filters", "setup", "health"] as const;

const { openTab, workedBooth } = useBrowser();

const LOOKS = Object.entries(LOCALES).flatMap(([language, locale]) =>
  Object.entries(SIZES).map(([width, viewport]) => ({ language, locale, width, viewport })),
);
const SCHEMES = ["light", "dark"] as const;

it.each(LOOKS)(
  "the web page in language $language at $width px cuts no text off, and has no small touch targets or overflow",
  async (look) => {
    const { url, pin } = await workedBooth(["booth-2"]);
    const { locale, viewport, language, width } = look;
    const { page, faults } = await openTab({ locale, viewport });
    await page.addInitScript(`sessionStorage.setItem("session", ${JSON.stringify(await sessionAt(url, pin))})`);
    for (const view of VIEWS) {
      await page.goto(`${url}/#/${view}`);
      await page.locator(`nav a[aria-current="page"][href="#/${view}"]`).waitFor();
      await page.locator("main .card").first().waitFor();
      expect.soft(await smallTargets(page), view).toEqual([]);
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        await screenshot(page, `${view}-${language}-${width}-${colorScheme}`);
        expect.soft([...(await seriousFaults(page)), ...(await wideParts(page))], `${view} ${colorScheme}`).toEqual([]);
      }
      expect.soft(await cutOff(page), view).toEqual([]);
    }
    expect(faults).toEqual([]);
  },
);

/** Returns texts that are cut off. */
function cutOff(page: Tab["page"]): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll("header *, nav *, main *")]
    .filter((one) => one.checkVisibility() && one.clientWidth > 1 && !one.classList.contains("hidden"))
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible")
    .map((one) => one.tagName + "." + one.className + ": " + one.textContent.slice(0, 40))`);
}
