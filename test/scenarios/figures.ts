import { boothFigures } from "../../simulators/service/figures/booth.ts";
import { boothOveruse } from "../../simulators/service/figures/filters.ts";
import { runtimeMs, utilization as serviceUtilization } from "../../simulators/service/figures/summary.ts";
import type { CycleFact, Maintenance } from "../../src/domain/record.ts";
import type { Window } from "../../src/store/port.ts";
import { cyclesIn } from "../../src/reports/cycles.ts";
import { filterMaintenanceHistory } from "../../src/reports/filters.ts";
import { overuse } from "../../src/reports/overuse.ts";
import { runtime, utilization } from "../../src/reports/usage.ts";
import { revisionHistory } from "../../src/reports/findings.ts";
import { timeLineOf, type Source } from "../../src/reports/source.ts";
import { minutesOf } from "../../src/contract/time.ts";
import { gatewayFigures, serviceFigures, type Figures } from "../support/figures.ts";
import type { VirtualSite } from "../support/virtual-site.ts";

type Cycle = Omit<CycleFact["value"], "supersedes">;

/** All figures of gateway and service in the smallest common units. They must be equal to the last digit. */
export interface AllFigures extends Figures {
  readonly utilization_pct: number | null;
  readonly overtime_minutes: number;
  readonly runtime_ms: number;
  readonly cycles: readonly Cycle[];
  readonly overuse_ms: number;
  readonly overuse_cycles: number;
  readonly maintenance: readonly Maintenance[];
  /** item, version, revision, first seen, found at first contact. */
  readonly revisions: readonly (readonly unknown[])[];
}

function shownPct(pct: number | null): number | null {
  return pct === null ? null : Math.round(pct * 10_000) / 10_000;
}

function byRemoval(a: Maintenance, b: Maintenance): number {
  return a.removed_at - b.removed_at || (a.filter_type < b.filter_type ? -1 : 1);
}

/** Removes `assumed`, which the service's interface does not have. */
function asTheServiceHasIt(record: Maintenance & { readonly assumed: boolean }): Maintenance {
  const shown: Maintenance & { assumed?: boolean } = { ...record };
  delete shown.assumed;
  return shown;
}

export function allOfGateway(source: Source, window: Window): AllFigures {
  const use = utilization(source, window);
  const over = overuse(source, window);
  const history = revisionHistory(source);
  return {
    ...gatewayFigures(source, window),
    utilization_pct: shownPct(use.utilization_pct),
    overtime_minutes: minutesOf(use.overtime_ms),
    runtime_ms: runtime(source, window).runtime_ms,
    cycles: cyclesIn(source, timeLineOf(source, window)),
    overuse_ms: over.overuse_ms,
    overuse_cycles: over.overuse_cycles,
    maintenance: filterMaintenanceHistory(source, window).map(asTheServiceHasIt).toSorted(byRemoval),
    revisions: [...history.firmware_versions, ...history.program_versions].map((entry) =>
      entry.item === "firmware"
        ? ["firmware", entry.firmware_version, entry.first_seen_at, entry.initial]
        : ["program", entry.plc_program, entry.plc_program_revision, entry.first_seen_at, entry.initial],
    ),
  };
}

export function allOfService(site: VirtualSite, window: Window): AllFigures {
  const figures = boothFigures(site.service.db, "b-1", site.clock.truth());
  const facility = site.service.facility;
  const use = serviceUtilization(figures, facility, window);
  const over = boothOveruse(figures.filter_input, figures.installations, window);
  const { firmware, program } = figures.revisions;
  return {
    ...serviceFigures(site.service, window),
    utilization_pct: use["utilization_pct"] ?? null,
    overtime_minutes: use["overtime_minutes"] ?? NaN,
    runtime_ms: runtimeMs(figures, window),
    cycles: figures.cycles.filter(({ end }) => end >= window.start && end < window.end),
    overuse_ms: over.ms,
    overuse_cycles: over.cycles,
    maintenance: figures.maintenance
      .filter(({ removed_at }) => removed_at >= window.start && removed_at < window.end)
      .toSorted(byRemoval),
    revisions: [
      ...firmware.map(({ values, first_seen_at, initial }) => ["firmware", ...values, first_seen_at, initial]),
      ...program.map(({ values, first_seen_at, initial }) => ["program", ...values, first_seen_at, initial]),
    ],
  };
}

/** Returns the names of the figures that differ. */
export function differences(a: AllFigures, b: AllFigures): string[] {
  const names = Object.keys(a) as (keyof AllFigures)[];
  return names.filter((name) => ordered(a[name]) !== ordered(b[name]));
}

/** Writes JSON with sorted keys and without undefined. */
export function ordered(value: unknown): string {
  if (value === undefined) return "nothing";
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** Lists the differences of the figures, entry by entry, as readable lines. */
export function contrast(gateway: AllFigures, service: AllFigures): string[] {
  return differences(gateway, service).flatMap((name) => {
    const mine = entriesOf(gateway[name as keyof AllFigures]);
    const theirs = entriesOf(service[name as keyof AllFigures]);
    const keys = [...new Set([...mine.keys(), ...theirs.keys()])];
    return keys
      .filter((key) => ordered(mine.get(key)) !== ordered(theirs.get(key)))
      .map((key) => `${name} ${key}: gateway ${ordered(mine.get(key))}, service ${ordered(theirs.get(key))}`);
  });
}

function entriesOf(value: unknown): Map<string, unknown> {
  return new Map(typeof value === "object" && value !== null ? Object.entries(value) : [["", value]]);
}
