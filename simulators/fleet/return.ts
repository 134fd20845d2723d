import { setTimeout as sleep } from "node:timers/promises";
import type { VirtualGateway } from "./gateway.ts";
import type { Meter } from "./meter.ts";

/**
 * The return of a fleet after a common outage: real seconds since the connection was restored; null: not reached by the
 * end.
 */
export interface Returned {
  /** Number of records that waited at that moment. */
  readonly waited: number;
  readonly half_connected_s: number | null;
  readonly all_connected_s: number | null;
  /** Time until all waiting records were acked. Later records don't count. */
  readonly drained_s: number | null;
  /** Maximum number of connection attempts in a second, including failed ones, which jitter reduces. */
  readonly most_tries_per_s: number;
}

const LOOK_MS = 1_000;

/** Watches until all gateways are back and the waiting records are acked, or the time is over. */
export async function watchReturn(
  { gateways, meter }: { readonly gateways: readonly VirtualGateway[]; readonly meter: Meter },
  within_ms: number,
  signal: AbortSignal,
): Promise<Returned> {
  const left = new Map(
    gateways.flatMap(({ booths }) => booths.map((booth) => [booth, booth.state.log.reach.newest_seq] as const)),
  );
  const waited = Array.from(left, ([{ state }, newest]) => newest - state.log.reach.acked_seq);
  const begun = performance.now();
  const found = { half_connected_s: null as number | null, all_connected_s: null as number | null, most: 0 };
  const triesOf = (): number => meter.sessions + meter.failed_connects;
  let tries = triesOf();
  let drained_s = null as number | null;
  while (!signal.aborted && performance.now() - begun < within_ms) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    const passed_s = Math.round((performance.now() - begun) / 100) / 10;
    found.most = Math.max(found.most, triesOf() - tries);
    tries = triesOf();
    if (meter.connected >= gateways.length / 2) found.half_connected_s ??= passed_s;
    if (meter.connected >= gateways.length) found.all_connected_s ??= passed_s;
    for (const [booth, newest] of left) if (booth.state.log.reach.acked_seq >= newest) left.delete(booth);
    if (left.size === 0) drained_s ??= passed_s;
    if (drained_s !== null && found.all_connected_s !== null) break;
  }
  const { most, ...connected } = found;
  return { waited: waited.reduce((sum, one) => sum + one, 0), ...connected, drained_s, most_tries_per_s: most };
}
