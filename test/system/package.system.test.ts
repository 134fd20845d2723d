// Needs root and Debian packages: binutils, mmdebstrap, systemd-container.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import Database from "better-sqlite3";
import { EXIT } from "../../src/tools/command.ts";
import { bootContainer, type Container } from "./container.ts";
import { eventually } from "../support/eventually.ts";
import { recordFault } from "../support/faults.ts";
import * as faults from "./packaged-faults.ts";
import * as look from "./packaged-look.ts";
import * as site from "./packaged-site.ts";

/**
 * The package as a gateway gets it, in a Debian with systemd as its first process and no network. The tests depend on
 * each other: they are one life of one gateway.
 */

const OLD = "0.0.1";
const NEW = "0.0.2";
/** The promised time until a restart, measured by systemd's clock. */
const BACK_WITHIN_S = 3;
const WATCHDOG_S = 30;
const folder = mkdtempSync(join(tmpdir(), "bg-package-"));
const service = { data: join(folder, "service"), stop: (): Promise<void> => Promise.resolve() };
const files = { old: "", new: "" };
let box: Container;

/** The process id of the agent; 0 if it doesn't run. */
const pidNow = (): number => Number(box.show(site.UNIT, "MainPID"));
function mainPid(): number {
  const pid = pidNow();
  // Signal 0 to process 0 would reach this test's own process group.
  if (pid === 0) throw new Error("the agent doesn't run");
  return pid;
}
/** Returns a time that systemd noted, in microseconds of the monotonic clock. */
const noted = (property: string): number => Number(box.show(site.UNIT, `${property}TimestampMonotonic`));
const inside = (file: string): string => `/root/${file.slice(file.lastIndexOf("/") + 1)}`;
const dpkg = (file: string): string => `dpkg -i ${inside(file)}`;

beforeAll(async () => {
  files.old = site.packageOf(OLD);
  files.new = site.packageOf(NEW);
  box = await bootContainer();
  for (const file of Object.values(files)) site.putPackage(box, file);
  site.putConfig(box);
  site.startPlc(box);
  service.stop = site.startService(box, service.data);
});

afterAll(async () => {
  await box.end();
  rmSync(folder, { recursive: true, force: true });
});

it("the README's commands install the package without internet access, and the booth is bound and delivers records", async () => {
  box.sh(`mkdir /root/new && mv /root/*_${NEW}_* /root/new/`);
  const [install = "", ...byHand] = site.readmeCommands("Install it as a service");
  box.sh("mkdir -p /etc/avahi/services");
  box.sh(`cd /root && ${install}`);
  expect(box.sh("cat /etc/avahi/services/booth-gateway.service")).toContain("_https._tcp");
  // The agent runs already and waits for its set-up.
  expect([box.show(site.UNIT, "ActiveState"), box.show(site.UNIT, "UnitFileState")]).toEqual(["active", "enabled"]);
  expect(JSON.parse(box.sh("booth-gateway status --json"))).toMatchObject({ lacks: ["service", "booth"], booths: [] });
  box.sh("ip address add 192.0.2.77/24 dev lo");
  const label = JSON.parse(box.sh("booth-gateway label --json")) as { readonly url: string; readonly pin: string };
  expect(label.url).toBe("https://192.0.2.77:8443/");
  expect(label.pin).toMatch(/^\d{4} \d{4}$/);
  expect(box.sh("stat -c '%a %U' /etc/booth-gateway/page-pin").trim()).toBe("600 booth-gateway");
  box.sh("ip address del 192.0.2.77/24 dev lo");
  for (const line of byHand) box.sh(`cd /root && EDITOR='cp /root/gateway.yaml' && ${line}`, site.KEY);
  box.sh("mv /root/new/* /root/");
  expect([box.show(site.UNIT, "Type"), box.show(site.UNIT, "ActiveState")]).toEqual(["notify", "active"]);
  const booth = await site.untilBooth(box, "the service has records", ({ log }) => log.acked_seq > 0);
  expect({ state: booth.provisioning.state, serial: booth.serial }).toEqual({ state: "active", serial: site.SERIAL });
  const line = await eventually("a status line with the mode", () => {
    const text = box.show(site.UNIT, "StatusText");
    return text.includes("to send") && text.includes("service up") ? text : undefined;
  });
  expect(line).toMatch(/booth-1: [a-z_]+, PLC up, \d+ to send/);
});

