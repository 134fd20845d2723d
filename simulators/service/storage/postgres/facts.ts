import type { Mode } from "../../../../src/domain/booth.ts";
import { type Db, row, rows, run } from "../../db.ts";
import { type BoothFigures, figuresOfLog, logVersion } from "../../figures/booth.ts";
import { booked } from "../../figures/counters.ts";
import { estimated } from "../../figures/estimates.ts";
import { loadLog, loadLogSince } from "../../figures/log.ts";
import { timeIn } from "../../figures/mode-sets.ts";
import type { Span } from "../../figures/span.ts";
import { cycleCount } from "../../figures/summary.ts";
import { msByMode, msWithin } from "../../figures/window.ts";

/**
 * Facts: what reports over many booths are made from. Each hour of a booth is folded from its log by the same figures as every report;
 * an hour that new records fall into is folded anew.
 */

const HOUR_MS = 3_600_000;
/** Every zone is a multiple of it away from UTC. */
const QUARTER_MS = HOUR_MS / 4;
/** So much before the first new record is read with it: the longest that a stage, a run or a counter's last reading goes back. */
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
}

/** Folds what a booth's log has come to since the last time; false: nothing new, or somebody else is at it. */
export function foldBooth(db: Db, boothId: string, now: number): boolean {
  return db.transaction("apart", () => {
    if (!isMine(db, boothId)) return false;
    const before = row<Facts>(db, "SELECT version, folded_at, last_until FROM booth_facts WHERE booth_id = ?", boothId);
    const version = logVersion(db, boothId);
    const isSettled = before?.version === version && before.folded_at >= before.last_until;
    if (isSettled) return false;
    const since = before === undefined ? undefined : firstChange(db, boothId, before);
    const log = since === undefined ? loadLog(db, boothId) : loadLogSince(db, boothId, since - BEFORE_MS);
    const figures = figuresOfLog(log, now);
    writeHours(db, boothId, hoursOf(figures, { since, now }));
    const last = figures.stages.findLast(({ mode }) => mode !== "no_data");
    const isOpen = last !== undefined && figures.stages.at(-1) === last;
    const sql = `INSERT INTO booth_facts (booth_id, version, folded_at, runtime_ms, last_mode, last_until)
      VALUES (?, ?, ?, (SELECT coalesce(sum(runtime_ms), 0) FROM booth_hours WHERE booth_id = ?), ?, ?)
      ON CONFLICT (booth_id) DO UPDATE SET version = excluded.version, folded_at = excluded.folded_at, runtime_ms = excluded.runtime_ms,
        last_mode = excluded.last_mode, last_until = excluded.last_until`;
    // An open stage goes on for a poll or three: by then it is looked at again.
    run(db, sql, boothId, version, now, boothId, last?.mode ?? "no_data", isOpen ? now + CLOCKS_MS : (last?.end ?? 0));
    return true;
  });
}

/** One program has a booth until its transaction is over. */
export function isMine(db: Db, boothId: string): boolean {
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
  const [inUse, runtime] = [timeIn(figures, "in_use"), timeIn(figures, "runtime")];
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

/** Of days whose zone isn't whole hours from UTC, each hour belongs to the one that has more of it; any other instant takes its hour in. */
function hoursIn({ start, end }: Span): { first: number; end: number } {
  const isQuarter = (time: number): boolean => time % QUARTER_MS === 0;
  const first = isQuarter(start) ? Math.round(start / HOUR_MS) : Math.floor(start / HOUR_MS);
  return { first, end: isQuarter(end) ? Math.round(end / HOUR_MS) : Math.ceil(end / HOUR_MS) };
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

/** A local period of all facilities of a zone, or the whole window of one: what is asked of their booths. */
export interface ZonePart {
  readonly zone: string;
  /** Of a group by day, week or month. */
  readonly group: string;
  readonly window: Span;
}

const GROUPS = { booth: "b.id", facility: "b.facility_id", region: "f.region_id", period: "p.g" } as const;

/** Of every group that the account's booths fall in, the sum of each booth's figures, rounded as they are answered; a group without any isn't there. */
export function bucketedUse(
  db: Db,
  {
    account_id,
    by,
    parts,
  }: { readonly account_id: string; readonly by: keyof typeof GROUPS; readonly parts: readonly ZonePart[] },
): {
  readonly group: string;
  readonly gas: number;
  readonly kwh: number;
  readonly minutes: number;
  readonly cycles: number;
}[] {
  const told = parts.map(({ zone, group, window }) => ({ z: zone, g: group, ...hoursIn(window) }));
  const rounded = (sum: string): string => `floor(sum(${sum}) * 10000 + 0.5) / 10000`;
  const sql = `SELECT g AS "group", sum(gas) AS gas, sum(kwh) AS kwh, sum(minutes) AS minutes, sum(cycles) AS cycles FROM (
      SELECT ${GROUPS[by]} AS g, ${rounded("h.gas")} AS gas, ${rounded("h.kwh")} AS kwh, ${rounded("h.in_use_ms / 60000")} AS minutes,
        sum(h.cycles) AS cycles
      FROM json_to_recordset(?::json) AS p (z text, g text, first int, "end" int)
        JOIN facilities f ON f.tz = p.z AND f.account_id = ? JOIN booths b ON b.facility_id = f.id
        JOIN booth_hours h ON h.booth_id = b.id AND h.hour >= p.first AND h.hour < p."end"
      WHERE h.hour >= ?::int AND h.hour < ?::int
      GROUP BY 1, h.booth_id, p.first) AS each_booth GROUP BY g`;
  const [first, end] = [Math.min(...told.map((one) => one.first)), Math.max(...told.map((one) => one.end))];
  return rows(db, sql, JSON.stringify(told), account_id, first, end);
}
