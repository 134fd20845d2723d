// Needs a Debian package: chromium-headless-shell.
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { FilterUse } from "../../../src/reports/filter-use.ts";
import { SHOP_HOURS, SHOP_NOW, shopOf } from "../../screenshots/history.ts";
import { realSite } from "../../support/real-site.ts";
import { ask, boothOnce, openPage, runningAgent, sessionAt } from "../box-http.ts";
import { faultsByAxe, openBrowser, openTab, PHONE, smallTargets, wideParts, type Look } from "./browser.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

/** Compares the page's charts with the box's answers. */

const DAYS = 9;
const PATIENT = { timeout: 30_000 };

interface Shop {
  readonly url: string;
  readonly session: string;
  readonly get: <T>(operation: string, query: Readonly<Record<string, string>>) => Promise<T>;
}

let browser: Browser;
let shop: Promise<Shop>;
const ends: (() => unknown)[] = [];
beforeAll(async () => {
  browser = await openBrowser();
  shop = openShop();
  await shop;
});
afterAll(async () => {
  for (const end of ends) await end();
  await browser.close();
});

/** Starts an agent with the data of nine days. */
async function openShop(): Promise<Shop> {
  const { scenario, start, liveThrough } = shopOf(DAYS);
  const site = await realSite({
    speed: 1,
    serial: null,
    scenario,
    fill: liveThrough,
    begins: { wall: SHOP_NOW, story: start },
    booth: { working_hours: SHOP_HOURS },
    atEnd: (end) => void ends.unshift(end),
  });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ plc, now }) => plc.kind === "up" && now?.in_gap === false);
  const { url, pin } = await openPage(site);
  const session = await sessionAt(url ?? "", pin);
  return {
    url: url ?? "",
    session,
    async get<T>(operation: string, query: Readonly<Record<string, string>>) {
      const { body, status, text } = await ask(
        `${url ?? ""}/api/booths/booth-1/${operation}?${new URLSearchParams(query).toString()}`,
        { key: session },
      );
      if (status !== 200) throw new Error(text);
      return body as T;
    },
  };
}

async function openView(
  view: string,
  look: Look = {},
): Promise<Shop & { readonly page: Page; readonly faults: readonly string[] }> {
  const open = await shop;
  const { page, faults } = await openTab(browser, look);
  await page.addInitScript(`sessionStorage.setItem("session", ${JSON.stringify(open.session)})`);
  await page.goto(`${open.url}/#/${view}`);
  return { ...open, page, faults };
}

/** Returns the chart's figures in its table and in its file. */
async function figuresUnder(
  page: Page,
  foot: Locator,
): Promise<{ readonly table: string[][]; readonly csv: string[][] }> {
  await foot.locator("summary").click();
  const rows = foot.locator("tbody tr");
  await rows.first().waitFor();
  const table = await Promise.all((await rows.all()).map((row) => row.locator("th, td").allTextContents()));
  const [file] = await Promise.all([page.waitForEvent("download"), foot.getByRole("button", { name: /^CSV/ }).click()]);
  const stream = await file.createReadStream();
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  const csv = Buffer.concat(chunks).toString("utf8").trim().split("\n");
  return { table, csv: csv.map((line) => line.split(",")) };
}

const iso = (at: number): string => new Date(at).toISOString();
/** Thursday's midnight in Denver. */
const TODAY = Date.UTC(2026, 2, 12, 6);

