// Needs root and Debian packages: chromium-headless-shell, hostapd, iproute2, mmdebstrap, socat, systemd-container, udhcpc.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openBrowser, PHONE, screenshot } from "../api/page/browser.ts";
import { platePhoto } from "../api/page/plate.ts";
import { person } from "../api/page/person.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, qrIn } from "../support/label-reader.ts";
import { SIMULATORS } from "../support/processes.ts";
import type { SetUp } from "../../src/config/set-up.ts";
import { bootContainer, type Container } from "./container.ts";
import * as packaged from "./packaged-site.ts";
import { shopNetwork, type Machine } from "./shop-network.ts";

/**
 * Set-up of a new gateway by a person with a phone and no shell. The package runs in its own Debian, on a network with
 * a PLC whose address is unknown. The phone is another machine on that network and knows only the gateway's label.
 */

const ADDRESSES = { box: "192.0.2.20", phone: "192.0.2.60", plc: "192.0.2.77" };
const MODBUS = 502;
/** A page port other than the default. */
const PAGE_PORT = 9443;
/** Port of the simulated PLC on its own machine. */
const PLC_PORT = 8482;
const folder = mkdtempSync(join(tmpdir(), "bg-carton-"));
const shop = shopNetwork();
let box: Container;
let phone: Machine;
const service = { stop: (): Promise<void> => Promise.resolve() };

/** The data on the label. Its QR code leads the phone's camera to the page. */
interface Label {
  readonly url: string;
  readonly pin: string;
}

/**
 * Writes the settings that an image or fleet tools provide: service and first key. The rest of the file comes from the
 * package.
 */
function preseed(container: Container): void {
  const first = readFileSync("systemd/gateway.first.yaml", "utf8").replace(
    "page:\n",
    `page:\n  lan_port: ${PAGE_PORT}\n`,
  );
  mkdirSync(container.inside("/etc/booth-gateway"), { recursive: true });
  mkdirSync(container.inside("/etc/avahi/services"), { recursive: true });
  mkdirSync(container.inside("/etc/credstore"), { recursive: true, mode: 0o700 });
  writeFileSync(
    container.inside(packaged.CONFIG),
    first.replace("service:\n", "service:\n  url: http://127.0.0.1:8480\n"),
  );
  writeFileSync(container.inside("/etc/credstore/booth-gateway-api-key"), packaged.KEY, { mode: 0o600 });
}

/** Prepares the gateway on the workbench: package, service, label. The network of the shop is still unknown. */
async function makeReady(): Promise<Label> {
  box = await bootContainer();
  preseed(box);
  packaged.putPackage(box, packaged.packageOf("0.0.1"));
  box.sh("dpkg -i /root/booth-gateway_0.0.1_amd64.deb");
  shop.plugIn(box, ADDRESSES.box);
  await eventually("the agent answers", () => packaged.statusOf(box));
  const { pin, url } = JSON.parse(box.sh("booth-gateway label --json --svg /root/label.svg")) as Label;
  expect(url).toBe(`https://${ADDRESSES.box}:${PAGE_PORT}/`);
  expect(box.sh("cat /etc/avahi/services/booth-gateway.service")).toContain(`<port>${PAGE_PORT}</port>`);
  expect(qrIn(codeOf(readFileSync(box.inside("/root/label.svg"), "utf8")))).toBe(url);
  return { pin, url };
}

let label: Label;
beforeAll(async () => {
  const plc = shop.machine("plc", ADDRESSES.plc);
  plc.start(process.execPath, [SIMULATORS, "plc", "--scenario", "busy-day", "--modbus-port", String(PLC_PORT)]);
  plc.start("socat", [`TCP-LISTEN:${MODBUS},fork,reuseaddr`, `TCP:127.0.0.1:${PLC_PORT}`]);
  phone = shop.machine("phone", ADDRESSES.phone);
  label = await makeReady();
  // Power-on in the shop.
  await box.cut({ uptime_ms: 20_000 });
  shop.plugIn(box, ADDRESSES.box);
  service.stop = packaged.startService(box, join(folder, "service"));
});

