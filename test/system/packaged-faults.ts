import { cpSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { BoothStatus } from "../../src/domain/status.ts";
import type { Container } from "./container.ts";
import { recordFault } from "../support/faults.ts";
import { ownRecords } from "../support/store.ts";
import { heldBy, STATE, untilBooth } from "./packaged-site.ts";
import { copyOfStore } from "./packaged-store.ts";
import { accountsOf } from "./taken-witness.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** A packaged agent and its service for fault injection. */
export interface Faulty {
  readonly box: Container;
  /** The folder with the service's records. */
  readonly data: string;
}

/** Checks that the PLC's link is up and all records are stored and acked. */
export const isWell = ({ plc, log }: BoothStatus): boolean =>
  plc.kind === "up" && log.trouble === "" && log.acked_seq > 0 && log.acked_seq === log.newest_seq;

/** The minimum of answered polls during a fault. */
const SOME_POLLS = 3;

export function pollsGoOn(box: Container, since: BoothStatus): Promise<BoothStatus> {
  return untilBooth(box, "polls go on", ({ log }) => log.taken >= since.log.taken + SOME_POLLS);
}

/**
 * Counts the takes that are missing in the stream's log, the records that the service lacks, and the duplicates at the
 * service.
 */
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

/**
 * Counts the records and enters the fault in the matrix. Returns the expected result: nothing lost, doubled or wrong.
 */
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

/**
 * Positions in dpkg's status output about an upgrade: from the fourth on it unpacks files, and the eighth is its end.
 */
export const HALF_INSTALLED = 4;
export const UPGRADE_WORDS = 8;

/**
 * Starts the installation of a package and sends dpkg a signal at the nth line of its status output, so the moment
 * doesn't depend on the machine's speed. Returns that line; undefined if dpkg ended earlier.
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

/** Returns the gateway's key for the service. */
export function credentialOf(box: Container): string {
  // SQLite can't open a file through another process's root.
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