it("the web page's Now view shows today's modes and cycles as a strip, and each figure's last 24 hours as a chart", async () => {
  const { page, faults, get } = await openView("now", { viewport: PHONE });
  const strip = page.locator(".today .strip");
  await strip.waitFor();
  const { data: cycles } = await get<{ data: { counted: boolean }[] }>("cycles", { start: iso(TODAY) });
  expect(cycles.length).toBeGreaterThan(0);
  expect(await strip.locator(".cycle").count()).toBe(cycles.filter(({ counted }) => counted).length);
  expect(await strip.getAttribute("aria-label")).toMatch(/^Modes on Thu,? 12 Mar, .*Off .*, \d cycles? ended$/);
  const looks = await page.evaluate<[string, string][]>(`[...document.querySelectorAll(".today .seg[data-mode]")]
    .map((one) => [one.dataset.mode, getComputedStyle(one).backgroundImage])`);
  const of = (mode: string): unknown => looks.find(([name]) => name === mode)?.[1];
  // Off and setback differ without color, from each other and from plain modes.
  expect([of("off"), of("setback"), of("spray")]).toEqual([
    expect.stringContaining("radial-gradient"),
    expect.stringContaining("repeating-linear-gradient"),
    "none",
  ]);
  const measured = page.getByRole("region", { name: "Temperatures and pressures" });
  await expect.poll(() => measured.locator(".spark").count(), PATIENT).toBe(5);
  await expect.poll(() => page.getByRole("region", { name: "Today" }).locator(".spark").count(), PATIENT).toBe(3);
  const { csv } = await figuresUnder(page, page.getByRole("region", { name: "Today" }).locator(".chart-foot"));
  expect(csv).toHaveLength(25);
  expect([await faultsByAxe(page), await wideParts(page), await smallTargets(page), faults]).toEqual([[], [], [], []]);
});

interface Trend {
  readonly start: number;
  readonly tags: readonly { readonly tag: string; readonly min: readonly number[]; readonly max: readonly number[] }[];
}

it("the temperature chart of a day shows the API's values at the cursor, in the table and in the CSV file", async () => {
  const { page, faults, get } = await openView("days", { colorScheme: "dark" });
  await page.locator(".plot canvas").first().waitFor();
  const end = TODAY + 24 * 60 * MINUTE_MS;
  const trend = await get<Trend>("trend", { start: iso(TODAY), end: iso(end), tags: "air_temperature", interval: "5" });
  const at = (index: number): string => {
    const [air] = trend.tags;
    const [low, high] = [air?.min[index] ?? NaN, air?.max[index] ?? NaN].map((one) => one.toFixed(1));
    return `Air temperature ${low === high ? (low ?? "") : `${low ?? ""}…${high ?? ""}`} °C`;
  };
  const slider = page.getByRole("slider", { name: "Time of day" });
  await slider.press("Home");
  for (let step = 0; step < 3; step += 1) await slider.press("ArrowRight");
  const said = (): Promise<string | null> => slider.getAttribute("aria-valuetext");
  await expect.poll(said, PATIENT).toMatch(/^00:15 · Off · /);
  expect(await said()).toContain(at(3));
  // The strip and each chart show the same cursor.
  expect(await page.locator(".strip.tapped .cursor").getAttribute("style")).toContain("left: 1.042%");

  const over = page.locator(".plot .u-over").first();
  const hours = 11.3;
  const width = (await over.boundingBox())?.width ?? 0;
  await over.hover({ position: { x: (width * hours) / 24, y: 20 } });
  await expect.poll(said, PATIENT).toMatch(/^11:1[78] · Bake · /);
  expect(await said()).toContain(at(Math.floor((hours * 60) / 5)));

  const foot = page.locator(".trends .chart-foot");
  const { table, csv } = await figuresUnder(page, foot);
  expect(table[11]?.[0]).toBe("11:00");
  const eleven = trend.tags[0]?.max.slice(132, 144) ?? [];
  expect(table[11]?.[1]).toContain(`…${Math.max(...eleven).toFixed(1)}`);
  expect(csv[0]?.slice(0, 3)).toEqual(["time", "air_temperature min (C)", "air_temperature max (C)"]);
  expect(csv[134]?.slice(0, 3)).toEqual([
    "2026-03-12T17:05:00Z",
    String(trend.tags[0]?.min[133]),
    String(trend.tags[0]?.max[133]),
  ]);
  expect([await faultsByAxe(page), faults]).toEqual([[], []]);
});

it("a touch on a chart shows the values at that point, and vertical swipes still scroll the page", async () => {
  const { page } = await openView("days", { viewport: PHONE });
  const over = page.locator(".plot .u-over").first();
  await over.waitFor();
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  if (box === null) throw new Error("the chart has no place");
  await over.dispatchEvent("pointerdown", { pointerType: "touch", clientX: box.x + box.width / 3, clientY: box.y + 9 });
  await over.dispatchEvent("pointerleave", { pointerType: "touch" });
  await expect.poll(() => page.locator(".readout").textContent(), PATIENT).toMatch(/^0[78]:\d\d · /);
  expect(await page.evaluate(`getComputedStyle(document.querySelector(".plot")).touchAction`)).toBe("pan-y");
});