it("the package contains no build files, and its bill of materials lists all of its components", () => {
  expect(look.leftovers(box)).toEqual([]);
  const bill = look.billOfMaterials(box);
  // The project's own file.
  const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as { dependencies: Record<string, string> };
  const wanted = Object.entries(dependencies).map(([name, version]) => `${name}@${version}`);
  // node-opcua-client only re-exports its parts. The package contains the parts, but not the module itself.
  const parts = /^node-opcua-client@/;
  expect(wanted.filter((one) => !bill.includes(one) && !parts.test(one))).toEqual([]);
  expect(bill.filter((one) => /^node-opcua-(?:secure-channel|crypto)@/.test(one))).toHaveLength(2);
  expect(bill.filter((one) => /^(?:vitest|typescript|oxlint|rolldown|aedes)@/.test(one))).toEqual([]);
  const doc = "/usr/share/doc/booth-gateway";
  const shared = "/usr/share/booth-gateway";
  const brought = [
    ...["copyright", "operate/install.md", "SECURITY.md"].map((name) => `${doc}/${name}`),
    ...["gateway.first.yaml", "schemas/gateway.schema.json", "drop-ins/address-filter.conf"].map(
      (name) => `${shared}/${name}`,
    ),
    "/usr/share/man/man8/booth-gateway.8.gz",
    "/usr/share/bash-completion/completions/booth-gateway",
    "/usr/share/zsh/vendor-completions/_booth-gateway",
    "/usr/share/fish/vendor_completions.d/booth-gateway.fish",
  ];
  expect(brought.filter((path) => !existsSync(box.inside(path)))).toEqual([]);
});

it("the installed agent has no capabilities, can't write to system folders, and listens on loopback only", () => {
  const none = { held: [], noNewPrivs: "1", seccomp: "2", isRoot: false };
  expect(look.rightsOf(box, mainPid())).toEqual(none);
  expect(look.writableBy(box, mainPid())).toEqual({ system: [], not_own: [] });
  const listening = look.listening(box);
  expect(listening.length).toBeGreaterThan(0);
  expect(listening.filter((address) => !/^(127\.|\[::1\]:)/.test(address))).toEqual([]);
});

it("the web page can be opened to the network despite the systemd unit's restrictions, and the page command prints its address", () => {
  box.sh("ip address add 192.0.2.77/24 dev lo");
  const { lan, pin } = JSON.parse(box.sh("booth-gateway page --for 1m --json")) as {
    readonly lan: { readonly urls: readonly string[]; readonly port: number };
    readonly pin: string;
  };
  expect(lan.urls).toEqual([`https://192.0.2.77:${lan.port}`]);
  expect(pin).toMatch(/^\d{4} \d{4}$/);
  box.sh("booth-gateway page --close && ip address del 192.0.2.77/24 dev lo");
});

it("members of the agent's group can use all commands except root's, and other users can use no command", async () => {
  expect(look.askedAs(box)).toEqual({ member: EXIT.ok, member_as_root: EXIT.rights, other: EXIT.rights });
  const cached = (): number => Number(box.sh("find /var/cache/booth-gateway -type f | wc -l"));
  box.sh(`systemctl restart ${site.UNIT}`);
  await eventually("compiled code is kept", () => (cached() > 0 ? true : undefined));
});

it("the first key and the gateway's credential appear in no journal line, environment variable or argument", () => {
  // SQLite can't open a file through another process's root.
  cpSync(box.inside("/var/lib/booth-gateway"), join(folder, "state"), { recursive: true });
  const db = new Database(join(folder, "state/identity.db"));
  const { credential } = db.prepare("SELECT credential FROM gateway").get() as { credential: string };
  db.close();
  expect(credential.length).toBeGreaterThan(30);
  const texts = look.saidOf(box);
  expect(texts[0]).toContain("booth-gateway");
  for (const secret of [site.KEY, credential])
    expect(texts.map((text) => text.includes(secret))).toEqual(texts.map(() => false));
});

it("the agent is restarted within 3 s after kill -9, without a lost or duplicated record", async () => {
  const times: number[] = [];
  for (let kill = 0; kill < 3; kill += 1) {
    const pid = mainPid();
    const restarts = Number(box.show(site.UNIT, "NRestarts"));
    const killed = process.hrtime.bigint();
    box.sh(`kill -9 ${pid}`);
    // The order of the checks matters: once a restart was counted, the active process is the new one.
    await eventually("another process is ready", () => {
      const isCounted = Number(box.show(site.UNIT, "NRestarts")) === restarts + 1;
      return isCounted && box.show(site.UNIT, "ActiveState") === "active" ? true : undefined;
    });
    // systemd and this test use the same clock: CLOCK_MONOTONIC.
    times.push((noted("ActiveEnter") - Number(killed / 1000n)) / 1e6);
  }
  const booth = await site.untilBooth(
    box,
    "all is acked",
    ({ log }) => log.acked_seq > 0 && log.acked_seq === log.newest_seq,
  );
  const held = site.heldBy(service.data);
  const lost = held.last - held.records;
  const text = `kill -9 under systemd; ready again after ${times.map((time) => time.toFixed(2)).join(", ")} s`;
  recordFault({ row: 1, fault: text, injected: times.length, lost, doubled: 0, wrong: 0, passed: lost === 0 });
  expect(held).toMatchObject({ first: 1, streams: 1, records: held.last });
  expect(held.last).toBeGreaterThanOrEqual(booth.log.acked_seq);
  expect(Math.max(...times)).toBeLessThan(BACK_WITHIN_S);
});

