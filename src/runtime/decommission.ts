import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Config } from "../config/port.ts";
import type { ProvisioningRow } from "../domain/provisioning.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { BoundBooth } from "../provisioning/context.ts";
import type { Gateway } from "./gateway.ts";
import { onAbort } from "../domain/signal.ts";
import { wipe } from "./secrets.ts";

/** Stays behind alone, so that no service manager starts the agent anew as another gateway; the unit looks for it too. */
const MARK = "decommissioned";
/** Data, too large to be overwritten; everything else in the folder may hold a key, or what one can be made of. */
const DATA = /^(store|ballast)/;

/** The file that tells that a box was taken out of service; null: it wasn't. */
export function markOf({ data_dir }: Pick<Config, "data_dir">): string | null {
  const path = join(data_dir, MARK);
  return existsSync(path) ? path : null;
}

/**
 * Keys first, overwritten and deleted; then data: what a power cut leaves is carried out when it is called again. Nobody may have
 * the files open. Throws where a file can't be deleted.
 */
export function wipeState({ data_dir, runtime_dir }: Pick<Config, "data_dir" | "runtime_dir">): void {
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
  for (const path of [...left.map((name) => join(data_dir, name)), ...oursIn(runtime_dir)]) {
    rmSync(path, { recursive: true, force: true });
  }
}

/** Tails, and how far outputs, notices and the month's data have come. */
function oursIn(runtime_dir: string): string[] {
  const names = existsSync(runtime_dir) ? readdirSync(runtime_dir) : [];
  return names
    .filter((name) => /^(tail|standby|outputs|notice|traffic)/.test(name))
    .map((name) => join(runtime_dir, name));
}

/**
 * Every booth of the box was taken out of service for good by somebody's word, and what it had recorded until then is
 * delivered. Where the service alone has ended a binding, its row tells that as its reason, and the box isn't asked to go.
 */
export function isOutOfService(rows: readonly Pick<ProvisioningRow, "state" | "reason">[]): boolean {
  return rows.length > 0 && rows.every(({ state, reason }) => state === "decommissioned" && reason === "");
}

/** Whoever asked for it looks on meanwhile, and a serial number that was entered instead takes it back. */
const SHOWN_FOR_MS: Milliseconds = 5_000;

interface Leaving {
  /** Live. */
  readonly booths: readonly Pick<BoundBooth, "binding">[];
  /** No configured booth is left out for its configuration. */
  readonly isWhole: () => boolean;
}

/** Waits until every booth is out of service for good, then reports that once, and waits for the end. */
export async function farewellLoop(
  { clock, log, news, outOfService }: Pick<Gateway, "clock" | "log" | "news" | "outOfService">,
  { booths, isWhole }: Leaving,
  signal: AbortSignal,
): Promise<void> {
  const isOver = (): boolean => isWhole() && isOutOfService(booths.map(({ binding }) => binding.row));
  do {
    while (!isOver()) await news.wait(signal);
    await clock.sleep(SHOWN_FOR_MS, signal);
  } while (!isOver());
  if (outOfService !== undefined) {
    log.warn({ event: "out_of_service" }, "every booth is decommissioned: keys and data are wiped, and the agent ends");
    outOfService();
  }
  await new Promise<void>((resolve) => void onAbort(signal, resolve));
}
