import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext } from "playwright-core";
import { parse, stringify } from "yaml";
import { openPage, runningAgent, boothOnce, sessionAt, ask } from "../api/box-http.ts";
import { realSite, SERIAL, type RealSite } from "../support/real-site.ts";
import type { AtEnd } from "../support/temporary.ts";
import { SHOP_HOURS, SHOP_NOW, shopOf } from "./history.ts";

/** A real site with a shop's month behind it, and who looks at it. */

const MADE = fileURLToPath(new URL("../results/shop", import.meta.url));
/** Until it is whole: what an end half way left is no month. */
const MAKING = `${MADE}.part`;
const DAYS = 30;
export const WITHIN_MS = 60_000;
/** Longer than all pictures take. */
const OPEN_MS = 6 * 3_600_000;
export const WIDTHS = { phone: { width: 360, height: 780 }, desk: { width: 1440, height: 900 } } as const;
export const THEMES = ["light", "dark"] as const;

export type Width = keyof typeof WIDTHS;
type Theme = (typeof THEMES)[number];

export interface Bed {
  readonly browser: Browser;
  readonly url: string;
  /** As the network has it: by HTTP/2, with the box's own certificate. */
  readonly far: string;
  readonly session: string;
  /** The service's, with its owner's page. */
  readonly service: string;
  readonly ownerKey: string;
}

export interface Visit {
  readonly language: string;
  readonly theme: Theme;
  readonly width: Width;
}

export async function visit(
  { browser, session, ownerKey }: Bed,
  { language, theme, width }: Visit,
): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: WIDTHS[width],
    colorScheme: theme,
    locale: language,
    ignoreHTTPSErrors: true,
  });
  const kept = { session, "owner-session": ownerKey };
  await context.addInitScript(`Object.assign(sessionStorage, ${JSON.stringify(kept)})`);
  context.setDefaultTimeout(WITHIN_MS);
  return context;
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

/** Configures an output and mail. Nobody answers, and the page then shows that. */
function tellOthers({ configFile }: RealSite): void {
  const config = parse(readFileSync(configFile, "utf8")) as object;
  const outputs = [{ name: "plant", url: "mqtt://127.0.0.1:9", mqtt: { payload: "json" } }];
  const mail = { host: "127.0.0.1", port: 9, tls: "none", from: "booths@plant.example", to: ["shop@plant.example"] };
  writeFileSync(configFile, stringify({ ...config, outputs, notices: [{ name: "office", mail }] }));
}

export async function bedOf(site: RealSite, browser: Browser): Promise<Bed> {
  tellOthers(site);
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
  const profile = { action: "new", what: "acme-booth", from: "click" };
  await ask(`${url}/workshop/run`, { method: "POST", key: session, body: profile });
  const far = `https://127.0.0.1:${lan.port}`;
  return { browser, url, session, far, service: site.service.url, ownerKey: site.adminKey };
}

/** The shop's site, running, with its month. */
export function shopSite(atEnd: AtEnd): Promise<RealSite> {
  const { scenario, start } = shopOf(DAYS);
  return realSite({
    speed: 1,
    serial: SERIAL,
    scenario,
    fill: filled,
    atEnd,
    begins: { wall: SHOP_NOW, story: start },
    booth: { working_hours: SHOP_HOURS },
  });
}
