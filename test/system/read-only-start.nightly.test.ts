// Needs root, for mounts.
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import type { BoothStatus } from "../../src/domain/status.ts";
import { smallDisk } from "../store/disk-bed.ts";
import { eventually } from "../support/eventually.ts";
import { recordFault } from "../support/faults.ts";
import { ownRecords } from "../support/store.ts";
import type { Program } from "../support/processes.ts";
import { realSite, SERIAL, type RealSite } from "../support/real-site.ts";
import { accountsOf } from "./taken-witness.ts";

const WITHIN_MS = 60_000;
/** The minimum of polls while the store can't be written. */
const TAKEN = 30;

function boothWhen(what: string, site: RealSite, is: (booth: BoothStatus) => boolean): Promise<BoothStatus> {
  const look = async (): Promise<BoothStatus | undefined> => {
    const booth = (await site.status())?.booths[0];
    return booth !== undefined && is(booth) ? booth : undefined;
  };
  return eventually(what, look, WITHIN_MS);
}

const isPolling = ({ plc, log }: BoothStatus): boolean =>
  plc.kind === "up" && log.pending >= TAKEN && log.trouble !== "";

const isWell = ({ log }: BoothStatus): boolean => log.trouble === "" && log.acked_seq > 0 && log.pending < TAKEN;

async function stopped(agent: Program): Promise<void> {
  agent.signal("SIGTERM");
  expect(await agent.ended).toBe(0);
}

/** Counts takes that are missing in the log and duplicates in it, and enters the fault. */
function count(fault: string, dataDir: string): void {
  const { records, last_take } = ownRecords(dataDir);
  const { takes, doubled } = accountsOf(records);
  const lost = last_take - takes;
  recordFault({ row: 9, fault, injected: 1, lost, doubled, wrong: 0, passed: lost + doubled === 0 });
  process.stdout.write(`${JSON.stringify({ fault, last_take, takes, doubled })}\n`);
  expect({ lost, doubled }).toEqual({ lost: 0, doubled: 0 });
  expect(last_take).toBeGreaterThan(TAKEN);
}

it("an agent on a new read-only disk keeps readings in memory, reports the fault, and stores them once the disk is writable", async () => {
  const site = await realSite({ speed: 60, serial: SERIAL });
  const disk = smallDisk(64, site.dataDir);
  disk.remount("ro");
  const agent = site.startAgent();
  const before = await boothWhen("polls are taken though nothing can be stored", site, isPolling);
  expect(before.log.trouble).toContain("the disk is read-only");
  expect(before.log).toMatchObject({ newest_seq: 0, acked_seq: 0 });
  expect(readdirSync(site.dataDir)).toEqual([]);
  disk.remount("rw");
  const after = await boothWhen("all is stored and delivered", site, isWell);
  expect(after.stream).toBe(before.stream);
  await stopped(agent);
  count("a new disk, read-only at the start", site.dataDir);
});

it("an agent whose disk is read-only after a kill continues its stream and loses no record", async () => {
  const site = await realSite({ speed: 60, serial: SERIAL });
  const disk = smallDisk(64, site.dataDir);
  const killed = site.startAgent();
  const first = await boothWhen("records are delivered", site, isWell);
  killed.signal("SIGKILL");
  await killed.ended;
  disk.remount("ro");
  const agent = site.startAgent();
  const during = await boothWhen("polls are taken though nothing can be stored", site, isPolling);
  expect(during.stream).toBe(first.stream);
  expect(during.log.newest_seq).toBeGreaterThanOrEqual(first.log.acked_seq);
  disk.remount("rw");
  await boothWhen("all is stored and delivered", site, isWell);
  await stopped(agent);
  count("read-only at the start, after a kill", site.dataDir);
});
