import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Config } from "../config/port.ts";
import type { BoothState, LogReach } from "../domain/booth-state.ts";
import { mayBeWiped, type Wiped } from "../domain/provisioning.ts";
import { onAbort } from "../domain/signal.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Gateway } from "./gateway.ts";
import { wipe } from "./secrets.ts";

/** Stays behind alone, so that no service manager starts the agent anew as another gateway; the unit looks for it too. */
const MARK = "decommissioned";
/** Data, too large to be overwritten; everything else in the folder may hold a key, or what one can be made of. */
const DATA = /^(store|ballast)/;
/** The log of readings. */
const RECORDS = /^store/;

/** What the mark says, by what was wiped. The first line is read back by `markOf`. */
const MARK_TEXTS: Readonly<Record<Wiped, string>> = {
  all: "wiped: all\nThis gateway was decommissioned: its keys and data are wiped. Without this file the agent starts as a new one.\n",
  keys: "wiped: keys\nThis gateway was decommissioned: its keys are wiped. Its records are kept, because the service has not acknowledged all of them. Without this file the agent starts as a new gateway with these records.\n",
};

/** The mark that a gateway was taken out of service; null: there is none. A mark that a power cut left empty keeps the records. */
export function markOf({
  data_dir,
}: Pick<Config, "data_dir">): { readonly path: string; readonly wiped: Wiped } | null {
  const path = join(data_dir, MARK);
  if (!existsSync(path)) return null;
  return { path, wiped: readFileSync(path, "utf8").startsWith("wiped: all\n") ? "all" : "keys" };
}

/**
 * Wipes a gateway that is out of service: keys first, overwritten and deleted, then data. After a power cut the next call finishes the
 * work. Nobody may have the files open. Throws if a file can't be deleted.
 */
export function wipeState({ data_dir, runtime_dir }: Pick<Config, "data_dir" | "runtime_dir">, wiped: Wiped): void {
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

/** Tails, and how far outputs, notices and the month's data have come. */
function oursIn(runtime_dir: string, wiped: Wiped): string[] {
  const names = existsSync(runtime_dir) ? readdirSync(runtime_dir) : [];
  const ours = wiped === "all" ? /^(tail|standby|outputs|notice|traffic)/ : /^(standby|outputs|notice|traffic)/;
  return names.filter((name) => ours.test(name)).map((name) => join(runtime_dir, name));
}

interface LeavingBooth extends Pick<BoothState, "booth" | "binding"> {
  readonly log: { readonly reach: Pick<LogReach, "acked_seq"> };
}

/**
 * Returns what may be wiped; null: nothing. Every booth of the gateway must be out of service for good. Records are never wiped before
 * the service has acknowledged them.
 */
export function wipedOf(booths: readonly LeavingBooth[]): Wiped | null {
  if (booths.length === 0 || !booths.every(({ binding }) => mayBeWiped(binding.row))) return null;
  return booths.every(isAcknowledged) ? "all" : "keys";
}

function isAcknowledged({ binding, log }: LeavingBooth): boolean {
  return log.reach.acked_seq >= (binding.row.wipe?.last_seq ?? Infinity);
}

/** Whoever asked for it looks on meanwhile, and a serial number that was entered instead takes it back. */
const SHOWN_FOR_MS: Milliseconds = 5_000;

interface Leaving {
  /** Live. */
  readonly booths: readonly { readonly state: LeavingBooth }[];
  /** No configured booth is left out for its configuration. */
  readonly isWhole: () => boolean;
}

/** Waits until every booth is out of service for good, then reports that once, and waits for the end. */
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
