import type { LinkStatus } from "./status.ts";
import type { BoothSummary } from "./summary.ts";
import type { EpochMs, Milliseconds } from "./units.ts";

export type ConnectivityStatus = "Active" | "Idle" | "Offline";

/**
 * Active: a good reading younger than max(60 s, 3 x commit time), mode neither off nor idle. Idle: anything else while this
 * agent lives. Offline is the service's to say: it misses the heartbeat.
 */
export function connectivityOf(
  booth: { readonly summary: BoothSummary | null; readonly plc: LinkStatus },
  now: EpochMs,
  commit_interval_ms: Milliseconds,
): ConnectivityStatus {
  const { summary } = booth;
  if (summary === null || summary.last_good_at === null || summary.in_gap) return "Idle";
  const isFresh = now - summary.last_good_at < Math.max(60_000, 3 * commit_interval_ms);
  return isFresh && summary.mode !== "off" && summary.mode !== "idle" ? "Active" : "Idle";
}
