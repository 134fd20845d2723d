// Needs root and Debian packages: binutils, gcc, libfaketime, mmdebstrap, systemd-container.
import { hash } from "node:crypto";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { BoothStatus } from "../../src/domain/status.ts";
import { SCHEMA_VERSION } from "../../src/store/schema.ts";
import { bootContainer, type Container } from "./container.ts";
import { eventually } from "../support/eventually.ts";
import { recordFault } from "../support/faults.ts";
import { memoryGroup } from "./memory-group.ts";
import * as faults from "./packaged-faults.ts";
import * as site from "./packaged-site.ts";
import * as stores from "./packaged-store.ts";

/**
 * Faults of the box, brought about in a Debian with systemd as its first process, under the packaged agent as its unit starts it.
 * The tests go on from each other: one life of one box.
 */

const { CONFIG, STATE } = site;
const VERSION = "0.0.1";
/** The state, the ballast of 4 MB, and little else. */
const SMALL_MB = 12;
/** A commit is made each second: by then one has polls behind that instant. */
const COMMITTED_AFTER_MS = 3_000;
/** Nothing can be had from it: the kernel ends whoever asks for more. */
const NO_MEMORY_BYTES = 4_096;
/** Less than a page with its header. */
const TORN_BYTES = 300;
/** 49.7 days. */
const PASSED_MS = 2 ** 32;
/** Long enough to boot and poll before. */
const PASSED_AFTER_MS = 20_000;
/** The least that may be configured. */
const BUDGET_BYTES = 4_000_000;
const FLOOD_LINES = 50_000;

const folder = mkdtempSync(join(tmpdir(), "bg-faults-"));
const data = join(folder, "service");
let box: Container;
let stopService = (): Promise<void> => Promise.resolve();

const faulty = (): faults.Faulty => ({ box, data });
const journal = (): string => box.sh(`journalctl --no-pager -o cat -u ${site.UNIT}`);
const restart = (): string => box.sh(`systemctl restart ${site.UNIT}`);
const stop = (): string => box.sh(`systemctl stop ${site.UNIT}`);
const start = (): string => box.sh(`systemctl start ${site.UNIT}`);
const restarts = (): number => Number(box.show(site.UNIT, "NRestarts"));
const mainPid = (): number => Number(box.show(site.UNIT, "MainPID"));

beforeAll(async () => {
  const file = site.packageOf(VERSION);
  box = await bootContainer();
  site.putConfig(box);
  site.startPlc(box);
  stopService = site.startService(box, data);
  site.putPackage(box, file);
  for (const line of site.readmeCommands("Install it as a service")) {
    box.sh(`cd /root && EDITOR='cp /root/gateway.yaml' && ${line}`, site.KEY);
  }
});

afterAll(async () => {
  await box.end();
  rmSync(folder, { recursive: true, force: true });
});

