// Needs a Debian package: chromium-headless-shell.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { parse, stringify } from "yaml";
import { expect, it } from "vitest";
import { boothOnce, openPage, runningAgent } from "../box-http.ts";
import { enterPin, mustBeUsable, useBrowser, PHONE, screenshot } from "./browser.ts";
import { PLATE_CODES, platePhoto } from "./plate.ts";
import { readSetUp } from "../../../src/config/set-up.ts";
import { eventually } from "../../support/eventually.ts";
import { freshBox, PROVISION_KEY, realSite, SERIAL } from "../../support/real-site.ts";

/** A new box, and a person with a phone. */

const { browser, openSite, openTab } = useBrowser();

const draftBy = (token: string) => ({
  method: "PUT",
  headers: { authorization: token, "content-type": "application/json" },
});

const press = (page: Page, name: string | RegExp): Promise<void> => page.getByRole("button", { name }).click();

it("a new gateway can be set up from a phone until its booth is bound, and a second phone can take over", async () => {
  const site = await freshBox();
  await runningAgent(site);
  const { page, faults, pin, url } = await openSite(site);
  await page.getByRole("heading", { name: "Set up this gateway" }).waitFor();
  expect(new URL(page.url()).hash).toBe("#/setup");
  expect(await page.getByText("The time isn't confirmed yet").count()).toBe(0);
  await mustBeUsable(page);
  await screenshot(page, "begin-1-service");
  await page.getByLabel("Address of the monitoring service").fill(site.service.url);
  await page.getByLabel("Service key").fill(PROVISION_KEY);
  await press(page, "Save");
  await enterPin(page, pin);

  const address = page.getByLabel("Address of the PLC").first();
  await address.waitFor();
  await mustBeUsable(page);
  await screenshot(page, "begin-2-plc");
  const at = `127.0.0.1:${site.plc.port}`;
  await address.fill(at);
  await press(page, "Find PLC");
  await page.getByRole("button", { name: `Use ${at}` }).waitFor();
  await screenshot(page, "begin-3-probe");
  await press(page, `Use ${at}`);
  await page.getByRole("button", { name: "Read now" }).waitFor();
  await page.close();

  const { page: other, faults: others } = await openTab({ viewport: PHONE });
  await other.goto(url);
  await press(other, "Read now");
  await enterPin(other, pin);
  await other.getByRole("button", { name: "Choose click-booth" }).waitFor();
  const ranked = await other.getByRole("button", { name: /^Choose / }).allInnerTexts();
  expect(ranked[0]).toBe("Choose click-booth");
  expect(ranked.length).toBeGreaterThan(4);
  await mustBeUsable(other);
  await screenshot(other, "begin-4-programs");
  await press(other, "Choose click-booth");
  const values = other.getByRole("table", { name: "Current and usual values" });
  expect(await values.innerText()).toContain("BOOTH-24");
  await mustBeUsable(other);
  await screenshot(other, "begin-5-values");
  const zone = other.getByLabel("Time zone of the booth");
  expect(await zone.inputValue()).toBe(await other.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone"));
  await zone.fill("America/Denver");
  await other.evaluate("scrollTo(0, 0)");
  const below = await other.getByRole("button", { name: "Yes, these are correct" }).boundingBox();
  const box = await zone.boundingBox();
  expect(below?.y).toBeGreaterThan((box?.y ?? Infinity) + (box?.height ?? 0));
  await mustBeUsable(other);
  await screenshot(other, "begin-6-zone");
  await press(other, "Yes, these are correct");

  // The PLC answers, so the settings are kept; the serial number is next.
  await other.getByLabel("Serial number on the booth's nameplate").waitFor();
  await eventually("it is kept", async () => ((await site.status())?.lacks.length === 0 ? true : undefined));
  await screenshot(other, "begin-7-serial");
  await other.getByLabel("Serial number on the booth's nameplate").fill(SERIAL);
  await press(other, "Look up");
  await other.getByRole("form", { name: "Is this the booth in front of you?" }).waitFor();
  await other.getByLabel("Your name").fill("Alex");
  await press(other, "Yes, this is the booth");
  await other.getByText(`This gateway is linked to ${SERIAL}`).waitFor();
  await mustBeUsable(other);
  await screenshot(other, "begin-8-bound");
  expect([...faults, ...others]).toEqual([]);
});

it("a wrong PLC address in the set-up is reverted with the reason unless the user keeps it, and other settings stay", async () => {
  const site = await freshBox(8);
  await runningAgent(site);
  const { page, faults, pin, url } = await openSite(site);
  await press(page, "Later");
  await enterPin(page, pin);
  await page.waitForFunction('sessionStorage.getItem("session") !== null');
  const token = await page.evaluate<string>('sessionStorage.getItem("session")');
  const body = {
    draft: {
      service: "later",
      link: { modbus: { host: "127.0.0.1", port: 9 } },
      profile: "click-booth",
      tz: "America/Denver",
    },
  };
  const kept = await fetch(`${url}/setup/draft`, { ...draftBy(token), body: JSON.stringify(body) });
  expect(kept.status).toBe(200);
  await page.reload();
  await press(page, "Test these settings");
  await page.getByText("Testing booth-1. The settings are kept if the PLC answers.").waitFor();
  await mustBeUsable(page);
  await screenshot(page, "begin-trial");
  const back = page.locator("#taken-back");
  await back.waitFor();
  expect(await back.innerText()).toContain("The PLC at 127.0.0.1:9 could not be read within 2 min");
  await page.getByRole("button", { name: "Test these settings" }).waitFor();
  await screenshot(page, "begin-taken-back");
  // Each step can be changed, and the answers of the others are kept.
  await press(page, "Another program");
  await page.getByRole("button", { name: "Read now" }).waitFor();
  await press(page, "Another PLC");
  await page.getByRole("button", { name: "Find PLC" }).waitFor();
  await mustBeUsable(page);
  expect(readSetUp(site.dataDir).draft).toMatchObject({ link: null, profile: null, tz: "America/Denver" });
  await fetch(`${url}/setup/draft`, { ...draftBy(token), body: JSON.stringify(body) });
  await page.reload();
  await press(page, "Test these settings");
  await press(page, "Keep in any case");
  await page.getByLabel("Serial number on the booth's nameplate").waitFor();
  expect((await site.status())?.booths.map(({ plc }) => plc.kind)).toEqual(["down"]);
  expect(faults).toEqual([]);
});

it("every supported kind of barcode on a nameplate photo is read by the library that the gateway serves", async () => {
  const site = await freshBox();
  await runningAgent(site);
  const { url } = await openPage(site);
  const { page, faults } = await openTab({ viewport: PHONE });
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  for (const kind of PLATE_CODES) {
    const buffer = await platePhoto(await browser(), { kind, text: SERIAL });
    await page.goto(`${url ?? ""}/scan`);
    // Without a camera, the page says so and accepts a photograph.
    await page.getByText("No camera is available").waitFor();
    await page.locator("input[type=file]").setInputFiles({ name: "plate.jpg", mimeType: "image/jpeg", buffer });
    await page.waitForURL("**/#/setup");
    expect(await page.evaluate<string>('sessionStorage.getItem("scanned")'), kind).toBe(SERIAL);
    await page.evaluate("sessionStorage.clear()");
  }
  expect(asked).toContain("/zxing/reader/zxing_reader.wasm");
  // The page itself does not load the library, and no other document may compile WebAssembly or open a camera.
  asked.length = 0;
  await page.goto(url ?? "");
  await page.reload();
  await page.getByRole("heading", { name: "Set up this gateway" }).waitFor();
  expect(asked.filter((path) => /zxing|barcode|scan\.js/.test(path))).toEqual([]);
  const allowed = async (path: string): Promise<readonly boolean[]> => {
    const { headers } = await fetch(`${url ?? ""}${path}`);
    return [
      headers.get("content-security-policy")?.includes("'wasm-unsafe-eval'") ?? false,
      headers.get("permissions-policy")?.includes("camera=(self)") ?? false,
    ];
  };
  expect([await allowed("/"), await allowed("/scan"), await allowed("/scan.js")]).toEqual([
    [false, false],
    [true, true],
    [false, false],
  ]);
  expect(faults).toEqual([]);
});

it("the browser's own barcode detector is used if it supports all kinds of barcodes, and the user chooses among several codes", async () => {
  const site = await freshBox();
  await runningAgent(site);
  const { url } = await openPage(site);
  const { page, faults } = await openTab({ viewport: PHONE });
  // Chromium has this detector on phones only.
  await page.addInitScript(`globalThis.BarcodeDetector = class {
    static async getSupportedFormats() { return ["code_128", "code_39", "qr_code", "data_matrix", "aztec"]; }
    async detect() { return ["https://example.com/", "S/N: abcd-123-123", "4711"].map((rawValue) => ({ rawValue })); }
  }`);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(`${url ?? ""}/scan`);
  await page.getByText("No camera is available").waitFor();
  const buffer = await platePhoto(await browser(), { kind: "qrcode", text: "nothing" });
  await page.locator("input[type=file]").setInputFiles({ name: "plate.jpg", mimeType: "image/jpeg", buffer });
  await page.getByText("Which number is the serial number?").waitFor();
  await mustBeUsable(page);
  await press(page, "ABCD-123-123");
  await page.waitForURL("**/#/setup");
  expect(asked.filter((path) => path.startsWith("/zxing/"))).toEqual([]);
  expect(faults).toEqual([]);
});

it("a gateway that replaces another gateway shows a countdown on its page, and takes over the booth when the countdown ends", async () => {
  const site = await realSite({ speed: 12, serial: SERIAL });
  const old = await runningAgent(site);
  await boothOnce(site, "the old one is bound", ({ provisioning }) => provisioning.state === "active");
  old.signal("SIGKILL");
  await old.ended;
  const { booths, ...config } = parse(readFileSync(site.configFile, "utf8")) as { booths: readonly object[] };
  const key = join(site.folder, "second-key");
  writeFileSync(key, PROVISION_KEY, { mode: 0o600 });
  writeFileSync(
    site.configFile,
    stringify({
      ...config,
      data_dir: join(site.folder, "second"),
      service: { url: site.service.url, api_key_file: key },
      booths: booths.map((booth) => ({ ...booth, serial: undefined })),
    }),
  );
  await runningAgent(site);
  const { page, faults, pin } = await openSite(site);
  await page.getByLabel("Serial number on the booth's nameplate").fill(SERIAL);
  await press(page, "Look up");
  await enterPin(page, pin);
  await page.getByLabel("This gateway replaces another gateway").check();
  await page.getByLabel("Your name").fill("Alex");
  await press(page, "Yes, this is the booth");
  const timer = page.getByRole("timer");
  await timer.waitFor();
  expect(await timer.innerText()).toMatch(/^This gateway can take over at \d\d:\d\d:\d\d.* \(in \d+ (min|s)/);
  expect(await page.getByText("admin key").count()).toBe(0);
  await mustBeUsable(page);
  await screenshot(page, "begin-replacing");
  await page.getByText(`This gateway is linked to ${SERIAL}`).waitFor({ timeout: 120_000 });
  expect(faults).toEqual([]);
});
