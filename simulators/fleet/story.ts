import { seededSequence } from "../network/faults.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

/** A fault of one gateway, or of all. Times are the fleet's own, in ms since its start. */
export type FleetEvent =
  | { readonly at: number; readonly kind: "offline"; readonly gateway: number; readonly for_ms: number }
  | { readonly at: number; readonly kind: "outage"; readonly for_ms: number }
  | { readonly at: number; readonly kind: "clock"; readonly gateway: number; readonly off_ms: number }
  | { readonly at: number; readonly kind: "duplicates" | "fork"; readonly gateway: number; readonly commits: number }
  | { readonly at: number; readonly kind: "replaced" | "slow"; readonly gateway: number };

export type FaultKind = FleetEvent["kind"];

/** Share of the gateways for each fault, which occurs once per story. Every kind affects at least one gateway. */
const PARTS = { offline: 0.1, clock: 0.02, duplicates: 0.05, fork: 0.02, replaced: 0.01, slow: 0.02 } as const;
/** Largest clock error in both directions. A larger error is not a fault of a running clock. */
const CLOCK_OFF_MS = 24 * HOUR_MS;
/** Maximum number of commits that are sent twice, or that an old copy of the store lacks. */
const COMMITS_BACK = 30;

interface StoryOptions {
  readonly seed: number;
  readonly gateways: number;
  readonly length_ms: number;
  /** Length of the common outage of all gateways in the middle of the story; 0: none. */
  readonly outage_ms: number;
}

/**
 * Returns the faults of a fleet for a seed, in order of time. The last fifth of the story has none. A gateway is
 * offline for a twentieth to a half of the story. No gateway has two of the faults that restart its log or replace
 * its box.
 */
export function storyOf({ seed, gateways, length_ms, outage_ms }: StoryOptions): readonly FleetEvent[] {
  const next = seededSequence(seed);
  const below = (limit: number): number => Math.floor(next() * limit);
  const at = (): number => Math.floor((0.1 + 0.6 * next()) * length_ms);
  const all = shuffled(gateways, below);
  const taken = { count: 0 };
  /** Draws different gateways, as long as there are enough. */
  const some = (part: number): readonly number[] => {
    const count = Math.min(gateways, Math.max(1, Math.round(gateways * part)));
    const from = taken.count;
    taken.count += count;
    return Array.from({ length: count }, (_, index) => all[(from + index) % gateways] ?? 0);
  };
  const commits = () => ({ commits: 1 + below(COMMITS_BACK) });
  const events: FleetEvent[] = [
    ...some(PARTS.fork).map((gateway) => ({ at: at(), kind: "fork", gateway, ...commits() }) as const),
    ...some(PARTS.replaced).map((gateway) => ({ at: at(), kind: "replaced", gateway }) as const),
    ...some(PARTS.slow).map((gateway) => ({ at: at(), kind: "slow", gateway }) as const),
    ...some(PARTS.clock).map(
      (gateway) => ({ at: at(), kind: "clock", gateway, off_ms: below(2 * CLOCK_OFF_MS) - CLOCK_OFF_MS }) as const,
    ),
    ...some(PARTS.duplicates).map((gateway) => ({ at: at(), kind: "duplicates", gateway, ...commits() }) as const),
    ...some(PARTS.offline).map((gateway) => {
      const begin = at();
      const for_ms = Math.min(0.8 * length_ms - begin, Math.floor((0.05 + 0.45 * next()) * length_ms));
      return { at: begin, kind: "offline", gateway, for_ms } as const;
    }),
  ];
  if (outage_ms > 0)
    events.push({ at: Math.floor(0.4 * Math.max(0, length_ms - outage_ms)), kind: "outage", for_ms: outage_ms });
  return events.sort((one, other) => one.at - other.at);
}

function shuffled(count: number, below: (limit: number) => number): readonly number[] {
  const all = Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last -= 1) {
    const other = below(last + 1);
    [all[last], all[other]] = [all[other] ?? 0, all[last] ?? 0];
  }
  return all;
}
