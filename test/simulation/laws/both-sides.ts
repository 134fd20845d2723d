import { contrast, type AllFigures } from "../../scenarios/figures.ts";

type Maintenance = AllFigures["maintenance"][number];

/** Times of a filter that each side reckons from its own count where a person entered the change. */
const RECKONED = ["booth_in_use_ms", "booth_overuse_ms", "overuse_ms", "active_spray_ms", "overuse_since"] as const;

/**
 * Gateway and service, each by its own derivation, have the same figures: times, starts, cycles, filter changes, revisions. Where a
 * filter's change was entered by hand the PLC's counter goes on from each side's own count of that moment: up to `reckoned_ms` apart.
 */
export function differingFigures(gateway: AllFigures, service: AllFigures, reckoned_ms: number): readonly string[] {
  const near = (theirs: Maintenance, index: number): Maintenance => {
    const mine = gateway.maintenance[index];
    return mine !== undefined && RECKONED.every((name) => isNear(mine[name], theirs[name], reckoned_ms))
      ? { ...theirs, ...Object.fromEntries(RECKONED.map((name) => [name, mine[name]])) }
      : theirs;
  };
  return contrast(gateway, { ...service, maintenance: service.maintenance.map(near) });
}

function isNear(mine: number | null, theirs: number | null, within: number): boolean {
  return mine === theirs || (mine !== null && theirs !== null && Math.abs(mine - theirs) <= within);
}
