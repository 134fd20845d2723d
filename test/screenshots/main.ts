#!/usr/bin/env node
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { openPage, runningAgent, boothOnce, sessionAt, ask } from "../api/box-http.ts";
import { faultsByAxe, openBrowser } from "../api/page/browser.ts";
import { eventually } from "../support/eventually.ts";
import { realSite, SERIAL, type RealSite } from "../support/real-site.ts";
import { SHOP_HOURS, SHOP_NOW, shopOf } from "./history.ts";

/**
 * screenshots [--only NAME] [--docs] [--phone-only]: a real site with 30 days of a shop's life, and a picture of every view, light and dark, at 360 and
 * 1440 px, in each language that the page has, under test/results/screenshots; with --docs the six that the texts show, too. It looks for
 * what axe finds, for parts that must be pushed sideways, and measures how soon a slow phone can use the page.
 */

const RESULTS = fileURLToPath(new URL("../results/screenshots/", import.meta.url));
const MADE = fileURLToPath(new URL("../results/shop", import.meta.url));
/** Until it is whole: what an end half way left is no month. */
const MAKING = `${MADE}.part`;
const DOCS = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const PAGE = new URL("../../src/api/page/", import.meta.url);
const DAYS = 30;
const WIDTHS = { phone: { width: 360, height: 780 }, desk: { width: 1440, height: 900 } } as const;
const THEMES = ["light", "dark"] as const;
/** What a text may weigh with its pictures. */
const MAX_DOCS_BYTES = 150_000;
const WITHIN_MS = 60_000;
/** Longer than all pictures take. */
const OPEN_MS = 6 * 3_600_000;

type Width = keyof typeof WIDTHS;
type Theme = (typeof THEMES)[number];

interface View {
  readonly name: string;
  readonly path: string;
  /** A button pressed first, by its text's key. */
  readonly press?: string;
  /** All of these are shown once it is drawn. */
  readonly ready: readonly string[];
}

const VIEWS: readonly View[] = [
  {
    name: "now",
    path: "now",
    ready: [".today .strip", "[data-figures=today] .spark", "[data-figures=measured] .spark"],
  },
  { name: "day", path: "days", ready: [".strip.tapped", ".plot canvas"] },
  { name: "week", path: "days", press: "days.week", ready: [".bars.tall"] },
  { name: "quarter", path: "days", press: "days.quarter", ready: [".bars.tall"] },
  { name: "filters", path: "filters", ready: [".filter-charts canvas"] },
  { name: "setup", path: "setup", ready: ["main .card"] },
  { name: "health", path: "health", ready: ["main .card"] },
];

interface Shot {
  readonly view: string;
  readonly width: Width;
  readonly theme: Theme;
  /** What stands at the top; default: the page's head. */
  readonly from?: string;
}

/** By the name of the file in docs/images. */
const IN_DOCS: Readonly<Record<string, Shot>> = {
  "now-phone": { view: "now", width: "phone", theme: "light" },
  "now-desk": { view: "now", width: "desk", theme: "light" },
  "day-desk": { view: "day", width: "desk", theme: "light" },
  "week-desk": { view: "week", width: "desk", theme: "dark" },
  "filters-phone": { view: "filters", width: "phone", theme: "light", from: '[data-filter="exhaust_filter"]' },
  "quarter-phone": { view: "quarter", width: "phone", theme: "dark", from: ".bars.tall" },
};

/** The page's own list. */
function languages(): readonly string[] {
  const list = /LANGUAGES = .*?\(\{(.*?)\}\)/s.exec(readFileSync(new URL("ahead.js", PAGE), "utf8"))?.[1];
  const names = [...(list ?? "").matchAll(/(\w+):/g)].map(([, name]) => name ?? "");
  if (names.length === 0) throw new Error("src/api/page/ahead.js has no list of languages");
  return names;
}

/** A language's text of that key. */
function textIn(language: string, key: string): string {
  const file = readFileSync(new URL(`${language}.js`, PAGE), "utf8");
  const found = new RegExp(`^  "?${key.replace(".", "\\.")}"?: "(.*)",$`, "m").exec(file)?.[1];
  if (found === undefined) throw new Error(`${language} has no ${key}`);
  return found;
}

const QUIET = `performance.now() - Math.max(0, ...performance.getEntriesByType("resource").map(({ responseEnd }) => responseEnd)) > 500 || undefined`;

