import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, expect, onTestFinished } from "vitest";
import { realSite, SERIAL } from "../../support/real-site.ts";
import { boothOnce, openPage, runningAgent } from "../box-http.ts";

/** Debian's headless package: without a window, which would take half of a busy machine. */
const CHROMIUM = "/usr/bin/chromium-headless-shell";
const SCREENSHOTS = fileURLToPath(new URL("../../results/screenshots/", import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** A deadline, not a measurement. */
const WITHIN_MS = 45_000;

/** The narrowest phone that is still common. */
export const PHONE = { width: 360, height: 780 } as const;
export const DESK = { width: 1180, height: 820 } as const;

/** Opens a headless browser. Its sandbox would need a user other than root. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

export interface Look {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: "light" | "dark";
  /** Whether the device has a touch screen, which `person` needs for taps. */
  readonly isTouched?: boolean;
  /** The browser's language and region. */
  readonly locale?: string;
}

export interface Tab {
  readonly page: Page;
  /** Errors in the tab's console. */
  readonly faults: readonly string[];
}

/** Opens one browser for the tests of a file, and closes it after them. `atEnd`: what else is to be ended after them. */
export function useBrowser() {
  const ends: (() => unknown)[] = [];
  let opened: Promise<Browser> | undefined;
  const browser = (): Promise<Browser> => (opened ??= openBrowser());
  afterAll(async () => {
    await (await opened)?.close();
    for (const end of ends.toReversed()) await end();
  });
  const atEnd = (end: () => unknown): void => void ends.push(end);
  let worked: Promise<{ readonly url: string; readonly pin: string }> | undefined;
  const openWorked = async (others: readonly string[]) => {
    const booth = { filters: { exhaust_filter: { limits: { minutes: 2_400 } } } };
    const site = await realSite({ speed: 600, serial: SERIAL, scenario: "busy-day", booth, atEnd, others });
    await runningAgent(site);
    await boothOnce(site, "the booth has worked", ({ now }) => (now?.cycles_today ?? 0) > 1);
    const { url, pin } = await openPage(site, { for_ms: 12 * 3_600_000 });
    return { url: url ?? "", pin };
  };
  return {
    browser,
    atEnd,
    /** Opens the page of a booth after two cycles of a busy day, with an overdue filter: once for all tests that only read. */
    workedBooth: (others: readonly string[] = []) => (worked ??= openWorked(others)),
    openTab: async (look?: Look): Promise<Tab> => openTab(await browser(), look),
    /** Opens the page of a site with a new PIN, on a phone by default. `view`: without it the first one. */
    openSite: async (site: Parameters<typeof openPage>[0], view = "", look: Look = { viewport: PHONE }) => {
      const { url, pin } = await openPage(site);
      const tab = await openTab(await browser(), look);
      await tab.page.goto(`${url ?? ""}${view === "" ? "" : `/#/${view}`}`);
      return { ...tab, url: url ?? "", pin };
    },
  };
}

export async function openTab(
  browser: Browser,
  { viewport = DESK, colorScheme = "light", locale = "en-GB", isTouched = false }: Look = {},
): Promise<Tab> {
  const context = await browser.newContext({
    viewport,
    colorScheme,
    locale,
    hasTouch: isTouched,
    isMobile: isTouched,
    ignoreHTTPSErrors: true,
    acceptDownloads: true,
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(WITHIN_MS);
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("console", (message) => {
    // The console also reports answers of 401, 409 or 429, which the tests check themselves.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      faults.push(message.text());
  });
  return { page, faults };
}

/** Keeps a picture for people; not tracked. */
export async function screenshot(page: Page, name: string, { whole = true } = {}): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png`, fullPage: whole, animations: "disabled" });
}

/** Returns the faults that axe finds, with their places. */
export async function faultsByAxe(
  page: Page,
  isMeant: (impact: string | null) => boolean = () => true,
): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<{
    readonly violations: readonly {
      readonly id: string;
      readonly impact: string | null;
      readonly nodes: readonly { readonly target: readonly string[] }[];
    }[];
  }>("axe.run()");
  return violations
    .filter(({ impact }) => isMeant(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}

/** Returns the faults that axe finds serious or worse. */
export function seriousFaults(page: Page): Promise<string[]> {
  return faultsByAxe(page, (impact) => impact === "serious" || impact === "critical");
}

/** Returns the visible targets that a gloved finger misses: less than 48 px high or wide. */
export async function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll("main, nav, header")]
    .flatMap((part) => [...part.querySelectorAll("a[href], button, select, textarea, input, summary")])
    .map((one) => [one, (one.closest("label") ?? one).getBoundingClientRect()])
    .filter(([one, { width, height }]) => one.checkVisibility() && (width < 47.5 || height < 47.5))
    .map(([one, { width, height }]) => one.tagName + " " + (one.textContent || one.name) + ": " + width.toFixed() + " x " + height.toFixed())`);
}

/** Fails if a part of the view is hidden at the side, too small for a glove, or a serious fault for screen readers. */
export async function mustBeUsable(page: Page): Promise<void> {
  expect(await wideParts(page)).toEqual([]);
  expect(await smallTargets(page)).toEqual([]);
  expect(await seriousFaults(page)).toEqual([]);
}

/** Returns the parts that scroll sideways, including the page itself. */
export async function wideParts(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[document.documentElement, ...document.querySelectorAll("body *")]
    .filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth > 1)
    .filter((one) => one === document.documentElement || ["auto", "scroll"].includes(getComputedStyle(one).overflowX))
    .map((one) => (one.getAttribute("aria-label") ?? one.className ?? "") + " " + one.tagName + ": " + one.scrollWidth + " in " + one.clientWidth)`);
}

/** Enters the PIN in the page's dialog. */
export async function enterPin(page: Page, pin: string): Promise<void> {
  await page.getByLabel("PIN (8 digits)").fill(pin);
  await page.getByRole("button", { name: "Enter", exact: true }).click();
}

/** Signs in from a view whose readings need the PIN. */
export async function signIn(page: Page, pin: string): Promise<void> {
  await page.getByRole("button", { name: "Enter the PIN to see this" }).first().click();
  await enterPin(page, pin);
}

/** Presses a button and returns the file that it downloads. */
export async function fileOf(page: Page, button: string): Promise<{ readonly name: string; readonly text: string }> {
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: button, exact: true }).click(),
  ]);
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
}
