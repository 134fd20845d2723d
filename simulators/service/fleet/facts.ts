import type { Mode } from "../../../src/domain/booth.ts";
import { type Db, row, rows, run } from "../storage/db.ts";
import { type BoothFigures, figuresOfLog, logVersion } from "../figures/booth.ts";
import { longestBridgeMs } from "../figures/bridge.ts";
import { booked } from "../figures/counters.ts";
import { estimated } from "../figures/estimates.ts";
import { loadLog, loadLogSince } from "../figures/log.ts";
import { timeIn } from "../figures/mode-sets.ts";
import type { Span } from "../base/span.ts";
import { cycleCount } from "../figures/summary.ts";
import { msByMode, msWithin } from "../figures/window.ts";
import { writeDays } from "./days.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";
import { hoursIn } from "./hours.ts";

/**
 * Facts are the source of reports over many booths. Each hour of a booth is folded from its log with the same figures
 * as every report; an hour that gets new records is folded again.
 */

/** Records read before the first new one: the longest that a stage, a run or a counter's last reading reaches back. */
const BEFORE_MS = 2 * 24 * HOUR_MS;
/** Clocks of those who take records in and of who folds them may differ by so much. */
const CLOCKS_MS = 60_000;

/** Silence is what is left of an hour. */
const FOLDED_MODES: readonly Exclude<Mode, "no_data">[] = [
  ...(["spray", "flash", "purge", "bake", "cool_down", "setback", "prep", "idle", "off"] as const),
  ...(["maintenance", "fault", "estop", "unknown"] as const),
];
const SUMS = ["in_use_ms", "runtime_ms", "cycles", "gas", "kwh", ...FOLDED_MODES.map((mode) => `m_${mode}`)];

interface Facts {
  readonly version: string;
  readonly folded_at: number;
  readonly last_until: number;
  /** Zone of the local days made from the folded hours; any other zone has no days yet. */
  readonly days_zone: string | null;
  readonly days_at: number | null;
}

/**
 * Folds a booth's records since the last fold. Returns false if there is nothing new, or if another program is
 * folding it.
 */
export function foldBooth(db: Db, boothId: string, now: number): boolean {
  return db.transaction("apart", () => {
    if (!isMine(db, boothId)) return false;
    const read = "SELECT version, folded_at, last_until, days_zone, days_at FROM booth_facts WHERE booth_id = ?";
    const before = row<Facts>(db, read, boothId);
    const zone = zoneOf(db, boothId);
    const hasDays = before?.days_zone === zone && before.days_at === before.folded_at;
    const version = logVersion(db, boothId);
    const isSettled = before?.version === version && before.folded_at >= before.last_until;
    if (isSettled && hasDays) return false;
    if (isSettled) {
      writeDays(db, boothId, { zone, since: undefined });
      run(db, "UPDATE booth_facts SET days_zone = ?, days_at = folded_at WHERE booth_id = ?", zone, boothId);
      return true;
    }
    const changed = before === undefined ? undefined : firstChange(db, boothId, before);
    const log = changed === undefined ? loadLog(db, boothId) : loadLogSince(db, boothId, changed - BEFORE_MS);
    // New records also decide the silence before them, which may begin in an earlier hour.
    const bridge = longestBridgeMs(log.parameters.map(({ value }) => value));
    const since = changed === undefined ? undefined : changed - bridge;
    const figures = figuresOfLog(log, now);
    writeHours(db, boothId, hoursOf(figures, { since, now }));
    writeDays(db, boothId, { zone, since: hasDays ? since : undefined });
    const last = figures.stages.findLast(({ mode }) => mode !== "no_data");
    const isOpen = last !== undefined && figures.stages.at(-1) === last;
    const sql = `INSERT INTO booth_facts (booth_id, version, folded_at, runtime_ms, last_mode, last_until, days_zone, days_at)
      VALUES (?, ?, ?, (SELECT coalesce(sum(runtime_ms), 0) FROM booth_hours WHERE booth_id = ?), ?, ?, ?, ?)
      ON CONFLICT (booth_id) DO UPDATE SET version = excluded.version, folded_at = excluded.folded_at, runtime_ms = excluded.runtime_ms,
        last_mode = excluded.last_mode, last_until = excluded.last_until,
        days_zone = excluded.days_zone, days_at = excluded.days_at`;
    // An open stage may continue for up to three polls: it is folded again after that.
    const until = isOpen ? now + CLOCKS_MS : (last?.end ?? 0);
    run(db, sql, boothId, version, now, boothId, last?.mode ?? "no_data", until, zone, now);
    return true;
  });
}

