import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { onTestFinished } from "vitest";

/** Debian's package: without a window's own parts, which a phone has no room for and which would take half of a busy machine. */
const CHROMIUM = "/usr/bin/chromium-headless-shell";
const SCREENSHOTS = fileURLToPath(new URL("../../results/screenshots/", import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** For what a person would wait: a deadline, not a measurement. */
const WITHIN_MS = 45_000;

/** The narrowest that is still common. */
export const PHONE = { width: 360, height: 780 } as const;
export const DESK = { width: 1180, height: 820 } as const;

/** A headless browser; its sandbox wants a user other than root. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

export interface Look {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: "light" | "dark";
  /** The browser's language and region. */
  readonly locale?: string;
}

/** A tab of its own; what its console says of errors stands in `faults`. */
export async function openTab(
  browser: Browser,
  { viewport = DESK, colorScheme = "light", locale = "en-GB" }: Look = {},
): Promise<{ readonly page: Page; readonly faults: readonly string[] }> {
  const context = await browser.newContext({
    viewport,
    colorScheme,
    locale,
    ignoreHTTPSErrors: true,
    acceptDownloads: true,
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(WITHIN_MS);
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("console", (message) => {
    // An answer of 401, 409 or 429 is told there too; what the page makes of it is looked at by itself.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      faults.push(message.text());
  });
  return { page, faults };
}

/** Kept for people to look at; not tracked. */
export async function screenshot(page: Page, name: string, { whole = true } = {}): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png`, fullPage: whole, animations: "disabled" });
}

/** What axe finds, each with the place. */
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

/** What axe finds serious or worse. */
export function seriousFaults(page: Page): Promise<string[]> {
  return faultsByAxe(page, (impact) => impact === "serious" || impact === "critical");
}

/** What a gloved finger doesn't hit: less than 48 px high or wide, of all that can be touched and is shown. */
export async function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll("main, nav, header")]
    .flatMap((part) => [...part.querySelectorAll("a[href], button, select, textarea, input, summary")])
    .map((one) => [one, (one.closest("label") ?? one).getBoundingClientRect()])
    .filter(([one, { width, height }]) => one.checkVisibility() && (width < 47.5 || height < 47.5))
    .map(([one, { width, height }]) => one.tagName + " " + (one.textContent || one.name) + ": " + width.toFixed() + " x " + height.toFixed())`);
}

/** What has to be pushed sideways to be seen: the page itself, or a part of it that scrolls. */
export async function wideParts(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[document.documentElement, ...document.querySelectorAll("body *")]
    .filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth > 1)
    .filter((one) => one === document.documentElement || ["auto", "scroll"].includes(getComputedStyle(one).overflowX))
    .map((one) => (one.getAttribute("aria-label") ?? one.className ?? "") + " " + one.tagName + ": " + one.scrollWidth + " in " + one.clientWidth)`);
}

/** Enters the PIN that the page asks for. */
export async function enterPin(page: Page, pin: string): Promise<void> {
  await page.getByLabel("PIN, eight digits").fill(pin);
  await page.getByRole("button", { name: "Enter", exact: true }).click();
}

/** Readings are for who has the PIN, on the box too. */
export async function signIn(page: Page, pin: string): Promise<void> {
  await page.getByRole("button", { name: "Enter the PIN to see this" }).first().click();
  await enterPin(page, pin);
}

/** The file that a button of the page gives. */
export async function fileOf(page: Page, button: string): Promise<{ readonly name: string; readonly text: string }> {
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: button, exact: true }).click(),
  ]);
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
}
