import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { wipe } from "./secrets.ts";

/** Stays behind alone, so that no service manager starts the agent anew as another gateway; the unit looks for it too. */
const MARK = "decommissioned";
/** Data, too large to be overwritten; everything else in the folder may hold a key, or what one can be made of. */
const DATA = /^(store|ballast)/;

export interface StateFolders {
  readonly data_dir: string;
  readonly runtime_dir: string;
}

/** The file that tells that a box was taken out of service; null: it wasn't. */
export function markOf({ data_dir }: Pick<StateFolders, "data_dir">): string | null {
  const path = join(data_dir, MARK);
  return existsSync(path) ? path : null;
}

/**
 * Keys first, overwritten and deleted; then data: what a power cut leaves is carried out when it is called again. Nobody may have
 * the files open. Throws where a file can't be deleted.
 */
export function wipeState({ data_dir, runtime_dir }: StateFolders): void {
  const text =
    "This gateway was decommissioned: its keys and data are wiped. Without this file the agent starts as a new one.\n";
  writeFileSync(join(data_dir, MARK), text, { mode: 0o600, flush: true });
  const files = readdirSync(data_dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(data_dir, join(entry.parentPath, entry.name)));
  for (const name of files.filter((one) => one !== MARK && !DATA.test(one))) {
    const byHand = wipe(join(data_dir, name));
    if (byHand !== null) throw new Error(byHand);
  }
  const left = readdirSync(data_dir).filter((name) => name !== MARK);
  for (const path of [...left.map((name) => join(data_dir, name)), ...tailsIn(runtime_dir)]) {
    rmSync(path, { recursive: true, force: true });
  }
}

function tailsIn(runtime_dir: string): string[] {
  const names = existsSync(runtime_dir) ? readdirSync(runtime_dir) : [];
  return names.filter((name) => /^(tail|standby)/.test(name)).map((name) => join(runtime_dir, name));
}
