// Needs a Debian package: chromium-headless-shell.
import { expect, it } from "vitest";
import { boothOnce, runningAgent } from "../box-http.ts";
import {
  DESK,
  enterPin,
  useBrowser,
  PHONE,
  screenshot,
  fileOf,
  seriousFaults,
  signIn,
  smallTargets,
  wideParts,
} from "./browser.ts";
import { eventually } from "../../support/eventually.ts";
import { realSite, SERIAL } from "../../support/real-site.ts";

/** Timeout for data of the reports thread. */
const PATIENT = { timeout: 45_000 };
const HEADINGS = {
  now: "Temperatures and pressures",
  days: "Time by mode",
  filters: "Filter changes",
  setup: "Live readings",
  health: "Latest log lines",
} as const;

const { openSite, openTab, workedBooth } = useBrowser();

it("the web page shows each new mode of the booth, and a filter change when it is entered and undone", async () => {
  const site = await realSite({ speed: 60, serial: SERIAL });
  await runningAgent(site);
  await boothOnce(site, "the booth runs", ({ provisioning, now }) => provisioning.state === "active" && now !== null);
  const { page, faults, pin } = await openSite(site);
  const mode = page.locator("#mode");
  await mode.filter({ hasText: "Spray" }).waitFor();
  await screenshot(page, "now-spray", { whole: false });
  await mode.filter({ hasText: "Flash" }).waitFor();
  await screenshot(page, "now-flash", { whole: false });

  await page.getByRole("link", { name: "Filters" }).click();
  const gauge = page.getByRole("meter", { name: /^Exhaust filter/ });
  const minutes = async (): Promise<number> => Number(await gauge.getAttribute("aria-valuenow"));
  const used = await minutes();
  expect(used).toBeGreaterThan(5);
  await page.getByRole("button", { name: "Exhaust filter: Filter changed" }).click();
  await page.getByLabel("Your name").fill("Alex");
  await screenshot(page, "filter-question", { whole: false });
  await page.getByRole("button", { name: "Yes, it was changed" }).click();
  await enterPin(page, pin);
  await page.getByText(/^Exhaust filter: change recorded at/).waitFor();
  // The booth continues meanwhile: its minute is a second here.
  await eventually("the gauge begins anew", async () => ((await minutes()) < used ? true : undefined));
  await page.getByRole("rowheader").first().waitFor();
  await screenshot(page, "filter-changed", { whole: false });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Exhaust filter: the change was undone.").waitFor();
  await eventually("the gauge shows the old filter", async () => ((await minutes()) >= used ? true : undefined));
  await screenshot(page, "filter-undone", { whole: false });
  expect(faults).toEqual([]);
});

it("the web page shows a lost PLC link with reason and advice, the link's return, and an unresponsive gateway", async () => {
  const site = await realSite({ speed: 30, serial: SERIAL });
  const agent = await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ plc, now }) => plc.kind === "up" && now !== null);
  const { page, faults } = await openSite(site, "", { viewport: PHONE, colorScheme: "dark" });
  const plc = page.getByRole("region", { name: "PLC", exact: true });
  await plc.getByText("Connected", { exact: true }).waitFor();
  await site.plc.offline();
  await plc.getByText("Not connected").waitFor();
  // Whether the run continues is unknown too: the last reading is not the present.
  const run = page
    .getByRole("region", { name: "Today" })
    .locator("div", { has: page.getByText("Run", { exact: true }) });
  await run.getByText("unknown", { exact: true }).waitFor();
  await plc.getByText("check the PLC's power, the cable").waitFor();
  await page.locator("#mode").filter({ hasText: "No data" }).waitFor();
  await screenshot(page, "cable-out-dark");
  await site.plc.online();
  await plc.getByText("Connected", { exact: true }).waitFor();
  await page.locator("#mode").filter({ hasNotText: "No data" }).waitFor();
  await screenshot(page, "cable-back-dark");

  // If the box is silent on an open connection, the page must not show old values as present.
  const live = page.locator("#live");
  agent.signal("SIGSTOP");
  await live.filter({ hasText: /doesn't answer; this was at \d\d:\d\d:\d\d/ }).waitFor();
  await screenshot(page, "box-silent-dark", { whole: false });
  agent.signal("SIGCONT");
  await live.filter({ hasText: "Live" }).waitFor();
  expect(faults).toEqual([]);
});