function zoneOf(db: Db, boothId: string): string {
  const sql = "SELECT f.tz FROM booths b JOIN facilities f ON f.id = b.facility_id WHERE b.id = ?";
  return row<{ tz: string }>(db, sql, boothId)?.tz ?? "UTC";
}

/** Locks a booth for this program until the end of the transaction. */
function isMine(db: Db, boothId: string): boolean {
  const sql = "SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))::text AS mine";
  return row<{ mine: string }>(db, sql, boothId)?.mine === "true";
}

/** When the first of what came since the last fold was recorded; undefined: something went, or streams are others. */
function firstChange(db: Db, boothId: string, before: Facts): number | undefined {
  type Version = { id: number; version: number; withdrawn_at: number | null; gateway_id: string };
  const streams = rows<Version>(
    db,
    "SELECT id, version, withdrawn_at, gateway_id FROM streams WHERE booth_id = ?",
    boothId,
  );
  const known = new Set(before.version.split(",").map((one) => one.split(":")[0]));
  if (streams.some(({ id, withdrawn_at }) => !known.has(id.toString()) || withdrawn_at !== null)) return undefined;
  const came = before.folded_at - CLOCKS_MS;
  let first = before.last_until;
  for (const { id, gateway_id } of streams) {
    const packed = "SELECT min(first_mono + offset_ms) AS first FROM segments WHERE stream_no = ? AND received_at >= ?";
    const loose = "SELECT min(time) AS first FROM records WHERE gateway_id = ? AND stream_no = ? AND received_at >= ?";
    const found = [
      row<{ first: number | null }>(db, packed, id, came)?.first,
      row<{ first: number | null }>(db, loose, gateway_id, id, came)?.first,
    ];
    for (const one of found) first = Math.min(first, one ?? Infinity);
  }
  return Math.min(first, before.folded_at);
}

type Hour = Readonly<Record<string, number>>;

/** Each hour in which anything was known, from that of `since` on. */
function hoursOf(
  figures: BoothFigures,
  { since, now }: { since: number | undefined; now: number },
): { from: number; hours: Hour[] } {
  const begun = figures.stages[0]?.start ?? now;
  const from = Math.floor((since ?? Math.min(begun, firstBooking(figures))) / HOUR_MS);
  const inUse = timeIn(figures, "in_use");
  const runtime = timeIn(figures, "runtime");
  const hours: Hour[] = [];
  for (let hour = from; hour * HOUR_MS <= now; hour += 1) {
    const span = { start: hour * HOUR_MS, end: (hour + 1) * HOUR_MS };
    const made = hourOf(figures, span, { inUse, runtime });
    if (SUMS.some((name) => made[name] !== 0)) hours.push({ hour, ...made });
  }
  return { from, hours };
}

function firstBooking({ gas, kwh, plc_cycles, estimates }: BoothFigures): number {
  const firsts = [gas, kwh, plc_cycles ?? []].map(([first]) => first?.time ?? Infinity);
  const estimatedFrom = [estimates.gas, estimates.kwh].flatMap(({ hours }) => [...hours.keys()]);
  return estimatedFrom.reduce((least, one) => Math.min(least, one), Math.min(...firsts));
}

