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

/** A packaged agent with its service, that faults are brought about in. */
export interface Faulty {
  readonly box: Container;
  /** Where the service keeps its records. */
  readonly data: string;
}

/** All is stored and delivered. */
export const isWell = ({ plc, log }: BoothStatus): boolean =>
  plc.kind === "up" && log.trouble === "" && log.acked_seq > 0 && log.acked_seq === log.newest_seq;

/** Polls that must have been answered while something is wrong. */
const SOME_POLLS = 3;

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
