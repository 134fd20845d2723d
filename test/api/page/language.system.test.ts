// Needs a Debian package: chromium-headless-shell.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { boothOnce, openPage, runningAgent } from "../box-http.ts";
import { openBrowser, openTab, PHONE, seriousFaults, smallTargets } from "./browser.ts";
import { realSite, SERIAL } from "../../support/real-site.ts";

let browser: Browser;
const ending: (() => unknown)[] = [];
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  for (const end of ending.toReversed()) await end();
});

let opened: ReturnType<typeof openedPage> | undefined;
/** One page for all who only look. */
function onePage(): ReturnType<typeof openedPage> {
  return (opened ??= openedPage());
}

async function openedPage() {
  const site = await realSite({ speed: 30, serial: SERIAL, atEnd: (end) => void ending.push(end) });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ now }) => now !== null);
  const { url, pin } = await openPage(site, { for_ms: 3_600_000 });
  return { site, url: url ?? "", pin };
}

it("speaks the browser's language, loads no other, and keeps on this device the one that is chosen", async () => {
  const { url } = await onePage();
  const { page: tab, faults } = await openTab(browser, { viewport: PHONE, locale: "de-AT" });
  const loaded: string[] = [];
  tab.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await tab.goto(url);
  await tab.getByRole("heading", { name: "Heute" }).waitFor();
  expect(await tab.locator("html").getAttribute("lang")).toBe("de");
  expect(loaded.flatMap((path) => /\/(en|es|de)\.js$/.exec(path)?.[1] ?? [])).toEqual(["de"]);

  await tab.getByRole("button", { name: "Anzeige" }).click();
  const dialog = tab.getByRole("dialog", { name: "Anzeige" });
  expect(await dialog.getByLabel("Sprache").inputValue()).toBe("de");
  expect([...(await seriousFaults(tab)), ...(await smallTargets(tab))]).toEqual([]);
  await dialog.getByLabel("Sprache").selectOption({ label: "Español" });
  await dialog.getByRole("button", { name: "Speichern" }).click();
  await tab.getByRole("heading", { name: "Hoy" }).waitFor();
  await tab.goto(`${url}/#/filters`);
  await tab.reload();
  await tab.getByRole("heading", { name: "Filtro de extracción" }).waitFor();
  expect(faults).toEqual([]);
});

it("shows in English what the language lacks, and speaks English where it has none of the browser's", async () => {
  const { url } = await onePage();
  const { page: tab } = await openTab(browser, { locale: "de-DE" });
  await tab.route("**/de.js", async (route) => {
    const whole = await (await route.fetch()).text();
    const body = whole.replace(/ *"now.today": .*\n/, "");
    expect(body).not.toBe(whole);
    await route.fulfill({ body, contentType: "text/javascript" });
  });
  await tab.goto(url);
  await tab.getByRole("heading", { name: "Today" }).waitFor();
  await tab.getByRole("heading", { name: "Temperaturen und Drücke" }).waitFor();

  const { page: finnish } = await openTab(browser, { locale: "fi-FI" });
  await finnish.goto(url);
  await finnish.getByRole("heading", { name: "Today" }).waitFor();
});

it("says what the agent says in the page's language too: why a link is down, and what was wrong with a PIN", async () => {
  const { site, url, pin } = await onePage();
  const { page: tab, faults } = await openTab(browser, { viewport: PHONE, locale: "de-DE" });
  await tab.goto(`${url}/#/setup`);
  await tab.getByRole("button", { name: "Zum Ansehen PIN eingeben" }).first().click();
  await tab.getByLabel("PIN, acht Ziffern").fill(pin === "1111 1111" ? "22222222" : "11111111");
  await tab.getByRole("button", { name: "Weiter", exact: true }).click();
  await tab.getByText("Das ist nicht die PIN; noch 4 Versuche, dann ist gesperrt").waitFor();
  await tab.getByRole("button", { name: "Abbrechen" }).click();

  await site.plc.stop();
  await tab.goto(`${url}/#/now`);
  await tab
    .getByText("Prüfen Sie Strom und Kabel der SPS sowie Adresse und Port in der Konfiguration")
    .first()
    .waitFor();
  const { page: english } = await openTab(browser);
  await english.goto(url);
  await english
    .getByText("Check the PLC's power, the cable, and address and port in the configuration")
    .first()
    .waitFor();
  expect(faults).toEqual([]);
});
