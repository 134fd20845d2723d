import type { FilterType } from "../../../src/core/types/booth.ts";
import type { Outcome } from "../outcome.ts";
import { contrast, type AllFigures } from "../../scenarios/figures.ts";

type Maintenance = AllFigures["maintenance"][number];

/** Times of a filter that each side reckons from its own count where a person entered the change. */
const RECKONED = ["booth_in_use_ms", "booth_overuse_ms", "overuse_ms", "active_spray_ms", "overuse_since"] as const;

/**
 * Gateway and service, each by its own derivation, have the same figures: times, starts, cycles, filter changes, revisions. Where a
 * filter's change was entered by hand the PLC's counter goes on from each side's own count of that moment: up to `reckoned_ms` apart.
 */
export function differingFigures(
  gateway: AllFigures,
  service: AllFigures,
  { reckoned_ms, apart }: { readonly reckoned_ms: number; readonly apart: readonly FilterType[] },
): readonly string[] {
  const near = (theirs: Maintenance, index: number): Maintenance => {
    const mine = gateway.maintenance[index];
    return mine !== undefined && RECKONED.every((name) => isNear(mine[name], theirs[name], reckoned_ms))
      ? { ...theirs, ...Object.fromEntries(RECKONED.map((name) => [name, mine[name]])) }
      : theirs;
  };
  const told = ({ overuse_ms, overuse_cycles, maintenance, ...rest }: AllFigures): AllFigures => ({
    ...rest,
    ...(apart.length === 0 ? { overuse_ms, overuse_cycles } : { overuse_ms: 0, overuse_cycles: 0 }),
    maintenance: maintenance.filter(({ filter_type }) => !apart.includes(filter_type)),
  });
  return contrast(told(gateway), told({ ...service, maintenance: service.maintenance.map(near) }));
}

/** A PLC's reset this soon after a person's entry is the same change. */
const SAME_CHANGE_MS = 12 * 3_600_000;
/** Until polls go on after a silence. */
const SETTLE_MS = 120_000;

/**
 * Filters of which the two sides are known to differ, since the agent goes forward and the service looks back: those whose change was
 * entered in a silence, which the agent doesn't count for the new filter, or entered and within 12 h shown by the PLC, where it doesn't
 * see that the old one had reached its limit meanwhile.
 */
export function knownApart({ spans, truth }: Pick<Outcome, "spans" | "truth">): readonly FilterType[] {
  const silences = [...truth.outages, ...spans.filter(({ fault }) => SILENT.includes(fault.kind))];
  return spans.flatMap(({ fault, start }) => {
    if (fault.kind !== "entry") return [];
    const isSilent = silences.some((one) => one.start < start && start < one.end + SETTLE_MS);
    const isShown = (truth.filters[fault.filter] ?? []).some(
      ({ installed_at }) => installed_at > start && installed_at - start <= SAME_CHANGE_MS,
    );
    return isSilent || isShown ? [fault.filter] : [];
  });
}

const SILENT: readonly string[] = ["plc", "cable", "plc_power", "kill", "restart", "reboot", "power_cut", "bad_bit"];

function isNear(mine: number | null, theirs: number | null, within: number): boolean {
  return mine === theirs || (mine !== null && theirs !== null && Math.abs(mine - theirs) <= within);
}
