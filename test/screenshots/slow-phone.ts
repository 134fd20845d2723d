import type { BrowserContext } from "playwright-core";
import { eventually } from "../support/eventually.ts";
import { type Bed, visit } from "./bed.ts";

/** When the mode and the day's strip were first there. */
const SEEN = `globalThis.seen = {};
new MutationObserver(() => {
  if (document.querySelector("#mode:not(:empty)")) seen.mode ??= performance.now();
  if (document.querySelector(".today .strip")) seen.strip ??= performance.now();
}).observe(document, { childList: true, subtree: true });`;

/** Counts the page's own files that were transferred over the network. */
const FETCHED = `(() => {
  const sizes = performance.getEntries().map(({ name, transferSize }) => (/\\.(js|css)$|\\/(#.*)?$/.test(name) ? transferSize : 0)).filter(Boolean);
  return { count: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
})()`;

interface Seen {
  readonly mode: number;
  readonly strip: number;
  readonly count: number;
  readonly bytes: number;
}

const ROUNDS = 5;

/**
 * A phone of some years ago in a workshop's far corner: a quarter of this processor, 1.6 Mbit/s, 150 ms there and back for each
 * question. Over the box's own certificate a browser keeps no file: its second visit fetches all of them again. Each round is a phone
 * that was never here; the first counts for nothing, as the browser itself has only just begun.
 */
export async function onSlowPhone(bed: Bed, urls: Readonly<Record<string, string>>): Promise<void> {
  for (const [way, url] of Object.entries(urls)) {
    const rounds: Record<string, Seen[]> = { "first visit": [], "second visit": [] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      const context = await visit(bed, { language: "en", theme: "light", width: "phone" });
      await context.addInitScript(SEEN);
      for (const seen of Object.values(rounds)) seen[round] = await visited(context, url);
      await context.close();
    }
    for (const [which, [, ...seen]] of Object.entries(rounds)) {
      const said = (of: (one: Seen) => number): string => {
        const sorted = seen.map(of).sort((one, other) => one - other);
        const median = sorted[Math.floor(ROUNDS / 2)];
        const least = sorted[0];
        const most = sorted.at(-1);
        return `${median?.toFixed() ?? "?"} ms (${least?.toFixed() ?? "?"} to ${most?.toFixed() ?? "?"})`;
      };
      const { count = 0, bytes = 0 } = seen[0] ?? {};
      process.stdout.write(
        `slow phone, ${way}, ${which}, median of ${ROUNDS}: mode after ${said(({ mode }) => mode)}, strip after ${said(({ strip }) => strip)}, ${count} files fetched, ${bytes} bytes\n`,
      );
    }
  }
}

async function visited(context: BrowserContext, url: string): Promise<Seen> {
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
  await page.close();
  return { ...seen, ...files };
}
