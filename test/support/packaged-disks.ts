import { enter, pollsGoOn, type Counted, type Faulty } from "./packaged-faults.ts";
import { STATE, statusOf, UNIT, untilBooth } from "./packaged-site.ts";
import { copyOfStore, leftOut } from "./packaged-store.ts";

/** Faults of the disk under a packaged agent. Each lasts until polls have gone on for a while; then all is counted. */

const SLOW_MS = 2_000;

/** While the file `flag` is there each sync takes two seconds: slow-sync.c, in the unit's environment. */
export async function slowDisk(faulty: Faulty, flag: string): Promise<Counted> {
  const { box } = faulty;
  const before = (await statusOf(box))?.booths[0]?.log.newest_seq ?? 0;
  box.sh(`touch ${flag}`);
  const slow = await untilBooth(box, "commits are slow", ({ log }) => (log.commit_ms ?? 0) >= SLOW_MS);
  await pollsGoOn(box, slow);
  box.sh(`rm ${flag}`);
  const quick = await untilBooth(box, "commits are quick again", ({ log }) => (log.commit_ms ?? SLOW_MS) < SLOW_MS);
  const wrong = leftOut(copyOfStore(box), before, quick.log.newest_seq);
  return enter(faulty, { row: 10, fault: "fsync takes 2 s, under systemd", injected: 1, wrong });
}

/** Others fill the state's disk, and again what the ballast left. */
export async function fullDisk(faulty: Faulty): Promise<Counted> {
  const { box } = faulty;
  box.try(`dd if=/dev/zero of=${STATE}/others bs=64k`);
  await untilBooth(box, "the ballast is given up", ({ log }) => log.storage?.health.low === true);
  box.try(`dd if=/dev/zero of=${STATE}/others-again bs=512`);
  const full = await untilBooth(box, "the disk is full", ({ log }) => log.trouble !== "");
  await pollsGoOn(box, full);
  box.sh(`rm ${STATE}/others*`);
  return enter(faulty, { row: 7, fault: "disk filled by others, twice, under systemd", injected: 2 });
}

/** The file system alone, as the kernel does after an error of the disk; not under a file that is open for writing. */
export async function readOnlyDisk(faulty: Faulty): Promise<Counted> {
  const { box } = faulty;
  box.sh(`systemctl stop ${UNIT} && mount -o remount,ro ${STATE} && mount -o remount,bind,rw ${STATE}`);
  box.sh(`systemctl start ${UNIT}`);
  const fixed = await untilBooth(box, "nothing can be written", ({ log }) => log.trouble !== "");
  if (!fixed.log.trouble.includes("the disk takes no writes")) throw new Error(fixed.log.trouble);
  await pollsGoOn(box, fixed);
  box.sh(`mount -o remount,rw ${STATE}`);
  return enter(faulty, { row: 9, fault: "read-only at a start by systemd", injected: 1 });
}
