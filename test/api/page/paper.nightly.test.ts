// Needs Debian packages: chromium-headless-shell, poppler-utils.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { useBrowser, PHONE } from "./browser.ts";
import { eventually } from "../../support/eventually.ts";

const PAPER = fileURLToPath(new URL("../../results/paper/", import.meta.url));

const { openTab, workedBooth } = useBrowser();

const at = (page: Page, text: string) => page.getByRole("button", { name: text, exact: true });

it.each([
  ["Day", "day", /In use/, { strips: 1, pages: "1" }],
  ["Week", "week", /Utilization/, { strips: 7, pages: "2" }],
])(
  "the printed %s report has the expected number of pages, with no text cut off and no buttons",
  async (...[press, name, told, { strips, pages }]) => {
    const { url } = await workedBooth();
    const { page, faults } = await openTab();
    await page.goto(`${url}/#/days`);
    await at(page, press).click();
    await page.getByRole("heading", { name: "Use and energy" }).waitFor();
    await eventually("a strip for each day", async () =>
      (await page.locator(".report .strip").count()) === strips ? true : undefined,
    );
    mkdirSync(PAPER, { recursive: true });
    const path = `${PAPER}${name}.pdf`;
    await page.pdf({ path, format: "A4", printBackground: true, preferCSSPageSize: false });
    const info = execFileSync("pdfinfo", [path], { encoding: "utf8" });
    expect(/^Pages: +(\d+)$/m.exec(info)?.[1]).toBe(pages);
    // No word is outside of the paper, and no button is printed.
    const words = execFileSync("pdftotext", ["-bbox", path, "-"], { encoding: "utf8" });
    const [, width = "0", height = "0"] = /<page width="([\d.]+)" height="([\d.]+)"/.exec(words) ?? [];
    const places = [...words.matchAll(/xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)</g)];
    expect(places.length).toBeGreaterThan(30);
    const over = places.filter(
      ([, left, top, right, foot]) =>
        Number(left) < 0 || Number(top) < 0 || Number(right) > Number(width) || Number(foot) > Number(height),
    );
    expect(over.map(([, , , , , word]) => word)).toEqual([]);
    const text = execFileSync("pdftotext", ["-layout", path, "-"], { encoding: "utf8" });
    expect(text).toMatch(told);
    expect(text).toContain("booth-1");
    expect(text).not.toMatch(/Print|CSV|Sign out|Display/);
    execFileSync("pdftoppm", ["-r", "70", "-png", path, `${PAPER}${name}`]);
    expect(faults).toEqual([]);
  },
);

it("a help text on the page opens by keyboard, closes with Escape, and returns the focus", async () => {
  const { url } = await workedBooth();
  const { page, faults } = await openTab({ viewport: PHONE });
  await page.goto(`${url}/#/now`);
  const sign = page.getByRole("button", { name: "What is Utilization?" }).first();
  await sign.waitFor();
  await sign.focus();
  await page.keyboard.press("Enter");
  const text = page.locator(".help:popover-open");
  await text.waitFor();
  const box = await text.boundingBox();
  expect(box).not.toBeNull();
  expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 999) <= PHONE.width).toBe(true);
  await page.keyboard.press("Escape");
  await text.waitFor({ state: "hidden" });
  expect(await page.evaluate("document.activeElement?.getAttribute('aria-label')")).toBe("What is Utilization?");
  expect(faults).toEqual([]);
});