afterAll(async () => {
  await box.end();
  await service.stop();
  shop.end();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a browser on the phone. Its fake camera shows the booth's nameplate. */
async function openPhone(): Promise<Page> {
  const plate = join(folder, "plate.mjpeg");
  const desk = await openBrowser();
  writeFileSync(plate, await platePhoto(desk, { kind: "code128", text: packaged.SERIAL }));
  await desk.close();
  const executablePath = phone.launcher(folder, "/usr/bin/chromium-headless-shell");
  // The second option allows the camera without a question.
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

it("a new gateway can be set up from a phone by scanning the nameplate and typing only the PIN", async () => {
  const page = await openPhone();
  const button = (name: string | RegExp) => page.getByRole("button", { name });
  const who = person(page);
  await page.goto(label.url);
  await screenshot(page, "carton-1-pin");
  await who.type(page.getByLabel("PIN (8 digits)"), label.pin.replace(" ", ""));
  await who.tap(button("Enter"));
  await button(/^Search \d/).waitFor();
  await screenshot(page, "carton-2-plc");
  await who.tap(button(/^Search \d/));
  await who.tap(button("Yes, search"));
  await button(`Use ${ADDRESSES.plc}:502`).waitFor();
  await screenshot(page, "carton-3-found");
  await who.tap(button(`Use ${ADDRESSES.plc}:502`));
  await page.getByText("answers").first().waitFor();
  await screenshot(page, "carton-4-probe");
  await who.tap(button(`Use ${ADDRESSES.plc}:502`));
  await who.tap(button("Read now"));
  await button("Choose click-booth").waitFor();
  await screenshot(page, "carton-5-programs");
  await who.tap(button("Choose click-booth"));
  await screenshot(page, "carton-6-values");
  await who.tap(button("Yes, these are correct"));
  await button("Test these settings").waitFor();
  await screenshot(page, "carton-7-zone");
  await who.tap(button("Test these settings"));
  const serial = page.getByLabel("Serial number on the booth's nameplate");
  await serial.waitFor();
  await screenshot(page, "carton-8-serial");
  await who.tap(button("Scan the code"));
  await page.getByText("Read from the code").waitFor();
  expect(await serial.inputValue()).toBe(packaged.SERIAL);
  await who.tap(button("Look up"));
  const confirm = button("Yes, this is the booth");
  await confirm.waitFor();
  await screenshot(page, "carton-10-card");
  await who.tap(confirm);
  await page.getByText(`This gateway is linked to ${packaged.SERIAL}`).waitFor();
  const { taps, typed, seconds } = who.tally();
  await screenshot(page, "carton-11-bound");
  process.stdout.write(`carton, nameplate scanned: ${taps} taps, ${typed} characters typed, ${seconds.toFixed(0)} s\n`);
  const booth = await packaged.untilBooth(box, "records arrive", ({ log }) => log.acked_seq > 0);
  expect(booth).toMatchObject({ serial: packaged.SERIAL, provisioning: { state: "active" } });
  // The simulated service has its own zone for the booth. The phone's zone is stored in this file.
  const kept = JSON.parse(readFileSync(box.inside(`${packaged.STATE}/setup.json`), "utf8")) as SetUp;
  const modbus = { host: ADDRESSES.plc, port: MODBUS };
  expect(kept.booths).toEqual([{ id: "booth-1", profile: "click-booth", modbus, tz: "America/Denver" }]);
  await page.close();
});

/** The address that the drop-in gives to the hotspot. */
const HOTSPOT = "192.168.77.1";

it("the gateway's hotspot gives a phone an address without a route and serves the page, and hostapd accepts the configuration", async () => {
  const dropIns = "/usr/share/booth-gateway/drop-ins";
  const network = "/etc/systemd/network/80-booth-gateway-hotspot.network";
  const guest = shop.beside(box, "guest", "wlan0");
  box.sh(
    `mkdir -p /etc/systemd/network && cp ${dropIns}/hotspot.network ${network} && systemctl start systemd-networkd`,
  );
  await eventually("the card is configured", () =>
    /State: routable \(configured\)/.test(box.try("networkctl status wlan0").out) ? true : undefined,
  );
  // The program that manages the other cards keeps running.
  expect(box.sh("networkctl status eth0")).toMatch(/State: \S+ \(unmanaged\)/);
  const script = join(folder, "lease");
  writeFileSync(
    script,
    '#!/bin/sh\n[ "$1" != bound ] || echo "$ip route=$router dns=$dns"; [ "$1" != bound ] || ip address add "$ip/24" dev eth0\n',
  );
  chmodSync(script, 0o755);
  const lease = guest.run("udhcpc", ["-i", "eth0", "-n", "-q", "-f", "-s", script]);
  expect(lease).toMatch(/^192\.168\.77\.\d+ route= dns=$/m);
  box.sh("booth-gateway page --for 5m --json");
  const page = `https://${HOTSPOT}:${PAGE_PORT}/healthz`;
  const answer = JSON.parse(guest.run("curl", ["--silent", "--show-error", "--insecure", page])) as object;
  expect(answer).toMatchObject({ status: expect.any(String) as string });
  const radio = readFileSync(box.inside(`${dropIns}/hotspot-hostapd.conf`), "utf8");
  expect(hostapdSays(radio)).toContain("PSK or passphrase is not configured");
  const ready = radio.replace("#wpa_passphrase=", "wpa_passphrase=a-phrase-of-ours");
  // hostapd accepts the file. Only the radio is missing on this machine.
  expect(hostapdSays(ready)).not.toMatch(/errors? found|Line \d+/);
  expect(hostapdSays(ready.replace("channel=", "chanel="))).toContain("unknown configuration item 'chanel'");
});

/** Returns hostapd's output about a configuration. hostapd ends by itself, because this machine has no such radio. */
function hostapdSays(text: string): string {
  const file = join(folder, "hostapd.conf");
  writeFileSync(file, text);
  const { stdout, stderr } = spawnSync("hostapd", [file], { encoding: "utf8", timeout: 10_000 });
  return stdout + stderr;
}