/** Returns the minute of the day of a time input's value. */
const minuteOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

it("the web page selects a part of a day by two taps, and offers the shown figures as CSV", async () => {
  const { page, faults } = await openTab({ viewport: PHONE });
  const { url, pin } = await workedBooth();
  await page.goto(`${url}/#/now`);
  await signIn(page, pin);
  await page.getByText("°C").first().waitFor();
  await page.goto(`${url}/#/days`);
  const strip = page.locator(".strip.tapped");
  await strip.waitFor();
  // The time before the agent's first start is hatched and named as no data, not blank or idle.
  expect(await strip.locator('[data-mode="no_data"]').first().getAttribute("class")).toContain("hatch");
  expect(await strip.getAttribute("aria-label")).toMatch(/^Modes of .*: No data \d+ h/);
  // The strip is redrawn each minute of the booth; a tap must work all the same.
  const tap = async (hour: number): Promise<void> => {
    const { x, y } = await page.evaluate<{ readonly x: number; readonly y: number }>(`(() => {
      const strip = document.querySelector(".strip.tapped");
      strip.scrollIntoView({ block: "center" });
      const { left, top, width, height } = strip.getBoundingClientRect();
      return { x: left + (width * ${hour}) / 24, y: top + height / 2 };
    })()`);
    await page.mouse.click(x, y);
  };
  await tap(8);
  await strip.locator(".chosen").waitFor();
  await tap(10);
  const from = page.getByLabel("From", { exact: true });
  const to = page.getByLabel("To", { exact: true });
  await expect.poll(() => to.inputValue(), PATIENT).toMatch(/^(?:09:5|10:0)[05]$/);
  expect(await from.inputValue()).toMatch(/^(?:07:5|08:0)[05]$/);
  const table = page.getByRole("table", { name: "Time by mode" });
  const minutes = async (): Promise<number> => {
    const { text } = await fileOf(page, "CSV of modes");
    const [head = "", ...rows] = text.trim().split("\n");
    expect(head).toBe("start,end,mode,minutes,starts");
    return rows.reduce((sum, row) => sum + Number(row.split(",")[3]), 0);
  };
  const chosen = minuteOf(await to.inputValue()) - minuteOf(await from.inputValue());
  await expect.poll(async () => Math.round(await minutes()), PATIENT).toBe(chosen);
  await table.getByRole("rowheader", { name: "Spray" }).waitFor();
  await screenshot(page, "days-part");
  const { name, text } = await fileOf(page, "CSV of readings");
  expect(name).toMatch(/^booth-1-2026-03-02-readings\.csv$/);
  expect(text.split("\n").length).toBeGreaterThan(100);
  await page.getByRole("button", { name: "Whole day" }).click();
  await expect.poll(() => from.inputValue(), PATIENT).toBe("");
  expect(faults).toEqual([]);
});

