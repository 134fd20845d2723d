import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { BoothStatus } from "../../src/core/types/status.ts";
import type { EpochMs, Seq } from "../../src/core/types/units.ts";
import type { Container } from "./container.ts";
import { recordFault } from "./faults.ts";
import { ownRecords } from "./own-records.ts";
import { heldBy, UNIT, untilBooth } from "./packaged-site.ts";
import { accountsOf } from "./taken-witness.ts";
import { temporaryFolder } from "./temporary.ts";

/** A packaged agent with its service, that faults are brought about in. */
export interface Faulty {
  readonly box: Container;
  /** Where the service keeps its records. */
  readonly data: string;
}

export const STATE = "/var/lib/booth-gateway";
const DROP_INS = `/etc/systemd/system/${UNIT}.d`;
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
const LIBRARIES = "/usr/local/lib";
/** Polled each second: a loop that waits for a disk of 2 s would leave 3 s at least. */
const FAST_GROUP = "fast";
const LONGEST_INTERVAL_MS = 2_500;

/** All is stored and delivered. */
export const isWell = ({ plc, log }: BoothStatus): boolean =>
  plc.kind === "up" && log.trouble === "" && log.acked_seq > 0 && log.acked_seq === log.newest_seq;

/** Takes that the stream's log doesn't account for, records that the service misses of it, and what stands there twice. */
export async function countAll({ box, data }: Faulty): Promise<{ readonly lost: number; readonly doubled: number }> {
  const { log, stream } = await untilBooth(box, "all is delivered", isWell);
  const { records, last_take } = ownRecords(copyOfStore(box));
  const { takes, doubled } = accountsOf(records);
  const there = heldBy(data, stream);
  const missing = there.last - there.records + Math.max(0, log.acked_seq - there.last);
  return { lost: last_take - takes + missing, doubled };
}

/** A folder of ours with the store as it is now. */
export function copyOfStore(box: Container): string {
  box.sh("rm -rf /root/backup && mkdir /root/backup && booth-gateway store backup /root/backup/store.db");
  const folder = join(temporaryFolder(), "backup");
  cpSync(box.inside("/root/backup"), folder, { recursive: true });
  return folder;
}

/** Stretches of the fast group's polls, in the log from one seq to another, in which a poll was left out. */
export function leftOut(folder: string, from: Seq, to: Seq): number {
  const coverage = ownRecords(folder).records.filter(({ seq }) => seq >= from && seq <= to);
  return coverage.filter(
    ({ kind, tag, value }) => kind === "h" && tag === FAST_GROUP && value.max_interval_ms > LONGEST_INTERVAL_MS,
  ).length;
}

/** Counts, and enters the fault. Gives what is to be expected: nothing lost, nothing doubled, nothing wrong. */
export async function enter(
  faulty: Faulty,
  fault: { readonly row: number; readonly fault: string; readonly injected: number; readonly wrong?: number },
): Promise<{ readonly lost: number; readonly doubled: number; readonly wrong: number }> {
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

/** Files of the store, gone as if somebody had removed them. */
export function removeStore(box: Container): number {
  const files = readdirSync(box.inside(STATE)).filter((name) => name.startsWith("store.db"));
  for (const name of files) rmSync(join(box.inside(STATE), name));
  return files.length;
}

/**
 * From the next start on the agent finds another boot, and a wall clock that a file sets; elapsed time goes on. `time` as
 * faketime understands it: @INSTANT or +SECONDS.
 */
export function wrongClock(box: Container, time: string): { set(to: string): void; end(): void } {
  const library = putLibrary(box, { file: FAKETIME });
  const [file, boot] = [`${LIBRARIES}/time`, `${LIBRARIES}/boot_id`];
  const set = (to: string): void => writeFileSync(box.inside(file), `${to}\n`);
  set(time);
  writeFileSync(box.inside(boot), `${randomUUID()}\n`);
  const how = `FAKETIME_TIMESTAMP_FILE=${file} FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_CACHE_DURATION=1`;
  const end = dropIn(
    box,
    `BindReadOnlyPaths=${boot}:/proc/sys/kernel/random/boot_id\nEnvironment=LD_PRELOAD=${library} ${how}`,
  );
  return { set, end };
}

/** Records of the stream that the service has put before that instant. */
export function heldBefore(data: string, stream: string, instant: EpochMs): number {
  const db = new Database(join(data, "service.db"), { readonly: true });
  try {
    const sql = `SELECT count(*) AS early FROM records JOIN streams ON id = stream_no WHERE stream_id = ? AND time < ?`;
    return db.prepare<[string, number], { early: number }>(sql).get(stream, instant)?.early ?? 0;
  } finally {
    db.close();
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

/** Does something with the store while the agent is stopped, in a folder of ours, and puts it back. The agent runs on. */
export function onStoppedStore(box: Container, change: (folder: string) => void): void {
  box.sh(`systemctl stop ${UNIT}`);
  const folder = temporaryFolder();
  const [theirs, ours] = [join(box.inside(STATE), "store.db"), join(folder, "store.db")];
  cpSync(theirs, ours);
  change(folder);
  // Its owner stays.
  writeFileSync(theirs, readFileSync(ours));
  box.sh(`systemctl start --no-block ${UNIT}`);
}

/** Carries the statements out in the folder's store. */
export function inStore(folder: string, statements: readonly string[]): void {
  const db = new Database(join(folder, "store.db"));
  for (const statement of statements) db.exec(statement);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}
