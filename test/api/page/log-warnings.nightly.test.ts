// Needs a Debian package: chromium-headless-shell.
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { render } from "../../../src/domain/messages/render.ts";
import { boothOnce, openPage, runningAgent } from "../box-http.ts";
import { useBrowser, PHONE, screenshot, seriousFaults, wideParts } from "./browser.ts";
import { eventually } from "../../support/eventually.ts";
import { rotRow } from "../../system/packaged-store.ts";
import type { BoothStatus } from "../../../src/domain/status.ts";
import { GATEWAY, runProgram, type Program } from "../../support/processes.ts";
import { realSite, SERIAL, type RealSite } from "../../support/real-site.ts";

/** Problems of the log, as the page, the journal and the command report them. */

const { openTab } = useBrowser();

/** More records than a row of the log has. */
const SOME_RECORDS = 60;

async function pageAt(site: RealSite, view: string): Promise<{ page: Page; faults: readonly string[] }> {
  const { url } = await openPage(site);
  const { page, faults } = await openTab({ viewport: PHONE });
  await page.goto(`${url ?? ""}/#/${view}`);
  return { page, faults };
}

async function stopped(agent: Program): Promise<void> {
  agent.signal("SIGTERM");
  expect(await agent.ended).toBe(0);
}

async function delivered(site: RealSite, more: number): Promise<number> {
  const { log } = await boothOnce(
    site,
    "records are delivered",
    ({ log: { newest_seq, acked_seq } }) => acked_seq >= more && acked_seq === newest_seq,
  );
  return log.newest_seq;
}

async function looksWell(page: Page, name: string): Promise<void> {
  await screenshot(page, name);
  expect([...(await seriousFaults(page)), ...(await wideParts(page))]).toEqual([]);
}

it("the page, the journal and the status command name the same lost sequence numbers after a restored or damaged store", async () => {
  const site = await realSite({ speed: 120, serial: SERIAL });
  const [file, kept] = ["store.db", "store.db.kept"].map((name) => join(site.dataDir, name)) as [string, string];
  let agent = await runningAgent(site);
  const before = await delivered(site, SOME_RECORDS);
  await stopped(agent);
  copyFileSync(file, kept);
  agent = await runningAgent(site);
  await delivered(site, before + SOME_RECORDS);
  await stopped(agent);
  for (const suffix of ["-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
  copyFileSync(kept, file);

  agent = await runningAgent(site);
  const waiting = /^the service has different records than this gateway from seq \d+ to \d+: readings wait until/;
  const isNamed = (words: RegExp) => (booth: BoothStatus) => words.test(render(booth.log.forked?.reason ?? ""));
  await boothOnce(site, "the log waits", isNamed(waiting));
  const { log } = await boothOnce(site, "the log has another name", isNamed(/^the service had/));
  const said = render(log.forked?.reason ?? "");
  expect(said).toMatch(/^the service had different records than this gateway from seq \d+ to \d+: since/);
  // The status may change before the journal's line is written.
  const told = (line: string): boolean => line.includes('"event":"forked"') && line.includes(said);
  await eventually("the journal says so", () => agent.lines.some(told) || undefined);
  expect(agent.lines.filter(told)).toHaveLength(1);
  expect((await runProgram(GATEWAY, ["status", "--config", site.configFile])).out).toContain(`RENAMED   ${said}`);
  const now = await pageAt(site, "now");
  await now.page.getByRole("alert").getByText(said.slice("the ".length)).waitFor();
  await now.page.getByRole("alert").getByText("Ask the operator of the service whether the data").waitFor();
  await looksWell(now.page, "log-renamed");

  await delivered(site, before + SOME_RECORDS);
  await stopped(agent);
  const rotten = rotRow(site.dataDir, 2);
  agent = await runningAgent(site);
  const { log: hurt } = await boothOnce(site, "the damage is found", (booth) => {
    return (booth.log.storage?.quarantined ?? 0) > 0;
  });
  const [from, to] = hurt.storage?.missing?.[0] ?? [0, 0];
  expect(hurt.storage).toMatchObject({ quarantined: rotten, missing: [[from, from + rotten - 1]] });
  const words = `${rotten} records are missing because of damage in the store: seq ${from} to ${to}`;
  await agent.line(new RegExp(`"event":"records_missing".*${words}`));
  expect((await runProgram(GATEWAY, ["status", "--config", site.configFile])).out).toContain(`WARNING: ${words}`);
  const health = await pageAt(site, "health");
  const store = health.page.getByRole("region", { name: "Storage", exact: true });
  await store.getByText(`Warning: ${words}`).waitFor();
  await looksWell(health.page, "log-missing");
  expect([...now.faults, ...health.faults]).toEqual([]);
});