it("a broken, half-written or unreadable configuration is refused with file and line; the last good one stays in use", async () => {
  await site.untilBooth(box, "all is delivered", faults.isWell);
  const good = box.sh(`cat ${CONFIG}`);
  const broken = [
    [
      "half of it is written",
      `printf '%s' '${good.slice(0, good.indexOf("booths:") + 7)}' >${CONFIG}`,
      /gateway\.yaml:\d+:\d+/,
    ],
    ["a setting nobody knows", `printf '\\nboths: []\\n' >>${CONFIG}`, /gateway\.yaml:\d+:\d+: .*boths/],
    ["readable for root alone", `chmod 600 ${CONFIG}`, /gateway\.yaml: can't be read/],
  ] as const;
  let wrong = 0;
  for (const [, spoil, said] of broken) {
    box.sh(spoil);
    restart();
    const { booths, config_refused } = await eventually("it is up", () => site.statusOf(box));
    if (booths.length !== 1 || !said.test(config_refused ?? "") || !said.test(journal())) wrong += 1;
    writeFileSync(box.inside(CONFIG), good);
    box.sh(`chmod 644 ${CONFIG}`);
  }
  faults.putClientCertificate(box, 20);
  restart();
  const fault = `configuration broken under systemd: ${broken.map(([what]) => what).join(", ")}`;
  expect(await faults.enter(faulty(), { row: 40, fault, injected: broken.length, wrong })).toEqual(faults.NOTHING);
  const certificates = [{ link: "service", server: null, state: "ends_soon" }];
  expect(await site.statusOf(box)).toMatchObject({ config_refused: null, certificates });
  expect(journal()).toMatch(/"event":"certificate_ends".*the gateway's client certificate ends on/);
  const ends = { row: 39, fault: "client certificate about to end, under systemd", injected: 1 };
  expect(await faults.enter(faulty(), ends)).toEqual(faults.NOTHING);
});

it("a disk that is slow, full, or read-only: it goes on polling, says so, and keeps all", async () => {
  const slow = "/run/slow-sync";
  const library = faults.putLibrary(box, { c: "test/store/slow-sync.c" });
  const asBefore = faults.dropIn(box, `Environment=LD_PRELOAD=${library} SLOW_SYNC_WHILE=${slow}`);
  stop();
  const putBack = faults.smallState(box, SMALL_MB);
  start();
  await site.untilBooth(box, "all is delivered", faults.isWell);
  const before = restarts();
  expect(await faults.slowDisk(faulty(), slow)).toEqual(faults.NOTHING);
  expect(await faults.fullDisk(faulty())).toEqual(faults.NOTHING);
  expect(await faults.readOnlyDisk(faulty())).toEqual(faults.NOTHING);
  expect(restarts()).toBe(before);
  stop();
  putBack();
  asBefore();
  start();
});

it("the kernel ends it for want of memory: it is back by itself", async () => {
  const pid = mainPid();
  const before = restarts();
  const group = memoryGroup(NO_MEMORY_BYTES);
  writeFileSync(group.procs, box.pidOf(pid).toString());
  await eventually("it has been ended, and another is up", () => {
    box.try("timeout 2 booth-gateway status");
    return restarts() === before + 1 && box.show(site.UNIT, "ActiveState") === "active" ? true : undefined;
  });
  const { kills } = group.read();
  group.remove();
  const fault = { row: 11, fault: "ended by the kernel for want of memory, under systemd", injected: kills };
  expect(await faults.enter(faulty(), fault)).toEqual(faults.NOTHING);
  expect(kills).toBe(1);
});

it("the power fails in the midst of a commit; then the uptime passes 2^32 ms under the running agent", async () => {
  await site.untilBooth(box, "all is delivered", faults.isWell);
  faults.dropIn(box, faults.anotherBoot(box));
  const tear = (root: string): void => appendFileSync(join(root, STATE, "store.db-wal"), Buffer.alloc(TORN_BYTES, 7));
  await box.cut({ uptime_ms: PASSED_MS - PASSED_AFTER_MS, meanwhile: tear });
  site.startPlc(box);
  stopService = site.startService(box, data);
  const torn = { row: 4, fault: "power cut, half a page behind the last commit, under systemd", injected: 1 };
  expect(await faults.enter(faulty(), torn)).toEqual(faults.NOTHING);

  const uptime = (): number => Number(box.sh("cut -d ' ' -f 1 /proc/uptime")) * 1000;
  const early = await site.untilBooth(box, "all is delivered", faults.isWell);
  await eventually("the uptime has passed", () => (uptime() > PASSED_MS ? true : undefined), 2 * PASSED_AFTER_MS);
  const due = Date.now() + COMMITTED_AFTER_MS;
  const later = await site.untilBooth(box, "commits go on", ({ log }) => (log.last_commit_at ?? 0) > due);
  const folder = stores.copyOfStore(box);
  const boot = (await site.statusOf(box))?.boot ?? "";
  const around = stores.aroundUptime(folder, { boot, mono: PASSED_MS, began: Date.now() - uptime() });
  const wrong = around.wrong + stores.leftOut(folder, early.log.newest_seq, later.log.newest_seq);
  const passed = {
    row: 38,
    fault: "uptime passes 2^32 ms, under systemd",
    injected: Math.min(1, around.before),
    wrong,
  };
  expect(await faults.enter(faulty(), passed)).toEqual(faults.NOTHING);
  expect(around.before * around.behind).toBeGreaterThan(0);
  expect(restarts()).toBe(0);
});

it("its own backlog fills the store, and a bit rots in it: the budget is kept, and what is gone is told", async () => {
  const { stream } = await site.untilBooth(box, "all is delivered", faults.isWell);
  await stopService();
  site.setConfig(box, ["store", "max_bytes"], BUDGET_BYTES);
  const made = { newest: 0, rotten: 0 };
  stores.onStoppedStore(box, (folder) => {
    made.newest = stores.fillWithTexts(folder, BUDGET_BYTES);
    made.rotten = stores.rotRow(folder, made.newest);
  });
  await site.untilBooth(box, "it commits", ({ log }) => log.newest_seq > made.newest && log.trouble === "");
  const bytes = stores.bytesOf(box);
  stopService = site.startService(box, data);
  await site.untilBooth(box, "all is delivered", faults.isWell);
  const { silent: lost, spoilt: wrong, declared, texts } = stores.accountedAt(data, stream);
  const rot = declared["damaged in the store"] ?? 0;
  const thinned = declared["the store's budget is full"] ?? 0;
  const passed = lost + wrong === 0 && bytes <= BUDGET_BYTES && rot === made.rotten && thinned > 0;
  const counted = { lost, doubled: 0, wrong, passed };
  recordFault({ row: 5, fault: `a bit flipped, of ${rot} records, under systemd`, injected: 1, ...counted });
  recordFault({ row: 8, fault: `own backlog over the budget, under systemd`, injected: thinned, ...counted });
  expect({ lost, wrong, rot, passed }).toEqual({ lost: 0, wrong: 0, rot: made.rotten, passed: true });
  expect(texts).toBeGreaterThan(0);
});

it("a clock of 1970 without a network, a store that is gone as well, then a clock a day ahead and a day back", async () => {
  const before = await site.untilBooth(box, "all is delivered", faults.isWell);
  await stopService();
  stop();
  const began = Date.now();
  const clock = faults.wrongClock(box, "@1970-01-01 00:00:10");
  start();
  const { time } = await site.untilBooth(box, "it polls", ({ log }) => log.taken > faults.SOME_POLLS);
  expect(time).toBeGreaterThanOrEqual(before.time);
  stop();
  const gone = stores.removeStore(box);
  start();
  const polls = ({ log }: BoothStatus): boolean => log.taken > faults.SOME_POLLS && log.newest_seq > 0;
  const alone = await site.untilBooth(box, "it polls", polls);
  expect((await site.statusOf(box))?.clock).toEqual({ synced: false, offset_ms: null });
  expect(alone.log.acked_seq).toBe(0);
  expect(alone.provisioning).toMatchObject({ state: "active", generation: before.provisioning.generation });
  expect(alone.stream).not.toBe(before.stream);
  stopService = site.startService(box, data);
  await site.untilBooth(box, "the service has vouched for the time", faults.isWell);
  expect((await site.statusOf(box))?.clock.synced).toBe(true);
  const told = (): number => journal().match(/"event":"clock"/g)?.length ?? 0;
  const steps = ["+0", "+1d", "-1d", "+0"];
  for (const step of steps) {
    const before_step = told();
    clock.set(step);
    await eventually(`the clock, put to ${step}, is told`, () => (told() > before_step ? true : undefined));
  }
  await site.untilBooth(box, "all is delivered", faults.isWell);
  const wrong = stores.heldOutside(data, alone.stream, [began, Date.now()]);
  const fault = "boot at 1970 without a service, put right, a day ahead, a day back, under systemd";
  expect(await faults.enter(faulty(), { row: 37, fault, injected: steps.length, wrong })).toEqual(faults.NOTHING);
  const missing = { row: 6, fault: "database file gone, under systemd", injected: gone > 0 ? 1 : 0 };
  expect(await faults.enter(faulty(), missing)).toEqual(faults.NOTHING);
  stop();
  clock.end();
  start();
});

it("a journal that is stuck, then flooded by others until it drops what it had: polling goes on", async () => {
  const well = await site.untilBooth(box, "all is delivered", faults.isWell);
  const before = restarts();
  const journald = box.show("systemd-journald.service", "MainPID");
  box.sh(`kill -STOP ${journald}`);
  const stuck = await faults.pollsGoOn(box, well);
  box.sh(`kill -CONT ${journald}`);
  box.sh(
    `yes "$(printf 'flood %.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)" | head -n ${FLOOD_LINES} | systemd-cat -t flood`,
  );
  await faults.pollsGoOn(box, stuck);
  expect(restarts()).toBe(before);
  const fault = { row: 44, fault: `journal stuck; ${FLOOD_LINES} lines of others`, injected: 2 };
  expect(await faults.enter(faulty(), fault)).toEqual(faults.NOTHING);
});

it("a store that a newer agent wrote is refused in a sentence, and is whole when that agent is back", async () => {
  await site.untilBooth(box, "all is delivered", faults.isWell);
  const path = join(box.inside(STATE), "store.db");
  stores.onStoppedStore(box, (state) =>
    stores.inStore(state, ["CREATE TABLE of_tomorrow (one INTEGER)", "PRAGMA user_version = 99"]),
  );
  const newer = hash("sha256", readFileSync(path));
  await eventually("it is refused", () => (journal().includes("install the newer agent again") ? true : undefined));
  stop();
  const wrong = hash("sha256", readFileSync(path)) === newer ? 0 : 1;
  stores.onStoppedStore(box, (state) =>
    stores.inStore(state, ["DROP TABLE of_tomorrow", `PRAGMA user_version = ${SCHEMA_VERSION}`]),
  );
  const fault = { row: 41, fault: "downgrade to an agent that doesn't know the schema", injected: 1, wrong };
  expect(await faults.enter(faulty(), fault)).toEqual(faults.NOTHING);
});

it("the first key, encrypted for this machine, reaches the agent as its credential, and stands nowhere in plain", () => {
  const plain = "/etc/credstore/booth-gateway-api-key";
  const encrypted = "/etc/credstore.encrypted/booth-gateway-api-key";
  const notes = readFileSync(box.inside("/usr/share/booth-gateway/drop-ins/encrypted-key.conf"), "utf8");
  const commands = [...notes.matchAll(/^# {3}(.*)$/gm)].map(([, command = ""]) => command);
  expect(commands.length).toBe(2);
  for (const command of commands) box.sh(command, site.KEY);
  box.sh(`rm ${plain}`);
  box.sh(`mkdir -p /etc/systemd/system/${site.UNIT}.d`);
  box.sh(`cp /usr/share/booth-gateway/drop-ins/encrypted-key.conf /etc/systemd/system/${site.UNIT}.d/`);
  box.sh("systemctl daemon-reload");
  restart();
  const seen = box.sh(`nsenter -t ${mainPid()} -m cat /run/credentials/${site.UNIT}/booth-gateway-api-key`);
  expect(seen.trim()).toBe(site.KEY);
  expect(readFileSync(box.inside(encrypted), "utf8")).not.toContain(site.KEY);
  expect(box.try(`grep -rlF ${site.KEY} /etc ${STATE} /var/cache/booth-gateway`).out).toBe("");
});

it("decommissioned, it delivers what waits, wipes its keys, then its data, and stays off", async () => {
  const before = await site.untilBooth(box, "all is delivered", faults.isWell);
  const credential = faults.credentialOf(box);
  box.sh("booth-gateway decommission --yes");
  await eventually("it has ended, and isn't started again", () =>
    box.show(site.UNIT, "ActiveState") === "inactive" && box.show(site.UNIT, "ConditionResult") === "no"
      ? true
      : undefined,
  );
  expect(readdirSync(box.inside(STATE))).toEqual(["decommissioned"]);
  expect(readdirSync(box.inside("/run/booth-gateway"))).toEqual([]);
  for (const secret of [credential, site.KEY]) {
    expect(box.try(`grep -rlF -e ${secret} ${STATE} /run/booth-gateway /var/cache/booth-gateway /etc`).out).toBe("");
  }
  expect(site.heldBy(data, before.stream).records).toBeGreaterThanOrEqual(before.log.newest_seq);
  expect(journal()).toContain('"event":"out_of_service"');
  start();
  expect(box.show(site.UNIT, "ActiveState")).toBe("inactive");
  expect(box.try("booth-gateway run").out).toMatch(
    /was decommissioned.*delete .*decommissioned to put it into service/,
  );
});