/** When the mode and the day's strip were first there. */
const SEEN = `globalThis.seen = {};
new MutationObserver(() => {
  if (document.querySelector("#mode:not(:empty)")) seen.mode ??= performance.now();
  if (document.querySelector(".today .strip")) seen.strip ??= performance.now();
}).observe(document, { childList: true, subtree: true });`;

/** Of the page's own files, those that came over the line. */
const FETCHED = `(() => {
  const sizes = performance.getEntries().map(({ name, transferSize }) => (/\\.(js|css)$|\\/(#.*)?$/.test(name) ? transferSize : 0)).filter(Boolean);
  return { count: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
})()`;

interface Bed {
  readonly browser: Browser;
  readonly url: string;
  /** As the network has it: by HTTP/2, with the box's own certificate. */
  readonly far: string;
  readonly session: string;
}

interface Visit {
  readonly language: string;
  readonly theme: Theme;
  readonly width: Width;
}

async function visit({ browser, session }: Bed, { language, theme, width }: Visit): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: WIDTHS[width],
    colorScheme: theme,
    locale: language,
    ignoreHTTPSErrors: true,
  });
  await context.addInitScript(`sessionStorage.setItem("session", ${JSON.stringify(session)})`);
  context.setDefaultTimeout(WITHIN_MS);
  return context;
}

async function show(page: Page, url: string, { view, language }: { view: View; language: string }): Promise<void> {
  await page.goto(`${url}/#/${view.path}`);
  await page.reload();
  if (view.press !== undefined) {
    await page.getByRole("button", { name: textIn(language, view.press), exact: true }).click();
  }
  for (const part of view.ready) await page.locator(part).first().waitFor();
  await page.locator("#live.good").waitFor();
  // Each chart comes with an answer of its own: quiet for a while, all are there.
  await eventually("no more is loaded", () => page.evaluate<true | undefined>(QUIET), WITHIN_MS);
}

/** Pictures of all views as one visitor sees them; what is wrong with them. */
async function take(bed: Bed, by: Visit, { only, docs }: { only: string; docs: boolean }): Promise<string[]> {
  const context = await visit(bed, by);
  const faults: string[] = [];
  const page = await context.newPage();
  page.on("pageerror", ({ message }) => faults.push(message));
  for (const view of VIEWS) {
    const name = `${view.name}-${by.width}-${by.theme}-${by.language}`;
    if (!name.includes(only)) continue;
    await show(page, bed.url, { view, language: by.language });
    await whole(page, join(RESULTS, `${name}.png`), by.width);
    const found = [...(await faultsByAxe(page)), ...(await sideways(page))];
    faults.push(...found.map((fault) => `${name}: ${fault}`));
    if (docs && by.language === "en") await takeForDocs(page, { ...by, view: view.name });
  }
  await context.close();
  return faults;
}

/** The whole view, with its bar at the foot where a phone has it. */
async function whole(page: Page, path: string, width: Width): Promise<void> {
  const height = await page.evaluate<number>("document.documentElement.scrollHeight");
  await page.setViewportSize({ ...WIDTHS[width], height });
  await page.screenshot({ path, animations: "disabled" });
  await page.setViewportSize(WIDTHS[width]);
}

/** The first screenful: a text shows what there is, not all of it. */
async function takeForDocs(page: Page, shot: Shot): Promise<void> {
  for (const [name, wanted] of Object.entries(IN_DOCS)) {
    if (wanted.view !== shot.view || wanted.width !== shot.width || wanted.theme !== shot.theme) continue;
    const path = join(DOCS, `${name}.png`);
    const top = wanted.from ?? "header";
    await page.evaluate(`document.querySelector(${JSON.stringify(top)}).closest(".card, header").scrollIntoView()`);
    await page.screenshot({ path, animations: "disabled" });
    const { size } = statSync(path);
    if (size > MAX_DOCS_BYTES) throw new Error(`${path} has ${size} bytes: at most ${MAX_DOCS_BYTES}`);
    process.stdout.write(`docs/images/${name}.png ${size} bytes\n`);
  }
}

/** The page itself must not be wider than the screen. */
async function sideways(page: Page): Promise<string[]> {
  const wider = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  return wider > 0 ? [`${wider} px wider than the screen`] : [];
}

