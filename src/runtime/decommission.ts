import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Config } from "../config/port.ts";
import type { BoothState, LogReach } from "../domain/booth-state.ts";
import { mayBeWiped, type Wiped } from "../domain/provisioning.ts";
import { onAbort } from "../domain/signal.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Gateway } from "./gateway.ts";
import { wipe } from "./secrets.ts";

type Folders = Pick<Config, "data_dir" | "runtime_dir">;

/** Name of a file that remains after a wipe. The file keeps both the agent and its systemd unit from starting as a new gateway. */
const MARK = "decommissioned";
/** Names of data files, which are too large to overwrite. Any other file may contain a key or parts of one. */
const DATA = /^(store|ballast)/;
/** Names of the files that contain the log of readings. */
const RECORDS = /^store/;

/** Text of the file that remains after a wipe, by the kind of data that was wiped. `markOf` parses its first line. */
const MARK_TEXTS: Readonly<Record<Wiped, string>> = {
  all: "wiped: all\nThis gateway was decommissioned: its keys and data are wiped. Without this file the agent starts as a new one.\n",
  keys: "wiped: keys\nThis gateway was decommissioned: its keys are wiped. Its records are kept, because the service has not acknowledged all of them. Without this file the agent starts as a new gateway with these records.\n",
};

/**
 * Returns the file that marks this gateway as decommissioned, or null. If a power cut left the file empty, only the keys count as wiped, so
 * that the records are kept.
 */
export function markOf({ data_dir }: Folders): { readonly path: string; readonly wiped: Wiped } | null {
  const path = join(data_dir, MARK);
  if (!existsSync(path)) return null;
  return { path, wiped: readFileSync(path, "utf8").startsWith("wiped: all\n") ? "all" : "keys" };
}

/**
 * Wipes a decommissioned gateway. Keys are overwritten and deleted first, then the data is deleted. After a power cut, the next call
 * completes the work. All files must be closed. Throws if a file can't be deleted.
 */
export function wipeState({ data_dir, runtime_dir }: Folders, wiped: Wiped): void {
  writeFileSync(join(data_dir, MARK), MARK_TEXTS[wiped], { mode: 0o600, flush: true });
  const files = readdirSync(data_dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(data_dir, join(entry.parentPath, entry.name)));
  for (const name of files.filter((one) => one !== MARK && !DATA.test(one))) {
    const byHand = wipe(join(data_dir, name));
    if (byHand !== null) throw new Error(byHand);
  }
  const isKept = (name: string): boolean => name === MARK || (wiped === "keys" && RECORDS.test(name));
  const left = readdirSync(data_dir).filter((name) => !isKept(name));
  for (const path of [...left.map((name) => join(data_dir, name)), ...oursIn(runtime_dir, wiped)]) {
    rmSync(path, { recursive: true, force: true });
  }
}

/** Returns the files to delete in the runtime folder: cursors, counts and copies, and the tail file if the records are wiped. */
function oursIn(runtime_dir: string, wiped: Wiped): string[] {
  const names = existsSync(runtime_dir) ? readdirSync(runtime_dir) : [];
  const ours = wiped === "all" ? /^(tail|standby|outputs|notice|traffic)/ : /^(standby|outputs|notice|traffic)/;
  return names.filter((name) => ours.test(name)).map((name) => join(runtime_dir, name));
}

interface LeavingBooth extends Pick<BoothState, "booth" | "binding"> {
  readonly log: { readonly reach: Pick<LogReach, "acked_seq"> };
}

/**
 * Returns which data may be wiped; null: no data. Every booth of the gateway must be permanently out of service. Records are never wiped
 * before the service has acknowledged them.
 */
export function wipedOf(booths: readonly LeavingBooth[]): Wiped | null {
  if (booths.length === 0 || !booths.every(({ binding }) => mayBeWiped(binding.row))) return null;
  return booths.every(isAcknowledged) ? "all" : "keys";
}

function isAcknowledged({ binding, log }: LeavingBooth): boolean {
  return log.reach.acked_seq >= (binding.row.wipe?.last_seq ?? Infinity);
}

/** Delay before the wipe. During it, the page shows the state, and entering a serial number cancels the wipe. */
const SHOWN_FOR_MS: Milliseconds = 5_000;

interface Leaving {
  /** All booths of the gateway. The array is changed in place. */
  readonly booths: readonly { readonly state: LeavingBooth }[];
  /** Returns whether every configured booth is running. */
  readonly isWhole: () => boolean;
}

/** Waits until every booth is permanently out of service, reports this once, and then waits for the abort. */
export async function farewellLoop(
  { clock, log, news, outOfService }: Pick<Gateway, "clock" | "log" | "news" | "outOfService">,
  { booths, isWhole }: Leaving,
  signal: AbortSignal,
): Promise<void> {
  const wiped = (): Wiped | null => (isWhole() ? wipedOf(booths.map(({ state }) => state)) : null);
  do {
    while (wiped() === null) await news.wait(signal);
    await clock.sleep(SHOWN_FOR_MS, signal);
  } while (wiped() === null);
  const what = wiped() ?? "keys";
  if (outOfService !== undefined) {
    const kept = booths.filter(({ state }) => !isAcknowledged(state)).map(({ state }) => state.booth);
    const text =
      what === "all"
        ? "every booth is decommissioned: keys and data are wiped, and the agent ends"
        : `every booth is decommissioned: keys are wiped, and the agent ends; the records stay, because the service has not acknowledged all of ${kept.join(", ")}`;
    log.warn({ event: "out_of_service", wiped: what }, text);
    outOfService(what);
  }
  await new Promise<void>((resolve) => void onAbort(signal, resolve));
}
