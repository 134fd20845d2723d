import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HOUR_MS } from "../domain/time.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { NoticeMachine } from "./port.ts";
import { emptyLedger, type Ledger } from "./rules/ledger.ts";

/** The stored ledger of a notice: a file on the tmpfs, written at each change, and a copy on the disk. */
export interface KeptLedger {
  /** The ledger as the last process left it. */
  readonly first: Ledger;
  /** Writes the ledger to the tmpfs file, which survives a kill. */
  write(ledger: Ledger): void;
  /** Saves the ledger to the disk, where it survives a power cut. */
  save(ledger: Ledger): Promise<void>;
}

/** The interval of saves while no message is sent. After a power cut, the records since the last save are examined again. */
export const SAVE_MS: Milliseconds = HOUR_MS;
/** The version of the stored ledger. A ledger of another version is ignored. */
const VERSION = 1;

export async function openLedger(
  { runtime_dir, identity, log }: Pick<NoticeMachine, "runtime_dir" | "identity" | "log">,
  name: string,
): Promise<KeptLedger> {
  const file = join(runtime_dir, `notice-${name}.json`);
  const row = `notice ${name}`;
  let isReported = false;
  return {
    first: inFile(file) ?? ledgerIn(await identity.kept(row)) ?? emptyLedger(),
    write(ledger) {
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        writeFileSync(`${file}.new`, JSON.stringify({ version: VERSION, ...ledger }), { mode: 0o600 });
        renameSync(`${file}.new`, file);
      } catch (error) {
        const text = `what notice ${name} has told can't be kept: after a kill some of it is told again`;
        if (!isReported) log.warn({ event: "notice_ledger", notice: name, error }, text);
        isReported = true;
      }
    },
    save: (ledger) => identity.keep(row, { version: VERSION, ...ledger }),
  };
}

function inFile(path: string): Ledger | null {
  try {
    return ledgerIn(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // Uses the copy on the disk if the file is missing after a power cut, or truncated.
    return null;
  }
}

function ledgerIn(value: unknown): Ledger | null {
  const { version, ...ledger } = (value ?? {}) as { readonly version?: unknown } & Partial<Ledger>;
  return version === VERSION ? { ...emptyLedger(), ...ledger } : null;
}
