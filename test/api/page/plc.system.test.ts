// Needs a Debian package: chromium-headless-shell.
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { ask, boothOnce, openPage, runningAgent, sessionAt } from "../box-http.ts";
import { enterPin, useBrowser, screenshot, seriousFaults } from "./browser.ts";
import { until } from "../../support/eventually.ts";
import { breaksTold, onlyItsOwn } from "../../support/link-kept.ts";
import { realSite } from "../../support/real-site.ts";

/** Starts a server that accepts connections and never answers. */
async function silentServer(): Promise<{ readonly port: number; readonly ended: () => number }> {
  let ended = 0;
  const server = createServer((socket) =>
    socket
      .on("error", () => undefined)
      .on("close", () => (ended += 1))
      .resume(),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, ended: () => ended };
}

/** The tools at a PLC that the agent polls meanwhile. */

const { openSite } = useBrowser();

async function cells(page: Page, caption: string): Promise<readonly string[]> {
  const table = page.getByRole("table", { name: caption });
  await table.waitFor();
  return table.locator("tbody tr").allInnerTexts();
}

it("the web page shows how a PLC answers, and which address and word order match a tag's address", async () => {
  const site = await realSite({ speed: 1, serial: null });
  const agent = await runningAgent(site);
  await boothOnce(site, "readings are kept", ({ log, plc }) => log.newest_seq > 0 && plc.kind === "up");
  const { page, faults, pin } = await openSite(site, "setup");
  const address = page.getByLabel("Address of the PLC");
  expect(await address.inputValue()).toBe(`127.0.0.1:${site.plc.port}`);
  await page.getByRole("button", { name: "Check address" }).click();
  await enterPin(page, pin);
  const told = await cells(page, "Check address");
  expect(told.find((row) => row.startsWith("Unit IDs with an answer"))).toMatch(/\t1$/);
  expect(told.find((row) => row.startsWith("Identification"))).toContain("CLICK-like");
  // The tool uses the agent's connection: a second one may be one too many for the PLC, so none are counted.
  expect(told.find((row) => row.startsWith("Simultaneous connections"))).toContain(
    "not counted: the gateway used its own connection",
  );
  expect(site.plc.counts).toMatchObject({ writes: 0 });
  await onlyItsOwn(site.plc.counts, site.runtimeDir);
  await screenshot(page, "plc-probe");

  await page.getByLabel("Tag, or address from the manual").fill("cycle_count");
  await page.getByRole("button", { name: "Find address and order" }).click();
  const ways = await cells(page, "Possible interpretations, best first");
  expect(ways[0]).toMatch(/^\s*holding:\d+\s+\d+\s+yes\s+uint32\s+CDAB/);
  expect(await page.getByText(/In the profile: \{ address: "holding:/).count()).toBe(1);
  await screenshot(page, "plc-detect");
  expect(await seriousFaults(page)).toEqual([]);

  // An address without a PLC is explained with advice, and the agent's own link is not disturbed.
  await address.fill("127.0.0.1:9");
  await page.getByRole("button", { name: "Check address" }).click();
  await page.getByText("The connection is refused: nothing listens on this port").waitFor();
  await address.fill("no address");
  await page.getByRole("button", { name: "Check address" }).click();
  await page.getByText('"no address" is not an address such as 192.0.2.10').waitFor();
  expect(breaksTold(agent)).toEqual([]);
  expect(faults).toEqual([]);
});

it("the web page's PLC tool is refused while another one runs, and a running tool stops when its client disconnects", async () => {
  const site = await realSite({ speed: 1, serial: null });
  await runningAgent(site);
  const { url: base, pin } = await openPage(site);
  const url = base ?? "";
  expect((await ask(`${url}/plc/probe`, { method: "POST", body: { address: "127.0.0.1" } })).status).toBe(401);
  const key = await sessionAt(url, pin);
  expect((await ask(`${url}/plc/probe`, { method: "POST", key, body: {} })).status).toBe(400);
  expect((await ask(`${url}/plc/probe`, { key })).status).toBe(404);
  // Only tools on the box share its links, by its socket; a session on the page may not.
  const body = { link: `127.0.0.1:${site.plc.port}`, unit: 1, pdu: "0300000001" };
  expect((await ask(`${url}/plc/ask`, { method: "POST", key, body })).status).toBe(404);
  expect((await ask(`${url}/plc/links`, { key })).status).toBe(404);
  const silent = await silentServer();
  const leaving = new AbortController();
  const first = await fetch(`${url}/plc/probe`, {
    method: "POST",
    headers: { authorization: key, "content-type": "application/json" },
    body: JSON.stringify({ address: `127.0.0.1:${silent.port}` }),
    signal: leaving.signal,
  });
  expect(first.status).toBe(200);
  const probe = { address: `127.0.0.1:${site.plc.port}`, units: "1" };
  const second = await ask(`${url}/plc/probe`, { method: "POST", key, body: probe });
  expect(second.text).toContain("somebody else is looking at a PLC just now");
  leaving.abort();
  await until(() => silent.ended() > 0, "the connection to the silent one is ended");
  // The first tool stops by itself, and the next one may start.
  let text = "somebody else";
  while (text.includes("somebody else"))
    text = (await ask(`${url}/plc/probe`, { method: "POST", key, body: probe })).text;
  expect(text).toMatch(/event: progress\ndata: {"text":"unit ID 1, 1 of 1"}[\s\S]*event: done/);
});