it("the systemd watchdog ends an agent whose event loop hangs, and systemd restarts the agent", async () => {
  const pid = mainPid();
  const restarts = Number(box.show(site.UNIT, "NRestarts"));
  // The agent reopens its tail file after each commit. To open a pipe without a reader hangs.
  box.sh("mkfifo -m 666 /run/booth-gateway/tail.jsonl.new");
  await eventually(
    "the agent hangs",
    () => (box.try("timeout 2 booth-gateway status").code === 0 ? undefined : true),
    60_000,
  );
  box.sh("rm /run/booth-gateway/tail.jsonl.new");
  const beat = noted("Watchdog");
  await eventually(
    "the watchdog has started it anew",
    () =>
      pidNow() !== pid && pidNow() !== 0 && Number(box.show(site.UNIT, "NRestarts")) > restarts ? true : undefined,
    60_000,
  );
  const seconds = (noted("ExecMainStart") - beat) / 1e6;
  await site.untilBooth(box, "it reads again", ({ plc }) => plc.kind === "up");
  const journal = box.sh(`journalctl --no-pager -u ${site.UNIT}`);
  const passed = journal.includes("Watchdog timeout (limit 30s)!") && seconds <= WATCHDOG_S + 2;
  const fault = `event loop blocked; started anew ${seconds.toFixed(1)} s after the last beat, WatchdogSec 30 s`;
  recordFault({ row: 2, fault, injected: 1, lost: 0, doubled: 0, wrong: 0, passed });
  expect(passed).toBe(true);
});

it("a reload applies a changed configuration, and reports the line of a faulty configuration while the agent keeps running", async () => {
  const good = readFileSync(box.inside(site.CONFIG), "utf8");
  const pid = mainPid();
  const journal = (): string => box.sh(`journalctl --no-pager -o cat -u ${site.UNIT}`);
  site.setConfig(box, ["commit_interval_ms"], 5_000);
  site.setConfig(box, ["page", "port"], 8_475);
  box.sh(`systemctl reload ${site.UNIT} && journalctl --sync`);
  expect(journal()).toMatch(/"event":"reloaded".*"agent":\["commit_interval_ms"\],"needs_restart":\["page.port"\]/);
  const well = await site.untilBooth(box, "all is delivered", faults.isWell);
  writeFileSync(box.inside(site.CONFIG), `${good}\nboths: []\n`);
  expect(box.try(`systemctl reload ${site.UNIT}`).code).not.toBe(0);
  expect(journal()).toMatch(/gateway\.yaml:\d+:\d+: .*boths/);
  await faults.pollsGoOn(box, well);
  expect(mainPid()).toBe(pid);
  writeFileSync(box.inside(site.CONFIG), good);
});

it.each([
  ["address-filter", "IPAddressDeny"],
  ["serial-devices", "DeviceAllow"],
])("the installed agent reads the PLC with the systemd drop-in %s", async (name, property) => {
  const into = `/etc/systemd/system/${site.UNIT}.d`;
  box.sh(`mkdir -p ${into} && cp /usr/share/booth-gateway/drop-ins/${name}.conf ${into} && systemctl daemon-reload`);
  box.sh(`systemctl restart ${site.UNIT}`);
  expect(box.show(site.UNIT, property)).not.toBe("");
  await site.untilBooth(box, "it reads", ({ plc }) => plc.kind === "up");
  box.sh(`rm -r ${into} && systemctl daemon-reload && systemctl restart ${site.UNIT}`);
});

/** Everything that an upgrade must not change. */
const kept = (): string =>
  box.sh("cd /etc && cat booth-gateway/gateway.yaml credstore/* && ls -R booth-gateway credstore");

it("an upgrade in which dpkg is killed at any moment leaves either the old or the new program complete", () => {
  const struck = Array.from({ length: faults.UPGRADE_WORDS }, (_, index) => {
    const word = faults.signalledAt(box, inside(files.new), { signal: "KILL", nth: index + 1 });
    return { word, version: box.try("booth-gateway --version").out.trim() };
  });
  const wrong = struck.filter(({ version }) => version !== OLD && version !== NEW);
  const injected = struck.flatMap(({ word }) => word ?? []).length;
  const fault = `dpkg killed in an upgrade; then ran ${struck.map(({ version }) => version).join(", ")}`;
  recordFault({ row: 41, fault, injected, lost: 0, doubled: 0, wrong: wrong.length, passed: wrong.length === 0 });
  expect({ wrong, struck: injected > 3 }).toEqual({ wrong: [], struck: true });
  // After a kill at some moments, dpkg needs the whole package again.
  box.sh(`dpkg --configure -a || ${dpkg(files.new)}`);
});