it("the web page shows since when a filter is overdue, and offers a test report and a support report", async () => {
  const { page, faults } = await openTab({ viewport: PHONE });
  const { url, pin } = await workedBooth();
  await page.goto(`${url}/#/filters`);
  const exhaust = page.getByRole("region", { name: "Exhaust filter" });
  await exhaust.getByText(/^Overdue since .+ \(.+\)$/).waitFor();
  await exhaust.getByText(/^Installed on or before .+\. The exact date is unknown\.$/).waitFor();
  await screenshot(page, "filter-overused");

  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${url}/#/setup`);
  await signIn(page, pin);
  await page.getByRole("rowheader", { name: "Air temperature" }).waitFor();
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.getByText("Copied.").waitFor();
  const copied = await page.evaluate<string>("navigator.clipboard.readText()");
  expect(copied).toContain(SERIAL);
  expect(copied).toMatch(/Air temperature +-?\d+.*good/);
  await page.evaluate("globalThis.print = () => (globalThis.printed = true)");
  await page.getByRole("button", { name: "Print", exact: true }).click();
  expect(await page.evaluate<boolean>("globalThis.printed")).toBe(true);
  // Paper has the report and no buttons.
  await page.emulateMedia({ media: "print" });
  expect(await page.getByLabel("Test report", { exact: true }).locator("visible=true").first().isVisible()).toBe(true);
  expect(await page.locator("nav, button").locator("visible=true").count()).toBe(0);
  await page.emulateMedia({ media: "screen" });

  await page.goto(`${url}/#/health`);
  for (const part of ["Clock", "Storage", "Versions", "Incidents", "Latest log lines"])
    await page.getByRole("region", { name: part, exact: true }).first().waitFor();
  await page.getByText("The time is confirmed.").waitFor();
  await page
    .getByRole("log")
    .getByText(/^\d\d:\d\d:\d\d {2}\S/)
    .first()
    .waitFor();
  const report = JSON.parse((await fileOf(page, "Download the report")).text) as object;
  expect(Object.keys(report)).toContain("status");
  expect(faults).toEqual([]);
});

it.each([PHONE, { width: 1440, height: 900 }])(
  "the log of the web page is searched and chosen by level and day, and the shown lines are downloaded, at $width px",
  async (viewport) => {
    const { page, faults } = await openTab({ viewport });
    const { url, pin } = await workedBooth();
    await page.goto(`${url}/#/health`);
    await signIn(page, pin);
    const log = page.getByRole("log");
    await log.locator("div").first().waitFor();
    // The agent goes on writing: the page keeps what it has, because its further requests have no answer.
    await page.route("**/log", (route) => route.abort());
    const shown = () => log.locator("div").allInnerTexts();
    const saved = async () => (await fileOf(page, "Download the shown lines")).text.trim().split("\n").toReversed();
    const all = await shown();
    const file = await saved();
    expect(file).toHaveLength(all.length);
    const textOf = (line: string) => line.replace(/^\S+Z \w+ +/, "");
    expect(all.map((line, at) => line.endsWith(textOf(file[at] ?? "?")))).toEqual(all.map(() => true));

    const days = page.getByLabel("Day", { exact: true });
    const names = (await days.locator("option").allInnerTexts()).slice(1);
    expect(names.length).toBeGreaterThan(0);
    let sum = 0;
    for (const name of names) {
      await days.selectOption(name);
      sum += (await shown()).length;
    }
    expect(sum).toBe(all.length);
    await days.selectOption("All days");

    await page.getByLabel("Level", { exact: true }).selectOption("Warnings and errors");
    const grave = file.filter((line) => !line.includes("Z info "));
    expect(grave.length).toBeLessThan(file.length);
    expect(await shown()).toHaveLength(grave.length);
    await page.getByLabel("Level", { exact: true }).selectOption("All levels");

    const [, word = ""] = /(\w{5,})/.exec(textOf(file.at(-1) ?? "")) ?? [];
    await page.getByLabel("Search the log").fill(word.toUpperCase());
    const found = file.filter((line) => textOf(line).toLowerCase().includes(word.toLowerCase()));
    expect(found.length).toBeLessThan(file.length);
    expect(await saved()).toEqual(found);
    await page.getByText(`${found.length} of ${file.length} lines`).waitFor();
    await screenshot(page, `log-found-${viewport.width}`);
    expect([...(await seriousFaults(page)), ...(await wideParts(page)), ...(await smallTargets(page))]).toEqual([]);

    await page.getByLabel("Search the log").fill("no line has these words");
    expect(await shown()).toEqual([]);
    expect(await page.getByRole("button", { name: "Download the shown lines" }).isDisabled()).toBe(true);
    expect(faults).toEqual([]);
  },
);

