// Needs a Debian package: chromium-headless-shell.
import { expect, it } from "vitest";
import { boothOnce, openPage, runningAgent } from "../box-http.ts";
import { useBrowser, PHONE, screenshot, seriousFaults, smallTargets, wideParts } from "./browser.ts";
import { realSite, SERIAL } from "../../support/real-site.ts";

/** German words are long; Spanish sentences too. */
const LOCALES = { en: "en-US", es: "es-ES", de: "de-DE" } as const;
const SIZES = { 360: PHONE, 1440: { width: 1440, height: 900 } } as const;
const VIEWS = ["now", "days", "filters", "setup", "health"] as const;

const { atEnd, openTab } = useBrowser();

let worked: ReturnType<typeof workedBooth> | undefined;
async function workedBooth() {
  const booth = { filters: { exhaust_filter: { limits: { minutes: 2_400 } } } };
  const site = await realSite({ speed: 600, serial: SERIAL, scenario: "busy-day", booth, atEnd, others: ["booth-2"] });
  await runningAgent(site);
  await boothOnce(site, "the booth has worked", ({ now }) => (now?.cycles_today ?? 0) > 1);
  return openPage(site, { for_ms: 12 * 3_600_000 });
}

const LOOKS = Object.entries(LOCALES).flatMap(([language, locale]) =>
  Object.entries(SIZES).map(([width, viewport]) => ({ language, locale, width, viewport })),
);
const SCHEMES = ["light", "dark"] as const;

it.each(LOOKS)("$language at $width px: nothing is cut off, too small, or pushed aside", async (look) => {
  const { url, pin } = await (worked ??= workedBooth());
  const { locale, viewport, language, width } = look;
  const { page, faults } = await openTab({ locale, viewport });
  const session = await fetch(`${url ?? ""}/api/authenticate`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ api_key: pin }),
  });
  const { session_token } = (await session.json()) as { readonly session_token: string };
  await page.addInitScript(`sessionStorage.setItem("session", ${JSON.stringify(session_token)})`);
  for (const view of VIEWS) {
    await page.goto(`${url ?? ""}/#/${view}`);
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
});

/** Text that is wider than what it stands in and hidden there. */
function cutOff(page: Awaited<ReturnType<typeof openTab>>["page"]): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll("header *, nav *, main *")]
    .filter((one) => one.checkVisibility() && one.clientWidth > 1 && !one.classList.contains("hidden"))
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible")
    .map((one) => one.tagName + "." + one.className + ": " + one.textContent.slice(0, 40))`);
}
