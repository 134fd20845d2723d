// Needs root and Debian packages: chromium, iproute2, mmdebstrap, socat, systemd-container.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openBrowser, PHONE, screenshot } from "../api/page/browser.ts";
import { platePhoto } from "../api/page/plate.ts";
import { person } from "../api/page/person.ts";
import { eventually } from "../support/eventually.ts";
import { pictureOf, qrIn } from "../support/label-reader.ts";
import { SIMULATORS } from "../support/processes.ts";
import type { SetUp } from "../../src/config/set-up.ts";
import { bootContainer, type Container } from "./container.ts";
import * as packaged from "./packaged-site.ts";
import { shopNetwork, type Machine } from "./shop-network.ts";

/**
 * From the carton to a bound booth, by a person with a phone and without a shell: the package in a Debian of its own, on a network
 * with a PLC whose address nobody knows; the phone is another machine there, and knows the label alone.
 */

const ADDRESSES = { box: "192.0.2.20", phone: "192.0.2.60", plc: "192.0.2.77" };
const MODBUS = 502;
/** Of the simulated PLC, in its own machine. */
const PLC_PORT = 8482;
const folder = mkdtempSync(join(tmpdir(), "bg-carton-"));
const network = shopNetwork();
let box: Container;
let phone: Machine;
const service = { stop: (): Promise<void> => Promise.resolve() };

/** What a person has of it: the code leads a phone's camera to the page. */
interface Label {
  readonly url: string;
  readonly pin: string;
}

/** What an image or a fleet's own tools put there: service and first key. The rest of the file is the package's. */
function preseed(container: Container): void {
  const first = readFileSync("systemd/gateway.first.yaml", "utf8");
  mkdirSync(container.inside("/etc/booth-gateway"), { recursive: true });
  mkdirSync(container.inside("/etc/credstore"), { recursive: true, mode: 0o700 });
  writeFileSync(
    container.inside(packaged.CONFIG),
    first.replace("service:\n", "service:\n  url: http://127.0.0.1:8480\n"),
  );
  writeFileSync(container.inside("/etc/credstore/booth-gateway-api-key"), packaged.KEY, { mode: 0o600 });
}

/** The bench where boxes are made ready: package, service, label. Nothing is known of the shop there. */
async function makeReady(): Promise<Label> {
  box = await bootContainer();
  preseed(box);
  packaged.putPackage(box, packaged.makePackage("0.0.1", folder));
  box.sh("dpkg -i /root/booth-gateway_0.0.1_amd64.deb");
  network.plugIn(box, ADDRESSES.box);
  await eventually("the agent answers", () => packaged.statusOf(box));
  const { pin, url } = JSON.parse(box.sh("booth-gateway label --json --png /root/label.png")) as Label;
  expect(qrIn(pictureOf(readFileSync(box.inside("/root/label.png"))))).toBe(url);
  return { pin, url };
}

let label: Label;
beforeAll(async () => {
  const plc = network.machine("plc", ADDRESSES.plc);
  plc.start(process.execPath, [SIMULATORS, "plc", "--scenario", "busy-day", "--modbus-port", String(PLC_PORT)]);
  plc.start("socat", [`TCP-LISTEN:${MODBUS},fork,reuseaddr`, `TCP:127.0.0.1:${PLC_PORT}`]);
  phone = network.machine("phone", ADDRESSES.phone);
  label = await makeReady();
  // In the shop: power on.
  await box.cut({ uptime_ms: 20_000 });
  network.plugIn(box, ADDRESSES.box);
  service.stop = packaged.startService(box, join(folder, "service"));
});

afterAll(async () => {
  await box.end();
  await service.stop();
  network.end();
  rmSync(folder, { recursive: true, force: true });
});

/** A browser on the phone, whose camera sees the booth's nameplate. */
async function openPhone(): Promise<Page> {
  const plate = join(folder, "plate.mjpeg");
  const desk = await openBrowser();
  writeFileSync(plate, await platePhoto(desk, { kind: "code128", text: packaged.SERIAL }));
  await desk.close();
  const executablePath = phone.launcher(folder, "/usr/bin/chromium");
  // The second says yes where the browser asks for the camera.
  const camera = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];
  const args = ["--no-sandbox", ...camera, `--use-file-for-fake-video-capture=${plate}`];
  const browser = await chromium.launch({ executablePath, args });
  const context = await browser.newContext({
    viewport: PHONE,
    hasTouch: true,
    isMobile: true,
    ignoreHTTPSErrors: true,
    timezoneId: "America/Denver",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("close", () => void browser.close());
  return page;
}

it("a box out of its carton is set up on a phone: the nameplate is scanned, the PIN is typed, nothing else", async () => {
  const page = await openPhone();
  const button = (name: string | RegExp) => page.getByRole("button", { name });
  const who = person(page);
  await page.goto(label.url);
  await screenshot(page, "carton-1-pin");
  await who.type(page.getByLabel("PIN, eight digits"), label.pin.replace(" ", ""));
  await who.tap(button("Enter"));
  await button(/^Look through/).waitFor();
  await screenshot(page, "carton-2-plc");
  await who.tap(button(/^Look through/));
  await who.tap(button("Yes, look"));
  await button(`Use ${ADDRESSES.plc}:502`).waitFor();
  await screenshot(page, "carton-3-found");
  await who.tap(button(`Use ${ADDRESSES.plc}:502`));
  await page.getByText("answers").first().waitFor();
  await screenshot(page, "carton-4-probe");
  await who.tap(button(`Use ${ADDRESSES.plc}:502`));
  await who.tap(button("Read it now"));
  await button("Choose click-booth").waitFor();
  await screenshot(page, "carton-5-programs");
  await who.tap(button("Choose click-booth"));
  await screenshot(page, "carton-6-values");
  await who.tap(button("Yes, these are right"));
  await button("Try these settings").waitFor();
  await screenshot(page, "carton-7-zone");
  await who.tap(button("Try these settings"));
  const serial = page.getByLabel("Serial number on the booth's nameplate");
  await serial.waitFor();
  await screenshot(page, "carton-8-serial");
  await who.tap(button("Scan its code"));
  await page.getByText("Read off its code").waitFor();
  expect(await serial.inputValue()).toBe(packaged.SERIAL);
  await who.tap(button("Look it up"));
  const confirm = button("Yes, this is the booth");
  await confirm.waitFor();
  await screenshot(page, "carton-10-card");
  await who.tap(confirm);
  await page.getByText(`This gateway is bound to ${packaged.SERIAL}`).waitFor();
  const { taps, typed, seconds } = who.tally();
  await screenshot(page, "carton-11-bound");
  process.stdout.write(
    `carton, nameplate scanned: ${taps.toString()} taps, ${typed.toString()} characters typed, ${seconds.toFixed(0)} s\n`,
  );
  const booth = await packaged.untilBooth(box, "records arrive", ({ log }) => log.acked_seq > 0);
  expect(booth).toMatchObject({ serial: packaged.SERIAL, provisioning: { state: "active" } });
  // The simulated service has a zone of its own for the booth; what the phone said is kept here.
  const kept = JSON.parse(readFileSync(box.inside(`${packaged.STATE}/setup.json`), "utf8")) as SetUp;
  const modbus = { host: ADDRESSES.plc, port: MODBUS };
  expect(kept.booths).toEqual([{ id: "booth-1", profile: "click-booth", modbus, tz: "America/Denver" }]);
  await page.close();
});