it("the printed week report of the web page has a row with the date for each day, on phone and desktop", async () => {
  const { url, pin } = await workedBooth();
  for (const [name, viewport] of [
    ["phone", PHONE],
    ["desk", DESK],
  ] as const) {
    const { page, faults } = await openTab({ viewport });
    await page.goto(`${url}/#/now`);
    await screenshot(page, `now-locked-${name}`);
    await signIn(page, pin);
    await page.goto(`${url}/#/days`);
    await page.getByRole("button", { name: "Week" }).click();
    await page.getByText(/ – /).waitFor();
    await screenshot(page, `week-${name}`);
    await page.emulateMedia({ media: "print" });
    const rows = page.locator(".week > :nth-child(odd)").locator("visible=true");
    await rows.nth(6).waitFor();
    const dates = await rows.allInnerTexts();
    expect(dates).toHaveLength(7);
    expect(dates.filter((date) => !/\d/.test(date))).toEqual([]);
    await screenshot(page, `week-print-${name}`);
    expect(faults).toEqual([]);
  }
});

it("a newly opened view of the page starts below the fixed bar, however far the previous view was scrolled", async () => {
  const { url } = await workedBooth();
  for (const viewport of [PHONE, DESK]) {
    const { page } = await openTab({ viewport });
    await page.goto(`${url}/#/setup`);
    await page.getByRole("heading", { name: HEADINGS.setup }).waitFor();
    for (const view of ["health", "now", "filters", "days", "setup"] as const) {
      await page.evaluate("scrollTo(0, document.body.scrollHeight)");
      await page.locator(`nav a[href="#/${view}"]`).click();
      await page.getByRole("heading", { name: HEADINGS[view] }).waitFor();
      const clear = await page.evaluate<number>(`(() => {
        const card = [...document.querySelectorAll("#main .card")].find((one) => one.getBoundingClientRect().height > 0);
        const bar = document.getElementById("nav").getBoundingClientRect();
        return card.getBoundingClientRect().top - (bar.top < innerHeight / 2 ? Math.max(0, bar.bottom) : 0);
      })()`);
      expect({ view, viewport, covered: clear < -0.5 }).toEqual({ view, viewport, covered: false });
    }
  }
});

it("the web page of a gateway with eight booths opens each booth with one tap", async () => {
  const others = ["booth-2", "booth-3", "prep-station-north", "spray-4", "spray-5", "spray-6", "line-2-drying-tunnel"];
  const site = await realSite({ speed: 30, serial: null, others });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", (_, { booths }) => booths.every(({ now }) => now !== null));
  const { page, faults, pin } = await openSite(site, "now");
  await signIn(page, pin);
  const booths = page.getByRole("region", { name: "Booths of this gateway" });
  const button = (name: string) => booths.getByRole("button", { name });
  await button("booth-1").and(page.locator('[aria-pressed="true"]')).waitFor();
  expect(await booths.getByRole("button").count()).toBe(8);
  await button("line-2-drying-tunnel").click();
  await page.getByRole("heading", { name: "line-2-drying-tunnel" }).waitFor();
  await button("line-2-drying-tunnel").and(page.locator('[aria-pressed="true"]')).waitFor();
  await page.getByRole("region", { name: "Temperatures and pressures" }).getByText("°C").first().waitFor();
  await screenshot(page, "eight-booths");
  expect([...(await wideParts(page)), ...(await smallTargets(page)), ...(await seriousFaults(page))]).toEqual([]);
  await page.getByRole("link", { name: "Filters" }).click();
  await page.getByRole("heading", { name: "Filter changes" }).waitFor();
  await page.getByLabel("Booth", { exact: true }).selectOption("booth-2");
  await page.getByRole("heading", { name: "booth-2" }).waitFor();
  await screenshot(page, "eight-booths-filters");
  expect(faults).toEqual([]);
});
