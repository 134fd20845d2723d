// Needs root and Debian packages: binutils, mmdebstrap, systemd-container.
import { hash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SCHEMA_VERSION } from "../../src/store/schema.ts";
import { bootContainer, type Container } from "./container.ts";
import { eventually } from "../support/eventually.ts";
import { memoryGroup } from "./memory-group.ts";
import * as faults from "./packaged-faults.ts";
import * as site from "./packaged-site.ts";
import * as stores from "./packaged-store.ts";

/**
 * Faults of a gateway in a Debian with systemd as its first process, with the packaged agent run by its unit. The tests
 * depend on each other: they are one life of one gateway.
 */

const { STATE } = site;
const VERSION = "0.0.1";
/** A memory limit at which every allocation fails, so that the kernel kills the process. */
const NO_MEMORY_BYTES = 4_096;
const FLOOD_LINES = 50_000;

const folder = mkdtempSync(join(tmpdir(), "bg-faults-"));
const data = join(folder, "service");
let box: Container;

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
  site.startService(box, data);
  site.putPackage(box, file);
  for (const line of site.readmeCommands("Install it as a service")) {
    box.sh(`cd /root && EDITOR='cp /root/gateway.yaml' && ${line}`, site.KEY);
  }
});

afterAll(async () => {
  await box.end();
  rmSync(folder, { recursive: true, force: true });
});

it("the agent is restarted without a lost record if the kernel kills it for lack of memory", async () => {
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

it("the agent continues to poll while journald hangs and after other programs flood the journal", async () => {
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

it("an agent rejects a store with a newer schema, advises installing the newer agent, and leaves the store unchanged", async () => {
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

it("the encrypted first key reaches the agent as a systemd credential and is not stored as plain text", () => {
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

it("a decommissioned agent delivers its backlog, wipes its keys and data, and does not start again", async () => {
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
