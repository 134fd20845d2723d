import type Database from "better-sqlite3";
import { step } from "../../src/derivation/fold.ts";
import { emptyState } from "../../src/derivation/state.ts";
import { DAY_MS, MINUTE_MS } from "../../src/domain/time.ts";
import { filterMaintenanceHistory } from "../../src/reports/filters.ts";
import type { Source } from "../../src/reports/source.ts";
import { durationByMode, utilizationTimeline } from "../../src/reports/usage.ts";
import { openStoreFile } from "../../src/store/open.ts";
import type { Window } from "../../src/store/port.ts";
import { openReader } from "../../src/store/reader.ts";
import { commit, script, stay, type Script } from "../support/booth.ts";
import { PARAMETERS, withFilters } from "../support/parameters.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { fillYear, STREAM, YEAR_END, YEAR_START } from "../support/year-of-facts.ts";
import {
  comparedFigure,
  cpuMs,
  interleaved,
  limitedFigure,
  withCleanUp,
  type BenchOptions,
  type Family,
  type Figure,
} from "./figure.ts";

const POLLS_PER_COMMIT = 10;

/** Busy days: modes that alternate, a counter and a meter that grow, polls in between. */
function busyDays(days: number): Script {
  const booth = script(PARAMETERS);
  let cycles = 10;
  let meter = 1000;
  for (let turn = 0; turn < days * 480; turn += 1) {
    stay(booth, MINUTE_MS, {
      mode: [3, 4, 3, 5, 6, 8][turn % 6] ?? 1,
      meter: ++meter,
      cycles: turn % 6 === 0 ? ++cycles : cycles,
    });
    stay(booth, 2 * MINUTE_MS, { meter: (meter += 2), uptime: turn });
  }
  return booth;
}

/** Measures what one poll of a booth costs the fold, ten polls to a commit: its share of the coverage, and the readings that changed. */
async function pollFigure({ quick }: BenchOptions): Promise<Figure> {
  const { entries } = busyDays(quick ? 2 : 10);
  const records = commit(entries, PARAMETERS, [POLLS_PER_COMMIT]);
  const polls = entries.filter(({ kind }) => kind === "poll").length;
  const fold = async (): Promise<number> => {
    let state = emptyState();
    return ((await cpuMs(() => records.forEach((record) => (state = step(state, record).state)))) * 1_000) / polls;
  };
  await fold(); // lets the compiler warm up
  const { fold: value = NaN } = await interleaved(quick ? 3 : 7, { fold });
  return limitedFigure({ name: "derive.us_per_poll", value, unit: "us" }, 100);
}

interface Query {
  readonly ours: () => unknown;
  /** The same answered by SQL from the rows of table fact. */
  readonly sql: () => unknown;
  /** At most this many ms, or this share of what SQL takes. */
  readonly atMost: { readonly ms: number } | { readonly ratio: number };
}

async function queryFigure(name: string, { ours, sql, atMost }: Query, rounds: number): Promise<Figure> {
  await cpuMs(ours); // the first report of a thread unpacks every stage
  const { ours: value = NaN } = await interleaved(rounds, { ours: () => cpuMs(ours) });
  // SQL takes fifty times as long.
  const { sql: anchor = NaN } = await interleaved(Math.ceil(rounds / 5), { sql: () => cpuMs(sql) });
  const figure = { name, value, unit: "ms", anchor };
  if ("ratio" in atMost) return comparedFigure({ ...figure, atMost: atMost.ratio, of: "SQL" });
  return limitedFigure({ ...figure, note: "anchor: SQL over the same rows" }, atMost.ms);
}

/** Returns the same questions as SQL. */
function anchors(db: Database.Database): Record<"year" | "day" | "quarter", (window: Window) => unknown> {
  const byMode = db.prepare(
    `SELECT json_extract(body, '$[4].mode') AS mode, sum(min(end_ms, @end) - max(start_ms, @start)) AS ms FROM fact
     WHERE stream_id = @stream AND kind = 'm' AND start_ms < @end AND end_ms > @start GROUP BY 1`,
  );
  const bySlot = db.prepare(
    `SELECT json_extract(body, '$[4].mode') AS mode, max(start_ms, @start) / 60000 AS slot, sum(end_ms - start_ms) AS ms
     FROM fact WHERE stream_id = @stream AND kind = 'm' AND start_ms < @end AND end_ms > @start GROUP BY 1, 2`,
  );
  const changes = db.prepare(
    `SELECT json_extract(body, '$[4].maintenance') AS maintenance FROM fact
     WHERE stream_id = @stream AND kind = 'f' AND start_ms < @end AND end_ms >= @start`,
  );
  const ask = (statement: Database.Statement) => (window: Window) => statement.all({ stream: STREAM, ...window });
  return { year: ask(byMode), day: ask(bySlot), quarter: ask(changes) };
}

async function run(options: BenchOptions): Promise<readonly Figure[]> {
  return withCleanUp(async (atEnd) => {
    const folder = temporaryFolder(undefined, atEnd);
    const db = openStoreFile(folder);
    atEnd(() => db.close());
    fillYear(db, withFilters({ exhaust_filter: { limits: { minutes: 6000 } } }));
    const reader = openReader(folder);
    atEnd(() => reader.close());
    const sql = anchors(db);
    const source: Source = { reader, stream: STREAM, now_ms: YEAR_END };
    const year = { start: YEAR_START, end: YEAR_END };
    const day = { start: YEAR_END - 100 * DAY_MS, end: YEAR_END - 99 * DAY_MS };
    const quarter = { start: YEAR_END - 90 * DAY_MS, end: YEAR_END };
    const queries: Readonly<Record<string, Query>> = {
      year_duration_by_mode_ms: {
        ours: () => durationByMode(source, year),
        sql: () => sql.year(year),
        atMost: { ratio: 0.009 },
      },
      day_timeline_1min_ms: {
        ours: () => utilizationTimeline(source, day, MINUTE_MS),
        sql: () => sql.day(day),
        atMost: { ms: 10 },
      },
      quarter_filter_history_ms: {
        ours: () => filterMaintenanceHistory(source, quarter),
        sql: () => sql.quarter(quarter),
        atMost: { ms: 10 },
      },
    };
    const figures = [await pollFigure(options)];
    for (const [name, query] of Object.entries(queries))
      figures.push(await queryFigure(`query.${name}`, query, options.quick ? 3 : 51));
    return figures;
  });
}

export const deriveFamily: Family = { name: "derive", run };
