// Needs a Debian package: chromium-headless-shell.
import { expect, it } from "vitest";
import { boothOnce, openPage, runningAgent } from "../box-http.ts";
import { useBrowser, PHONE, seriousFaults, smallTargets } from "./browser.ts";
import { realSite, SERIAL } from "../../support/real-site.ts";

const { atEnd, openTab } = useBrowser();

let opened: ReturnType<typeof openedPage> | undefined;
/** Opens one page for all tests that only read. */
function onePage(): ReturnType<typeof openedPage> {
  return (opened ??= openedPage());
}

async function openedPage() {
  const site = await realSite({ speed: 30, serial: SERIAL, atEnd });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ now }) => now !== null);
  const { url, pin } = await openPage(site, { for_ms: 3_600_000 });
  return { site, url: url ?? "", pin };
}

it("the web page uses the browser's language and loads no other, and a language chosen by the user stays on the device", async () => {
  const { url } = await onePage();
  const { page: tab, faults } = await openTab({ viewport: PHONE, locale: "de-AT" });
  const loaded: string[] = [];
  tab.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await tab.goto(url);
  await tab.getByRole("heading", { name: "Heute" }).waitFor();
  expect(await tab.locator("html").getAttribute("lang")).toBe("de");
  expect(loaded.flatMap((path) => /\/(en|es|de)\.json$/.exec(path)?.[1] ?? [])).toEqual(["de"]);

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

it("the web page shows a missing text in English, and is entirely in English if the browser's language is not supported", async () => {
  const { url } = await onePage();
  const { page: tab } = await openTab({ locale: "de-DE" });
  await tab.route("**/de.json", async (route) => {
    const whole = await (await route.fetch()).text();
    const body = whole.replace(/ *"now.today": .*\n/, "");
    expect(body).not.toBe(whole);
    await route.fulfill({ body, contentType: "application/json" });
  });
  await tab.goto(url);
  await tab.getByRole("heading", { name: "Today" }).waitFor();
  await tab.getByRole("heading", { name: "Temperaturen und Drücke" }).waitFor();

  const { page: finnish } = await openTab({ locale: "fi-FI" });
  await finnish.goto(url);
  await finnish.getByRole("heading", { name: "Today" }).waitFor();
});

it("the web page translates messages from the agent, such as the reason for a lost link or a rejected PIN", async () => {
  const { site, url, pin } = await onePage();
  const { page: tab, faults } = await openTab({ viewport: PHONE, locale: "de-DE" });
  await tab.goto(`${url}/#/setup`);
  await tab.getByRole("button", { name: "PIN eingeben, um dies zu sehen" }).first().click();
  await tab.getByLabel("PIN (8 Ziffern)").fill(pin === "1111 1111" ? "22222222" : "11111111");
  await tab.getByRole("button", { name: "Weiter", exact: true }).click();
  await tab.getByText("Falsche PIN: noch 4 Versuche, dann wird die Anmeldung gesperrt").waitFor();
  await tab.getByRole("button", { name: "Abbrechen" }).click();

  await site.plc.stop();
  await tab.goto(`${url}/#/now`);
  await tab
    .getByText(
      "Prüfen Sie, ob die SPS mit Spannung versorgt ist, das Netzwerkkabel steckt und Adresse und Port in der Konfiguration stimmen",
    )
    .first()
    .waitFor();
  const { page: english } = await openTab();
  await english.goto(url);
  await english
    .getByText(
      "Check that the PLC has power, that the network cable is connected, and that address and port in the configuration are right",
    )
    .first()
    .waitFor();
  expect(faults).toEqual([]);
});
