import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Milliseconds } from "../domain/units.ts";
import type { NoticeMachine } from "./port.ts";
import { emptyLedger, type Ledger } from "./rules/ledger.ts";

/** Where a notice's ledger outlives the process: a file on the tmpfs, written at each change, and the disk. */

export interface KeptLedger {
  readonly first: Ledger;
  /** Outlives a kill. */
  write(ledger: Ledger): void;
  /** Outlives a power cut. */
  save(ledger: Ledger): Promise<void>;
}

/** What is only looked through, not told, is saved so often: after a power cut it is looked through again. */
export const SAVE_MS: Milliseconds = 3_600_000;
/** Of another version nothing is taken over. */
const VERSION = 1;

export async function openLedger(
  { runtime_dir, identity, log }: Pick<NoticeMachine, "runtime_dir" | "identity" | "log">,
  name: string,
): Promise<KeptLedger> {
  const file = join(runtime_dir, `notice-${name}.json`);
  const row = `notice ${name}`;
  const first = inFile(file) ?? ledgerIn(await identity.kept(row)) ?? emptyLedger();
  let isTold = false;
  return {
    first,
    write(ledger) {
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        writeFileSync(`${file}.new`, JSON.stringify({ version: VERSION, ...ledger }), { mode: 0o600 });
        renameSync(`${file}.new`, file);
      } catch (error) {
        const text = `what notice ${name} has told can't be kept: after a kill some of it is told again`;
        if (!isTold) log.warn({ event: "notice_ledger", notice: name, error }, text);
        isTold = true;
      }
    },
    save: (ledger) => identity.keep(row, { version: VERSION, ...ledger }),
  };
}

function inFile(path: string): Ledger | null {
  try {
    return ledgerIn(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // None there, as after a power cut, or one that was cut short: the disk's counts.
    return null;
  }
}

/** We wrote it: of another version, or damaged, it is none. */
function ledgerIn(value: unknown): Ledger | null {
  if (typeof value !== "object" || value === null) return null;
  const { version, ...ledger } = value as { readonly version?: unknown } & Partial<Ledger>;
  const { cursors, open, until, waiting, cut, sent } = ledger;
  const isWhole =
    [cursors, open, until].every((part) => typeof part === "object") &&
    [waiting, sent].every(Array.isArray) &&
    typeof cut === "number";
  return version === VERSION && isWhole ? { ...emptyLedger(), ...ledger } : null;
}