it("after a power cut during an upgrade, the old or the new program runs, and no durable record is lost", async () => {
  box.sh(dpkg(files.old));
  const before = await site.untilBooth(box, "all is delivered", faults.isWell);
  const unpacking = { signal: "STOP", nth: faults.HALF_INSTALLED } as const;
  expect(faults.signalledAt(box, inside(files.new), unpacking)).toMatch(/half-installed/);
  expect(box.try("pgrep -x dpkg").code).toBe(0);
  await box.cut();
  site.startPlc(box);
  service.stop = site.startService(box, service.data);
  const after = await site.untilBooth(box, "all is delivered", faults.isWell);
  const version = (await site.statusOf(box))?.agent_version ?? "";
  box.sh(`dpkg --configure -a || ${dpkg(files.new)}`);
  const wrong = [OLD, NEW].includes(version) && after.stream === before.stream ? 0 : 1;
  const fault = { row: 3, fault: "whole container cut, in the midst of an upgrade", injected: 1, wrong };
  expect(await faults.enter({ box, data: service.data }, fault)).toEqual(faults.NOTHING);
  expect(after.log.newest_seq).toBeGreaterThanOrEqual(before.log.newest_seq);
});

it.each([
  ["an upgrade by one version", NEW],
  ["a downgrade by one version", OLD],
])("%s with a backlog of records keeps every record, the binding and the configuration", async (what, version) => {
  if (version === NEW) box.sh(dpkg(files.old));
  const before = await site.untilBooth(box, "bound", ({ provisioning }) => provisioning.state === "active");
  const settings = kept();
  await service.stop();
  const backlog = await site.untilBooth(box, "a backlog", ({ log }) => log.newest_seq - log.acked_seq >= 8);
  box.sh(dpkg(version === NEW ? files.new : files.old));
  service.stop = site.startService(box, service.data);
  const after = await site.untilBooth(
    box,
    "the backlog is delivered",
    ({ log }) => log.acked_seq >= backlog.log.newest_seq && log.acked_seq === log.newest_seq,
  );
  const held = site.heldBy(service.data);
  const lost = held.last - held.records;
  const fault = `${what} with ${backlog.log.newest_seq - backlog.log.acked_seq} records waiting`;
  recordFault({ row: 41, fault, injected: 1, lost, doubled: 0, wrong: 0, passed: lost === 0 });
  expect((await site.statusOf(box))?.agent_version).toBe(version);
  expect(held).toMatchObject({ first: 1, streams: 1, records: held.last });
  expect(after.stream).toBe(before.stream);
  expect(after.provisioning).toMatchObject({ state: "active", generation: before.provisioning.generation });
  expect(kept()).toBe(settings);
});

it("the journal contains the agent's log lines with their priorities, and few lines of a flood", () => {
  const of = (priority: string): string => box.sh(`journalctl --no-pager -o cat -u ${site.UNIT} -p ${priority}`);
  // The service was down in earlier tests.
  expect(of("warning")).toContain('"event":"service_down"');
  expect(of("warning")).not.toContain('"event":"service_up"');
  expect(of("info")).toContain('"event":"service_up"');
  // The limit is 300, but the journal multiplies it if its disk is large.
  const kept = look.keptOfFlood(box, 6_000);
  expect(kept).toBeGreaterThan(0);
  expect(kept).toBeLessThan(2_000);
});

it("the daily check timer runs after days without power, and the check succeeds", async () => {
  expect(await look.dailyCheck(box)).toBe("success");
});

it("removing the package keeps data and configuration, and purging it deletes everything", () => {
  // The unit for restarts after failures waits for minutes.
  box.sh("systemctl start --no-block booth-gateway-again.service && dpkg -r booth-gateway");
  expect(box.try("systemctl is-active booth-gateway-again.service").out.trim()).toBe("inactive");
  const state = "/var/lib/booth-gateway";
  const left = [`${state}/store.db`, `${state}/identity.db`, "/etc/booth-gateway/gateway.yaml"];
  expect(left.map((path) => existsSync(box.inside(path)))).toEqual([true, true, true]);
  expect(existsSync(box.inside("/usr/lib/booth-gateway"))).toBe(false);
  box.sh("dpkg -P booth-gateway");
  const found = box.sh(
    "find / -xdev \\( -path /proc -o -path /sys -o -path /root \\) -prune -o -name '*booth-gateway*' -print",
  );
  expect(found).toBe("");
  expect(box.try("find /run /tmp /var/tmp /dev/shm -name '*booth-gateway*'").out).toBe("");
  expect(box.sh("cat /etc/passwd /etc/group /etc/shadow")).not.toContain("booth-gateway");
});
