import { type Db, rows, run } from "../storage/db.ts";
import { dayBuckets } from "../figures/buckets.ts";
import type { Span } from "../base/span.ts";
import { localDay, toWall } from "../base/zone.ts";
import { HOUR_MS, DAY_MS } from "../../../src/domain/time.ts";
import { hoursIn } from "./hours.ts";

const SUMS = ["in_use_ms", "cycles", "gas", "kwh"] as const;

type Day = { day: number } & Record<(typeof SUMS)[number], number>;
type Hour = { hour: number } & Omit<Day, "day">;

/** Counted by the calendar of the zone. */
function dayOf(time: number, zone: string): number {
  return Math.floor(toWall(zone, time) / DAY_MS);
}

/** The day that has more of the hour. */
function dayOfHour(hour: number, zone: string): number {
  return dayOf(hour * HOUR_MS + HOUR_MS / 2 - 1, zone);
}

interface Remade {
  readonly zone: string;
  /** Only days with hours after this instant are computed again; undefined: all. */
  readonly since: number | undefined;
}

/** Sums a booth's hours as they are now. */
export function writeDays(db: Db, boothId: string, { zone, since }: Remade): void {
  const first = since === undefined ? -Infinity : dayOfHour(Math.floor(since / HOUR_MS), zone);
  // A day has 25 hours at most, and begins within a day of UTC's.
  const from = since === undefined ? null : Math.floor(since / HOUR_MS) - 25;
  const read = `SELECT hour, ${SUMS.join(", ")} FROM booth_hours WHERE booth_id = ? AND (?::int IS NULL OR hour >= ?)`;
  const days = new Map<number, Day>();
  for (const { hour, ...sums } of rows<Hour>(db, read, boothId, from, from)) {
    const day = dayOfHour(hour, zone);
    if (day < first) continue;
    const sum = days.get(day) ?? { day, in_use_ms: 0, cycles: 0, gas: 0, kwh: 0 };
    for (const name of SUMS) sum[name] += sums[name];
    days.set(day, sum);
  }
  const least = since === undefined ? null : first;
  run(db, "DELETE FROM booth_days WHERE booth_id = ? AND (?::int IS NULL OR day >= ?)", boothId, least, least);
  const columns = ["day", ...SUMS].join(", ");
  const typed = ["day int", ...SUMS.map((name) => `${name} float8`)].join(", ");
  const sql = `INSERT INTO booth_days (booth_id, ${columns}) SELECT ?::text, ${columns} FROM json_to_recordset(?::json) AS told (${typed})`;
  run(db, sql, boothId, JSON.stringify([...days.values()]));
}

/** A local period of all facilities of a zone, or the whole window of one: what is asked of their booths. */
interface ZonePart {
  readonly zone: string;
  /** A day, week or month. */
  readonly group: string;
  readonly window: Span;
}

/** Whole days of a part, and the hours of those that the window cuts. */
interface Pieces {
  readonly days: { readonly z: string; readonly g: string; readonly day: number }[];
  readonly hours: { readonly z: string; readonly g: string; readonly first: number; readonly end: number }[];
}

/** Counts today as a whole day: no data exists after now. */
function piecesOf(parts: readonly ZonePart[], now: number): Pieces {
  const pieces: Pieces = { days: [], hours: [] };
  for (const { zone: z, group: g, window } of parts) {
    for (const span of dayBuckets(window, z)) {
      const whole = localDay(z, span.start);
      const isWhole = span.start === whole.start && (span.end === whole.end || span.end >= now);
      if (isWhole) pieces.days.push({ z, g, day: dayOf(span.start, z) });
      else pieces.hours.push({ z, g, ...hoursIn(span) });
    }
  }
  return pieces;
}

const GROUPS = { booth: "id", facility: "facility_id", region: "region_id" } as const;

const ALL = SUMS.join(", ");
const SUMMED = SUMS.map((name) => `sum(${name}) AS ${name}`).join(", ");
const rounded = (name: string): string => `floor(${name} * 10000 + 0.5) / 10000`;
const SHOWN = `${rounded("gas")} AS gas, ${rounded("kwh")} AS kwh, ${rounded("in_use_ms / 60000")} AS minutes, cycles`;

/** Sums of each booth and piece. Parts of days are read booth by booth, where their hours are stored together. */
const PIECES = `WITH placed AS (SELECT b.id, b.facility_id, f.region_id, f.tz FROM booths b JOIN facilities f ON f.id = b.facility_id
    WHERE f.account_id = ?),
  pieces AS NOT MATERIALIZED (
    SELECT placed.*, w.g, ${ALL} FROM placed JOIN json_to_recordset(?::json) AS w (z text, g text, day int) ON w.z = placed.tz
      JOIN booth_days d ON d.booth_id = placed.id AND d.day = w.day
    UNION ALL
    SELECT placed.*, w.g, ${ALL} FROM placed JOIN json_to_recordset(?::json) AS w (z text, g text, first int, "end" int) ON w.z = placed.tz
      CROSS JOIN LATERAL (SELECT ${SUMMED} FROM booth_hours h
        WHERE h.booth_id = placed.id AND h.hour >= w.first AND h.hour < w."end") AS cut WHERE cycles IS NOT NULL)`;

interface BucketedAsk {
  readonly account_id: string;
  readonly by: "period" | keyof typeof GROUPS;
  readonly parts: readonly ZonePart[];
  readonly now: number;
}

/**
 * Returns for each group of the account's booths the sum of the booths' figures, rounded as in the answer. A group
 * without figures is absent.
 */
export function bucketedUse(
  db: Db,
  { account_id, by, parts, now }: BucketedAsk,
): {
  readonly group: string;
  readonly gas: number;
  readonly kwh: number;
  readonly minutes: number;
  readonly cycles: number;
}[] {
  const { days, hours } = piecesOf(parts, now);
  // A period's days are rounded one by one, of a booth all that it has.
  const each =
    by === "period"
      ? `SELECT g, ${SHOWN} FROM pieces`
      : `SELECT g, ${SHOWN} FROM (SELECT ${GROUPS[by]} AS g, ${SUMMED} FROM pieces GROUP BY id, ${GROUPS[by]}) AS booths`;
  const sql = `${PIECES} SELECT g AS "group", sum(gas) AS gas, sum(kwh) AS kwh, sum(minutes) AS minutes, sum(cycles) AS cycles
    FROM (${each}) AS each_one GROUP BY g`;
  return rows(db, sql, account_id, JSON.stringify(days), JSON.stringify(hours));
}
