import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { BoothStatus } from "../../src/domain/status.ts";
import type { Container } from "./container.ts";
import { recordFault } from "../support/faults.ts";
import { ownRecords } from "../support/store.ts";
import { heldBy, setConfig, STATE, UNIT, untilBooth, statusOf } from "./packaged-site.ts";
import { copyOfStore, leftOut } from "./packaged-store.ts";
import { accountsOf } from "./taken-witness.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority } from "../support/tls-files.ts";

/** A packaged agent with its service, that faults are brought about in. */
export interface Faulty {
  readonly box: Container;
  /** Where the service keeps its records. */
  readonly data: string;
}

const DROP_INS = `/etc/systemd/system/${UNIT}.d`;
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
const LIBRARIES = "/usr/local/lib";

/** All is stored and delivered. */
export const isWell = ({ plc, log }: BoothStatus): boolean =>
  plc.kind === "up" && log.trouble === "" && log.acked_seq > 0 && log.acked_seq === log.newest_seq;

/** Polls that must have been answered while something is wrong. */
export const SOME_POLLS = 3;

export function pollsGoOn(box: Container, since: BoothStatus): Promise<BoothStatus> {
  return untilBooth(box, "polls go on", ({ log }) => log.taken >= since.log.taken + SOME_POLLS);
}

/** Takes that the stream's log doesn't account for, records that the service misses of it, and what stands there twice. */
export async function countAll({ box, data }: Faulty): Promise<{ readonly lost: number; readonly doubled: number }> {
  const { log, stream } = await untilBooth(box, "all is delivered", isWell);
  const { records, last_take } = ownRecords(copyOfStore(box));
  const { takes, doubled } = accountsOf(records);
  const there = heldBy(data, stream);
  const missing = there.last - there.records + Math.max(0, log.acked_seq - there.last);
  return { lost: last_take - takes + missing, doubled };
}

export interface Counted {
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
}

/** Counts, and enters the fault. Gives what is to be expected: nothing lost, nothing doubled, nothing wrong. */
export async function enter(
  faulty: Faulty,
  fault: { readonly row: number; readonly fault: string; readonly injected: number; readonly wrong?: number },
): Promise<Counted> {
  const { lost, doubled } = await countAll(faulty);
  const wrong = fault.wrong ?? 0;
  recordFault({ ...fault, wrong, lost, doubled, passed: lost + doubled + wrong === 0 });
  return { lost, doubled, wrong };
}

export const NOTHING = { lost: 0, doubled: 0, wrong: 0 };

/** Settings of the unit beside the package's own, until they are taken away. They count from the next start on. */
export function dropIn(box: Container, settings: string): () => void {
  mkdirSync(box.inside(DROP_INS), { recursive: true });
  writeFileSync(box.inside(`${DROP_INS}/fault.conf`), `[Service]\n${settings}\n`);
  box.sh("systemctl daemon-reload");
  return () => void box.sh(`rm -r ${DROP_INS} && systemctl daemon-reload`);
}

/** Of dpkg's words about an upgrade: from the fourth on files are unpacked, with the eighth it is over. */
export const HALF_INSTALLED = 4;
export const UPGRADE_WORDS = 8;

/**
 * Begins the installation of a package and, at dpkg's own nth word about it, sends it a signal: however fast the machine is, it is in the midst of it then.
 * Gives that word; undefined: it ended before.
 */
export function signalledAt(
  box: Container,
  file: string,
  { signal, nth }: { readonly signal: "KILL" | "STOP"; readonly nth: number },
): string | undefined {
  const words = "/run/dpkg-words";
  const script = `rm -f ${words} && mkfifo ${words}
    dpkg --status-fd 9 -i ${file} 9>${words} >/dev/null 2>&1 &
    n=0; while read -r word; do
      n=$((n + 1)); [ $n -lt ${nth} ] || { kill -${signal} $! && echo "$word"; break; }
    done <${words}
    [ ${signal} = STOP ] || wait; rm ${words}`;
  const word = box.sh(script).trim();
  return word === "" ? undefined : word;
}

/** Puts a library there that takes the place of calls of the C library. */
export function putLibrary(box: Container, source: { readonly c: string } | { readonly file: string }): string {
  const name = "c" in source ? "fault.so" : source.file.slice(source.file.lastIndexOf("/") + 1);
  const to = box.inside(`${LIBRARIES}/${name}`);
  if ("c" in source) execFileSync("cc", ["-shared", "-fPIC", "-o", to, source.c, "-ldl"]);
  else cpSync(source.file, to);
  return `${LIBRARIES}/${name}`;
}

/** The agent's state on a small disk of its own, until it is put back. The agent must be stopped for both. */
export function smallState(box: Container, megabytes: number): () => void {
  box.sh(`mv ${STATE} ${STATE}.kept && mkdir ${STATE} && mount -t tmpfs -o size=${megabytes}m tmpfs ${STATE}`);
  box.sh(`cp -a ${STATE}.kept/. ${STATE} && chown --reference=${STATE}.kept ${STATE} && chmod 700 ${STATE}`);
  return () => {
    box.sh(`rm -rf ${STATE}.kept && cp -a ${STATE} ${STATE}.kept && umount ${STATE}`);
    box.sh(`rmdir ${STATE} && mv ${STATE}.kept ${STATE}`);
  };
}

/** Settings under which the agent finds another boot: what a container has of its own in /proc a unit's own view of it hides. */
export function anotherBoot(box: Container): string {
  const boot = `${LIBRARIES}/boot_id`;
  writeFileSync(box.inside(boot), `${randomUUID()}\n`);
  return `BindReadOnlyPaths=${boot}:/proc/sys/kernel/random/boot_id`;
}

/**
 * From the next start on the agent finds another boot, and a wall clock that a file sets; elapsed time goes on. `time` as
 * faketime understands it: @INSTANT or +SECONDS.
 */
export function wrongClock(box: Container, time: string): { set(to: string): void; end(): void } {
  const library = putLibrary(box, { file: FAKETIME });
  const file = `${LIBRARIES}/time`;
  const set = (to: string): void => writeFileSync(box.inside(file), `${to}\n`);
  set(time);
  const how = `FAKETIME_TIMESTAMP_FILE=${file} FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_CACHE_DURATION=1`;
  const end = dropIn(box, `${anotherBoot(box)}\nEnvironment=LD_PRELOAD=${library} ${how}`);
  return { set, end };
}

/** A certificate of the gateway's that ends in that many days, with its key, in the configuration from the next start on. */
export function putClientCertificate(box: Container, days: number): void {
  const issued = testAuthority(temporaryFolder(), "clients").issue("gateway", { days });
  for (const [setting, file] of [
    ["client_certificate_file", issued.cert],
    ["client_key_file", issued.key],
  ] as const) {
    const path = `/etc/booth-gateway/${setting}.pem`;
    cpSync(file, box.inside(path));
    box.sh(`chown booth-gateway ${path} && chmod 600 ${path}`);
    setConfig(box, ["service", setting], path);
  }
}

/** The gateway's own key at the service. */
export function credentialOf(box: Container): string {
  // SQLite doesn't open through another process's root.
  const folder = temporaryFolder();
  cpSync(box.inside(STATE), folder, { recursive: true });
  const db = new Database(join(folder, "identity.db"));
  try {
    const { credential } = db.prepare<[], { credential: string }>("SELECT credential FROM gateway").get() ?? {};
    if (credential === undefined) throw new Error("the gateway has no key of its own");
    return credential;
  } finally {
    db.close();
  }
}

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