interface Period {
  readonly start: number;
  readonly cycle_count: number;
  readonly utilization_pct: number | null;
  readonly kwh_usage: number;
  readonly modes: readonly { readonly mode: string; readonly duration: number }[];
}

it("the chart of a week shows the API's figures by day, and the chart of a quarter has a column per week", async () => {
  const { page, faults, get } = await openView("days", { viewport: PHONE });
  await page.getByRole("button", { name: "Week", exact: true }).click();
  const start = Date.UTC(2026, 2, 6, 7);
  const { data } = await get<{ data: Period[] }>("use_periods", { start: iso(start), unit: "day" });
  const cycles = page.getByRole("region", { name: "Cycles", exact: true });
  await expect
    .poll(() => cycles.locator(".top").allTextContents(), PATIENT)
    .toEqual(data.map(({ cycle_count }) => cycle_count.toString()));
  const use = page.getByRole("region", { name: "Utilization, %" });
  expect(await use.locator(".top").allTextContents()).toEqual(
    data.map(({ utilization_pct }) => (utilization_pct === null ? "–" : utilization_pct.toFixed(0))),
  );
  expect(await wideParts(page)).toEqual([]);
  const modes = page.getByRole("region", { name: "Modes by day" });
  const { csv } = await figuresUnder(page, modes.locator(".chart-foot"));
  const spray = csv[0]?.indexOf("Spray Mode (min)") ?? -1;
  expect(csv.slice(1, 7).map((row) => Number(row[spray]))).toEqual(
    data.slice(0, 6).map((day) => day.modes.find(({ mode }) => mode === "Spray Mode")?.duration ?? 0),
  );
  expect(await faultsByAxe(page)).toEqual([]);

  await page.getByRole("button", { name: "Quarter", exact: true }).click();
  const weeks = page.getByRole("region", { name: "Modes by week" });
  await expect.poll(() => weeks.locator(".column").count(), PATIENT).toBe(13);
  // Weeks before the box was installed are shown as unknown, not as weeks without work.
  expect(await weeks.locator(".pile.hatch").count()).toBe(11);
  expect([await faultsByAxe(page), await wideParts(page), faults]).toEqual([[], [], []]);
});

it("a filter's chart ends at the due date that the API forecasts, and a recorded filter change is listed", async () => {
  const { page, faults, get } = await openView("filters", { viewport: PHONE, colorScheme: "dark" });
  const { data } = await get<{ data: FilterUse[] }>("filter_use", { start: iso(TODAY) });
  const exhaust = data.find(({ filter }) => filter === "exhaust_filter");
  const day = (at: number): string =>
    new Intl.DateTimeFormat("en-GB", { timeZone: "America/Denver", day: "numeric", month: "short" }).format(at);
  const card = page.locator('[data-filter="exhaust_filter"]');
  await card.getByText(`Due on ${day(exhaust?.forecast?.at ?? 0)} at the current use`).waitFor();
  await expect.poll(() => card.locator(".plot canvas").count(), PATIENT).toBe(2);
  const { table, csv } = await figuresUnder(page, card.locator(".chart-foot").first());
  const hours = ((exhaust?.minutes ?? 0) / 60).toFixed(0);
  expect(table.at(-1)?.slice(1)).toEqual([`${hours} h`, `${(exhaust?.percent ?? 0).toFixed(0)} %`]);
  expect(Number(csv.at(-1)?.[1])).toBeCloseTo(exhaust?.minutes ?? 0, 0);

  await page.getByRole("button", { name: "Pre-filter: Filter changed" }).click();
  await page.getByLabel("Your name").fill("Dana");
  await page.getByLabel("Part number (optional)").fill("PF-2020-G4");
  await page.getByLabel("Note (optional)").fill("frame bent");
  await page.getByRole("button", { name: "Yes, it was changed" }).click();
  await page
    .locator('[data-filter="pre_filter"]')
    .getByText("Part number PF-2020-G4 · frame bent · entered by Dana")
    .waitFor();
  await page.getByRole("region", { name: "Filter changes" }).getByText("Part number PF-2020-G4").waitFor();
  expect([await faultsByAxe(page), await wideParts(page), faults]).toEqual([[], [], []]);
});
