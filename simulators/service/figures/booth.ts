import type { ModeSets } from "../../../src/domain/booth.ts";
import type { Maintenance } from "../../../src/domain/record.ts";
import { type Db, rows } from "../storage/db.ts";
import { uniteBays } from "./bays.ts";
import { type Booking, bookings } from "./counters.ts";
import { type Estimate, estimatesOf } from "./estimates.ts";
import { type Cycle, cyclesOf } from "./cycles.ts";
import { type FilterInput, findInstallations, type Installation, maintenanceOf } from "./filters.ts";
import type { Count } from "./overuse.ts";
import { stagesAt, type Timeline, timelineOf } from "./intervals.ts";
import type { Stage } from "./stage.ts";
import { type BoothLog, loadLog, parametersAt, tagsOfRole } from "./log.ts";
import { findRestarts, type Restarts } from "./restarts.ts";
import { findRevisions, type Revisions } from "./revisions.ts";

const DEFAULT_SETS: ModeSets = {
  in_use: ["spray", "flash", "purge", "bake"],
  run: ["spray", "flash", "purge", "bake", "cool_down"],
  runtime: ["spray", "flash", "purge", "bake", "cool_down"],
};

/** Figures that stay the same until a new record arrives. */
interface Computed {
  readonly version: string;
  readonly log: BoothLog;
  readonly restarts: Restarts;
  readonly timelines: readonly Timeline[];
  readonly revisions: Revisions;
  /** The mode sets that define runs and cycles. */
  readonly sets: ModeSets;
  readonly plc_cycles: readonly Booking[] | undefined;
  readonly gas: readonly Booking[];
  readonly kwh: readonly Booking[];
  readonly estimates: { readonly gas: Estimate; readonly kwh: Estimate };
}

/** The data of all reports at one instant. */
export interface BoothFigures {
  readonly now: number;
  readonly log: BoothLog;
  readonly stages: readonly Stage[];
  readonly cycles: readonly Cycle[];
  /** Increases of the PLC's cycle counter, which is authoritative if there is one. */
  readonly plc_cycles: readonly Booking[] | undefined;
  readonly gas: readonly Booking[];
  readonly kwh: readonly Booking[];
  readonly estimates: Computed["estimates"];
  readonly installations: readonly Installation[];
  readonly maintenance: readonly Maintenance[];
  readonly filter_input: FilterInput;
  readonly revisions: Revisions;
}

const caches = new WeakMap<Db, Map<string, Computed>>();

/**
 * Returns a booth's figures. Figures that depend only on records are cached until one of its streams has a new record.
 */
export function boothFigures(db: Db, boothId: string, now: number): BoothFigures {
  const known = computed(db, boothId);
  const asked = latest.get(known);
  if (asked?.now === now) return asked;
  const figures = figuresAt(known, now);
  latest.set(known, figures);
  return figures;
}

/** A request asks for the same booth at the same instant from several places. */
const latest = new WeakMap<Computed, BoothFigures>();

function figuresAt({ log, restarts, timelines, sets, ...rest }: Computed, now: number): BoothFigures {
  const bays = timelines.map((timeline) => ({ bay: timeline.bay, stages: stagesAt(timeline, now) }));
  const stages = uniteBays(bays.map((bay) => bay.stages));
  const cyclesNow = once(() =>
    bays.flatMap(({ bay, stages: own }) => cyclesOf(bay, own, sets)).sort((a, b) => a.end - b.end),
  );
  const first = stages[0]?.start ?? now;
  const inputNow = once((): FilterInput => ({
    log,
    stages,
    counts: countsOf(rest.plc_cycles, cyclesNow),
    restarts,
    first,
  }));
  const installationsNow = once(() => (stages.length === 0 ? [] : findInstallations(inputNow())));
  const maintenanceNow = once(() => maintenanceOf(inputNow(), installationsNow()));
  const { plc_cycles, gas, kwh, estimates, revisions } = rest;
  return {
    now,
    log,
    stages,
    plc_cycles,
    gas,
    kwh,
    estimates,
    revisions,
    get cycles() {
      return cyclesNow();
    },
    get installations() {
      return installationsNow();
    },
    get maintenance() {
      return maintenanceNow();
    },
    get filter_input() {
      return inputNow();
    },
  };
}

/** Returns the counted cycles: the PLC's count if it has a counter, otherwise the derived cycles that ended. */
function countsOf(plc: readonly Booking[] | undefined, derived: () => readonly Cycle[]): readonly Count[] {
  if (plc !== undefined) return plc;
  return derived().flatMap(({ counted, end }) => (counted ? [{ time: end, amount: 1 }] : []));
}

/** Computes a value on first use, because most reports need neither cycles nor filters. */
function once<T>(find: () => T): () => T {
  let found: { readonly value: T } | undefined;
  return () => (found ??= { value: find() }).value;
}

/** Returns a version that changes with every change of a booth's log. */
export function logVersion(db: Db, boothId: string): string {
  type Version = { id: number; version: number; withdrawn_at: number | null };
  const sql = "SELECT id, version, withdrawn_at FROM streams WHERE booth_id = ? ORDER BY id";
  return rows<Version>(db, sql, boothId)
    .map(({ id, version, withdrawn_at }) => `${id}:${version}:${withdrawn_at ?? ""}`)
    .join(",");
}

function computed(db: Db, boothId: string): Computed {
  let cache = caches.get(db);
  if (cache === undefined) caches.set(db, (cache = new Map<string, Computed>()));
  const version = logVersion(db, boothId);
  const known = cache.get(boothId);
  if (known?.version === version) return known;
  const fresh = compute(loadLog(db, boothId), version);
  cache.set(boothId, fresh);
  return fresh;
}

/** Returns the figures of a log, or of a part of it, without caching them. */
export function figuresOfLog(log: BoothLog, now: number): BoothFigures {
  return figuresAt(compute(log, ""), now);
}

function compute(log: BoothLog, version: string): Computed {
  const restarts = findRestarts(log);
  const timelines = tagsOfRole(log, "mode")
    .map(({ name }) => timelineOf(log, name, restarts))
    .filter((timeline) => timeline !== undefined);
  const sets = { ...DEFAULT_SETS, ...parametersAt(log, Infinity)?.mode_sets };
  const counted = tagsOfRole(log, "cycle_counter").length > 0;
  const plc_cycles = counted ? bookings(log, "cycle_counter", restarts.instants) : undefined;
  const gas = bookings(log, "gas", restarts.instants);
  const kwh = bookings(log, "kwh", restarts.instants);
  const estimates = estimatesOf(log);
  return { version, log, restarts, timelines, revisions: findRevisions(log), sets, plc_cycles, gas, kwh, estimates };
}