function hourOf(
  figures: BoothFigures,
  span: Span,
  times: { inUse: readonly Span[]; runtime: readonly Span[] },
): Record<string, number> {
  const modes = msByMode(figures.stages, span);
  return {
    in_use_ms: msWithin(times.inUse, span),
    runtime_ms: msWithin(times.runtime, span),
    cycles: cycleCount(figures, span),
    gas: booked(figures.gas, span) + estimated(figures.estimates.gas, span),
    kwh: booked(figures.kwh, span) + estimated(figures.estimates.kwh, span),
    ...Object.fromEntries(FOLDED_MODES.map((mode) => [`m_${mode}`, modes.get(mode) ?? 0])),
  };
}

function writeHours(db: Db, boothId: string, { from, hours }: { from: number; hours: readonly Hour[] }): void {
  run(db, "DELETE FROM booth_hours WHERE booth_id = ? AND hour >= ?", boothId, from);
  const columns = ["hour", ...SUMS].join(", ");
  const typed = ["hour integer", ...SUMS.map((name) => `${name} float8`)].join(", ");
  const sql = `INSERT INTO booth_hours (booth_id, ${columns}) SELECT ?::text, ${columns} FROM json_to_recordset(?::json) AS told (${typed})`;
  run(db, sql, boothId, JSON.stringify(hours));
}

/** A booth's sums over whole hours. */
export interface Use {
  readonly in_use_ms: number;
  readonly cycles: number;
  readonly gas: number;
  readonly kwh: number;
  readonly modes: ReadonlyMap<Mode, number>;
}

/** The sums of those booths over a window's hours, whole ones: of the first and the last all that they have. */
export function useOf(db: Db, boothIds: readonly string[], window: Span): ReadonlyMap<string, Use> {
  const sums = SUMS.map((name) => `sum(${name}) AS ${name}`).join(", ");
  const sql = `SELECT booth_id, ${sums} FROM booth_hours
    WHERE booth_id IN (SELECT json_array_elements_text(?::json)) AND hour >= ?::int AND hour < ?::int GROUP BY booth_id`;
  const { first, end } = hoursIn(window);
  type Found = Readonly<Record<string, number>> & { readonly booth_id: string };
  const found = rows<Found>(db, sql, JSON.stringify(boothIds), first, end);
  return new Map(found.map((sum) => [sum.booth_id, useFrom(sum, window)]));
}

function useFrom(sum: Readonly<Record<string, unknown>>, { start, end }: Span): Use {
  const of = (name: string): number => Number(sum[name] ?? 0);
  const modes = new Map<Mode, number>();
  for (const mode of FOLDED_MODES) if (of(`m_${mode}`) > 0) modes.set(mode, of(`m_${mode}`));
  const silent = end - start - [...modes.values()].reduce((all, ms) => all + ms, 0);
  if (silent > 0) modes.set("no_data", silent);
  return { in_use_ms: of("in_use_ms"), cycles: of("cycles"), gas: of("gas"), kwh: of("kwh"), modes };
}

export const NO_USE = (window: Span): Use => useFrom({}, window);

/** Which booths, by a condition of SQL on their row `b`. */
export interface Of {
  readonly where: string;
  readonly value: string;
}

/** The total running time and the mode of each of these booths at `now`, as they were folded. */
export function standingOf(
  db: Db,
  { where, value }: Of,
  now: number,
): ReadonlyMap<string, { runtime_ms: number; mode: Mode }> {
  const sql = `SELECT f.booth_id, f.runtime_ms, f.last_mode, f.last_until FROM booth_facts f JOIN booths b ON b.id = f.booth_id
    WHERE ${where}`;
  type Found = { booth_id: string; runtime_ms: number; last_mode: Mode; last_until: number };
  return new Map(
    rows<Found>(db, sql, value).map(({ booth_id, runtime_ms, last_mode, last_until }) => {
      return [booth_id, { runtime_ms, mode: now < last_until ? last_mode : "no_data" }];
    }),
  );
}
