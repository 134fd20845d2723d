import type { Parameters } from "../../../src/domain/parameters.ts";

const MIN_BRIDGE_MS = 15_000;

/** Returns the length up to which a gap continues the mode. */
export function bridgeMs(parameters: Parameters | undefined, group: string): number {
  const poll = parameters?.groups[group]?.poll_interval_ms ?? 0;
  return Math.max(3 * poll, MIN_BRIDGE_MS);
}

/** Returns the longest bridge of all groups. */
export function longestBridgeMs(all: readonly Parameters[]): number {
  const bridges = all.flatMap((parameters) =>
    Object.keys(parameters.groups).map((group) => bridgeMs(parameters, group)),
  );
  return Math.max(MIN_BRIDGE_MS, ...bridges);
}
