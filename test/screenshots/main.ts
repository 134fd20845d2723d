#!/usr/bin/env node
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { BrowserContext, Page } from "playwright-core";
import { faultsByAxe, openBrowser } from "../api/page/browser.ts";
import { eventually } from "../support/eventually.ts";
import { type Bed, bedOf, shopSite, THEMES, visit, type Visit, type Width, WIDTHS, WITHIN_MS } from "./bed.ts";
import { onSlowPhone } from "./slow-phone.ts";

const HELP = `npm run screenshots -- [--only NAME] [--docs] [--phone-only]

A real site with 30 days of a shop's life, and a picture of every view of the box's page and of the owner's, light and dark, at 360 and 1440 px,
in each language, under test/results/screenshots, with a sheet of all of one look side by side. It looks for what axe finds and for parts that
must be pushed sideways, and measures how soon a slow phone can use the page.

  --only NAME   pictures whose name has it, as now-phone, week, -de
  --docs        also the six pictures of docs/images
  --phone-only  the slow phone alone
`;

const RESULTS = fileURLToPath(new URL("../results/screenshots/", import.meta.url));
const DOCS = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const PAGE = new URL("../../src/api/page/", import.meta.url);
/** Maximum size of the documents with their pictures. */
const MAX_DOCS_BYTES = 150_000;

/** A sheet's width. */
const SHEET_PX = 1800;

interface View {
  readonly name: string;
  /** Behind the page's address; of the owner's page behind the service's. */
  readonly path: string;
  readonly whose?: "owner";
  /** A button pressed first, by its text's key. */
  readonly press?: string;
  /** Summaries of the details to unfold first. */
  readonly unfold?: readonly string[];
  /** As it comes out of a printer. */
  readonly onPaper?: true;
  /** All of these are shown once it is drawn. */
  readonly ready: readonly string[];
}

const VIEWS: readonly View[] = [
  {
    name: "now",
    path: "/#/now",
    ready: [".today .strip", "[data-figures=today] .spark", "[data-figures=measured] .spark"],
  },
  { name: "day", path: "/#/days", ready: [".strip.tapped", ".plot canvas"] },
  { name: "week", path: "/#/days", press: "days.week", ready: [".bars.tall"] },
  { name: "quarter", path: "/#/days", press: "days.quarter", ready: [".bars.tall"] },
  { name: "report-day", path: "/#/days", onPaper: true, ready: [".strip.tapped", ".plot canvas"] },
  { name: "report-week", path: "/#/days", press: "days.week", onPaper: true, ready: [".bars.tall"] },
  { name: "filters", path: "/#/filters", ready: [".filter-charts canvas"] },
  { name: "setup", path: "/#/setup", ready: ["main .card"] },
  {
    name: "workshop",
    path: "/#/setup",
    unfold: ["#workshop > summary", "#workshop details > summary"],
    ready: ["#workshop form"],
  },
  { name: "health", path: "/#/health", ready: ["main .card"] },
  { name: "scan", path: "/scan", ready: ["main button"] },
  { name: "owner", path: "/owner/", whose: "owner", ready: ["main .strip"] },
];

interface Shot {
  readonly view: string;
  readonly width: Width;
  readonly theme: (typeof THEMES)[number];
  /** Element at the top of the picture. Default: the page's head. */
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
  const file = readFileSync(new URL(`texts/${language}.js`, PAGE), "utf8");
  const found = new RegExp(`^  "?${key.replace(".", "\\.")}"?: "(.*)",$`, "m").exec(file)?.[1];
  if (found === undefined) throw new Error(`${language} has no ${key}`);
  return found;
}

const QUIET = `performance.now() - Math.max(0, ...performance.getEntriesByType("resource").map(({ responseEnd }) => responseEnd)) > 500 || undefined`;

async function show(
  page: Page,
  { url, service }: Bed,
  { view, language }: { view: View; language: string },
): Promise<void> {
  await page.goto(`${view.whose === "owner" ? service : url}${view.path}`);
  // Of a place in the page that is open already nothing would be loaded.
  await page.reload();
  if (view.press !== undefined) {
    await page.getByRole("button", { name: textIn(language, view.press), exact: true }).click();
  }
  for (const summary of view.unfold ?? []) {
    await page.locator(summary).first().waitFor();
    for (const one of await page.locator(summary).all()) await one.click();
  }
  for (const part of view.ready) await page.locator(part).first().waitFor();
  if (view.path.startsWith("/#/")) await page.locator("#live.good").waitFor();
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
    // Paper is wider than a phone.
    if (!name.includes(only) || (view.onPaper === true && by.width === "phone")) continue;
    await show(page, bed, { view, language: by.language });
    if (view.onPaper === true) await page.emulateMedia({ media: "print" });
    await whole(page, join(RESULTS, `${name}.png`), by.width);
    const found = [...(await faultsByAxe(page)), ...(await sideways(page))];
    faults.push(...found.map((fault) => `${name}: ${fault}`));
    if (docs && by.language === "en") await takeForDocs(page, { ...by, view: view.name });
    // On paper there is nothing to press.
    await page.emulateMedia({ media: "screen" });
  }
  await sheetOf(context, by);
  await context.close();
  return faults;
}

/** All of one look side by side, small: what is crooked is seen there first. */
async function sheetOf(context: BrowserContext, { width, theme, language }: Visit): Promise<void> {
  // Not a page of the box's: its policy lets none of this in.
  const page = await context.newPage();
  const look = `${width}-${theme}-${language}`;
  const names = VIEWS.map(({ name }) => `${name}-${look}.png`).filter((name) => existsSync(join(RESULTS, name)));
  const pictures = names.map(
    (name) => `<img src="data:image/png;base64,${readFileSync(join(RESULTS, name), "base64")}">`,
  );
  const style = `body{margin:8px;columns:${width === "phone" ? "6" : "4"};column-gap:8px;background:#888} img{width:100%;margin-bottom:8px}`;
  await page.setViewportSize({ width: SHEET_PX, height: 900 });
  await page.setContent(`<!doctype html><style>${style}</style>${pictures.join("")}`);
  await page.screenshot({ path: join(RESULTS, `sheet-${look}.png`), fullPage: true });
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

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      docs: { type: "boolean", default: false },
      "phone-only": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const ends: (() => unknown)[] = [];
  const faults: string[] = [];
  mkdirSync(RESULTS, { recursive: true });
  if (values.docs) mkdirSync(DOCS, { recursive: true });
  try {
    const site = await shopSite((end) => void ends.unshift(end));
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