/**
 * A phone of some years ago in a workshop's far corner: a quarter of this processor, 1.6 Mbit/s, 150 ms there and back for each
 * question. Over the box's own certificate a browser keeps no file: its second visit fetches all of them again.
 */
async function onSlowPhone(bed: Bed, urls: Readonly<Record<string, string>>): Promise<void> {
  for (const [way, url] of Object.entries(urls)) {
    const context = await visit(bed, { language: "en", theme: "light", width: "phone" });
    await context.addInitScript(SEEN);
    for (const which of ["first visit", "second visit"]) {
      const page = await context.newPage();
      const devtools = await context.newCDPSession(page);
      await devtools.send("Network.enable");
      await devtools.send("Emulation.setCPUThrottlingRate", { rate: 4 });
      const line = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 };
      await devtools.send("Network.emulateNetworkConditions", line);
      await page.goto(`${url}/#/now`, { waitUntil: "commit" });
      // By the page's own clock, from the navigation on: a look in from outside costs a slow phone time of its own.
      const seen = await eventually("the strip is drawn", async () => {
        const { result } = await devtools.send("Runtime.evaluate", { expression: "JSON.stringify(seen)" });
        const { mode, strip } = JSON.parse(String(result.value)) as { readonly mode?: number; readonly strip?: number };
        return mode === undefined || strip === undefined ? undefined : { mode, strip };
      });
      const files = await page.evaluate<{ count: number; bytes: number }>(FETCHED);
      process.stdout.write(
        `slow phone, ${way}, ${which}: mode after ${seen.mode.toFixed()} ms, strip after ${seen.strip.toFixed()} ms, ${files.count.toString()} files fetched, ${files.bytes.toString()} bytes\n`,
      );
      await page.close();
    }
    await context.close();
  }
}

/** The month is made once; a later run plays on from it. */
async function filled(dataDir: string): Promise<void> {
  if (!existsSync(MADE)) {
    process.stdout.write(`making ${DAYS} days of a shop, half a minute on a quiet machine\n`);
    rmSync(MAKING, { recursive: true, force: true });
    mkdirSync(MAKING, { recursive: true });
    await shopOf(DAYS).liveThrough(MAKING);
    renameSync(MAKING, MADE);
  }
  cpSync(MADE, dataDir, { recursive: true });
}

async function bedOf(site: RealSite, browser: Browser): Promise<Bed> {
  await runningAgent(site);
  const booth = await boothOnce(site, "the month is delivered", ({ provisioning, log }) => {
    return provisioning.state === "active" && log.newest_seq - log.acked_seq < 100;
  });
  const { url, pin, lan } = await openPage(site, { lan: true, for_ms: OPEN_MS });
  if (url === null || lan === null) throw new Error("the agent has no page");
  const session = await sessionAt(url, pin);
  const change = {
    booth: booth.booth,
    id: "pre-filter-of-the-pictures",
    filter: "pre_filter",
    by: "Dana",
    minutes_ago: 300,
  };
  const label = { part_number: "PF-2020-G4", note: "frame bent, ask for another" };
  await ask(`${url}/filters/changed`, { method: "POST", key: session, body: { ...change, ...label } });
  return { browser, url, session, far: `https://127.0.0.1:${lan.port.toString()}` };
}

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      docs: { type: "boolean", default: false },
      "phone-only": { type: "boolean", default: false },
    },
  });
  const ends: (() => unknown)[] = [];
  const faults: string[] = [];
  mkdirSync(RESULTS, { recursive: true });
  if (values.docs) mkdirSync(DOCS, { recursive: true });
  const { scenario, start } = shopOf(DAYS);
  try {
    const site = await realSite({
      ...{ speed: 1, serial: SERIAL, scenario, fill: filled },
      begins: { wall: SHOP_NOW, story: start },
      booth: { working_hours: SHOP_HOURS },
      atEnd: (end) => void ends.unshift(end),
    });
    const browser = await openBrowser();
    ends.unshift(() => browser.close());
    const bed = await bedOf(site, browser);
    await onSlowPhone(bed, { "over the network": bed.far, "on the box": bed.url });
    if (values["phone-only"]) return;
    for (const language of languages()) {
      for (const theme of THEMES) {
        for (const width of ["phone", "desk"] as const)
          faults.push(...(await take(bed, { language, theme, width }, values)));
      }
    }
  } finally {
    for (const end of ends) await end();
  }
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

await run();
