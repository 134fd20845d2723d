import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HOUR_MS } from "../domain/time.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { NoticeMachine } from "./port.ts";
import { emptyLedger, type Ledger } from "./rules/ledger.ts";

/** A notice's ledger outside the process: a file on the tmpfs, written at each change, and a copy on the disk. */
export interface KeptLedger {
  /** The ledger as the last process left it. */
  readonly first: Ledger;
  /** Writes the file, which survives a kill. */
  write(ledger: Ledger): void;
  /** Saves to the disk, which survives a power cut. */
  save(ledger: Ledger): Promise<void>;
}

/** Interval of saves when no message was sent: after a power cut, records since the last save are looked through again. */
export const SAVE_MS: Milliseconds = HOUR_MS;
/** A ledger of another version is ignored. */
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
    // Missing after a power cut, or truncated: the copy on the disk is used.
    return null;
  }
}

function ledgerIn(value: unknown): Ledger | null {
  const { version, ...ledger } = (value ?? {}) as { readonly version?: unknown } & Partial<Ledger>;
  return version === VERSION ? { ...emptyLedger(), ...ledger } : null;
}
