import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type Database from "better-sqlite3";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import type { Window } from "../../src/store/port.ts";
import { step } from "../../src/derivation/fold.ts";
import { emptyState } from "../../src/derivation/state.ts";
import type { LogRecord, Stored } from "../../src/domain/record.ts";
import { openStoreFile } from "../../src/store/open.ts";
import { openReader, type OpenReader } from "../../src/store/reader.ts";
import { filterMaintenanceHistory } from "../../src/reports/filters.ts";
import { durationByMode, utilizationTimeline } from "../../src/reports/usage.ts";
import type { Source } from "../../src/reports/source.ts";
import { PARAMETERS, withFilters } from "../support/parameters.ts";
import { commit, script, stay, type Script } from "../support/booth.ts";
import { fillYear, STREAM, YEAR_END, YEAR_START } from "./derive-year.ts";
import { median, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { MINUTE_MS, DAY_MS } from "../../src/domain/time.ts";

const POLLS_PER_COMMIT = 10;
/** SQL takes fifty times as long as what it is compared with: it gets a turn for each so many of ours. */
const SQL_EVERY = 5;

/** Records of busy days: modes that alternate, a counter and a meter that go on, polls in between. */
function busyRecords(days: number): Stored<LogRecord>[] {
  const records = recordsOf(busyDays(days).entries, () => 15_000);
  return records.map((record, index) => ({ ...record, seq: index + 1 }));
}

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

function foldFigure({ quick }: BenchOptions): Figure {
  const records = busyRecords(quick ? 2 : 20);
  const readings = records.filter(({ kind }) => kind === "r").length;
  const round = (): number => {
    let state = emptyState();
    const before = process.cpuUsage();
    for (const record of records) state = step(state, record).state;
    const { user, system } = process.cpuUsage(before);
    return readings / ((user + system) / 1e6);
  };
  round();
  const value = median(Array.from({ length: quick ? 3 : 7 }, round));
  const target = "a poll cycle's derivation costs microseconds: over 100,000";
  return {
    name: "derive.readings_per_cpu_s",
    value,
    unit: "readings/s",
    anchor: null,
    ratio: null,
    target,
    reached: value > 100_000,
  };
}

/** What one poll of a booth costs the fold, ten to a commit: its share of the coverage, and the readings that changed. */
function pollFigure({ quick }: BenchOptions): Figure {
  const { entries } = busyDays(quick ? 2 : 10);
  const records = commit(entries, PARAMETERS, [POLLS_PER_COMMIT]);
  const polls = entries.filter(({ kind }) => kind === "poll").length;
  const round = (): number => {
    let state = emptyState();
    return (timed(() => records.forEach((record) => (state = step(state, record).state))) * 1000) / polls;
  };
  round();
  const value = median(Array.from({ length: quick ? 3 : 7 }, round));
  const at = { anchor: null, ratio: null, reached: value <= 100 };
  return { name: "derive.us_per_poll", value, unit: "us", ...at, target: "microseconds: at most 100" };
}

/** What is held after a full collection. */
function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  // With the flag a new context has the collector as a function.
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

/** CPU of the process, ms: whoever else is on the machine doesn't count. */
function timed(act: () => unknown): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

interface Asking {
  readonly rounds: number;
  /** ms; null: nothing to reach. */
  readonly atMost: number | null;
  /** Of what SQL takes, in place of `atMost`. */
  readonly ratioAtMost?: number;
  /** The same answered by SQL from the rows of table fact, in turn with ours. */
  readonly bySql?: () => unknown;
}

function asked(name: string, act: () => unknown, { rounds, atMost, ratioAtMost, bySql }: Asking): Figure {
  const own: number[] = [];
  const sql: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    own.push(timed(act));
    if (bySql !== undefined && round % SQL_EVERY === 0) sql.push(timed(bySql));
  }
  const value = median(own);
  const anchor = bySql === undefined ? null : median(sql);
  const ratio = anchor === null ? null : value / anchor;
  const figure = { name, value, unit: "ms", anchor, ratio };
  if (ratio !== null && ratioAtMost !== undefined)
    return { ...figure, target: `at most ${ratioAtMost} x SQL over the same rows`, reached: ratio <= ratioAtMost };
  const target = atMost === null ? "" : `at most ${atMost} ms; anchor: SQL over the same rows`;
  return { ...figure, target, reached: atMost === null ? null : value <= atMost };
}

/** The same questions as SQL, over a connection of their own. */
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

function queryFigures(reader: OpenReader, sql: ReturnType<typeof anchors>, { quick }: BenchOptions): Figure[] {
  const source: Source = { reader, stream: STREAM, now_ms: YEAR_END };
  const year = { start: YEAR_START, end: YEAR_END };
  const day = { start: YEAR_END - 100 * DAY_MS, end: YEAR_END - 99 * DAY_MS };
  const quarter = { start: YEAR_END - 90 * DAY_MS, end: YEAR_END };
  const rounds = quick ? 3 : 51;
  const heap = heldBytes();
  const first = asked("query.year_first_ms", () => durationByMode(source, year), { rounds: 1, atMost: null });
  const memory = (heldBytes() - heap) / 1_048_576;
  return [
    { ...first, target: "the first of a thread: every stage is unpacked and checked once" },
    asked("query.year_duration_by_mode_ms", () => durationByMode(source, year), {
      rounds,
      atMost: null,
      ratioAtMost: 0.009,
      bySql: () => sql.year(year),
    }),
    asked("query.day_timeline_1min_ms", () => utilizationTimeline(source, day, MINUTE_MS), {
      rounds,
      atMost: 10,
      bySql: () => sql.day(day),
    }),
    asked("query.quarter_filter_history_ms", () => filterMaintenanceHistory(source, quarter), {
      rounds,
      atMost: 10,
      bySql: () => sql.quarter(quarter),
    }),
    {
      name: "memory.year_of_stages_mb",
      value: memory,
      unit: "MB",
      anchor: null,
      ratio: null,
      target: "",
      reached: null,
    },
  ];
}

function run(options: BenchOptions): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "bg-bench-"));
  try {
    const db = openStoreFile(folder);
    fillYear(db, withFilters({ exhaust_filter: { limits: { minutes: 6000 } } }));
    const reader = openReader(folder);
    const figures = [foldFigure(options), pollFigure(options), ...queryFigures(reader, anchors(db), options)];
    reader.close();
    db.close();
    return Promise.resolve(figures);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const deriveFamily: Family = { name: "derive", run };
