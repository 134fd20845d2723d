import { expect, it } from "vitest";
import { filterMaintenanceHistory } from "../../src/reports/filters.ts";
import { durationByMode, utilizationTimeline } from "../../src/reports/usage.ts";
import type { Source } from "../../src/reports/source.ts";
import { openStoreFile } from "../../src/store/open.ts";
import { openReader, REPORT_SQL } from "../../src/store/reader.ts";
import { openReportsThread } from "../../src/store/thread/reports-thread.ts";
import { fillYear, STREAM, YEAR_END, YEAR_START } from "../support/year-of-facts.ts";
import { localBooth, requestAt } from "../support/figures.ts";
import { withFilters } from "../support/parameters.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { MINUTE_MS, DAY_MS } from "../../src/domain/time.ts";

/** Creates a store with a year of facts and no log. */
function yearIn(folder: string): void {
  const db = openStoreFile(folder);
  fillYear(db, withFilters({ exhaust_filter: { limits: { minutes: 6000 } } }));
  db.close();
}

it("every SQL query of the reports uses a key or an index, and never scans a table", () => {
  const db = openStoreFile(temporaryFolder());
  const values = { stream: STREAM, kind: "m", start: YEAR_START, end: YEAR_END, seq: 0, from: 0, rows: 10 };
  const planOf = (sql: string): string => {
    const named = Object.fromEntries(Object.entries(values).filter(([name]) => sql.includes(`@${name}`)));
    const explain = db.prepare(`EXPLAIN QUERY PLAN ${sql}`);
    const rows = sql.includes("?") ? explain.all(STREAM) : explain.all(named);
    return (rows as { detail: string }[]).map(({ detail }) => detail).join("; ");
  };
  const plans = Object.entries(REPORT_SQL).map(([name, sql]) => `${name}: ${planOf(sql)}`);
  db.close();
  expect(plans).toEqual([
    "facts: SEARCH fact USING INDEX fact_by_time (stream_id=? AND kind=? AND start_ms<?); USE TEMP B-TREE FOR LAST TERM OF ORDER BY",
    "stagesAfter: SEARCH fact USING PRIMARY KEY (stream_id=? AND seq>?)",
    "rebuilds: SEARCH stream USING PRIMARY KEY (stream_id=?)",
    "logPage: SEARCH log USING PRIMARY KEY (stream_id=? AND first_seq>?); " +
      "SCALAR SUBQUERY 1; SEARCH log USING PRIMARY KEY (stream_id=? AND first_seq<?)",
    "rowAtOrBefore: SEARCH log USING PRIMARY KEY (stream_id=? AND first_seq<?)",
    "oldestRow: SEARCH log USING PRIMARY KEY (stream_id=?)",
    "firstWaiting: SEARCH log USING COVERING INDEX log_waiting (stream_id=?)",
  ]);
});

it("reports of a year by mode, a day by minute and 90 days of filter changes read only the required facts, never the log", () => {
  const folder = temporaryFolder();
  yearIn(folder);
  const reader = openReader(folder);
  const read = { log: 0, stages: 0, facts: 0 };
  const counting: Source["reader"] = {
    ...reader,
    *log(stream, window) {
      for (const record of reader.log(stream, window)) {
        read.log += 1;
        yield record;
      }
    },
    *readings(stream, window, tags) {
      for (const record of reader.readings(stream, window, tags)) {
        read.log += 1;
        yield record;
      }
    },
    facts(stream, kind, window) {
      const found = reader.facts(stream, kind, window);
      read.facts += found.length;
      return found;
    },
    stages(stream, window) {
      const found = reader.stages(stream, window);
      read.stages += found.length;
      return found;
    },
  };
  const source: Source = { reader: counting, stream: STREAM, now_ms: YEAR_END };
  const readBy = (act: () => unknown): typeof read => {
    Object.assign(read, { log: 0, stages: 0, facts: 0 });
    act();
    return { ...read };
  };
  expect(readBy(() => durationByMode(source, { start: YEAR_START, end: YEAR_END }))).toEqual({
    log: 0,
    stages: 73_000,
    facts: 0,
  });
  const noon = YEAR_END - 100 * DAY_MS;
  // 200 stages a day, and the one that ends at the start of the day.
  expect(readBy(() => utilizationTimeline(source, { start: noon, end: noon + DAY_MS }, MINUTE_MS))).toEqual({
    log: 0,
    stages: 201,
    facts: 0,
  });
  // All 40 changes of each filter, because the window is by removal and the index by installation.
  expect(readBy(() => filterMaintenanceHistory(source, { start: YEAR_END - 90 * DAY_MS, end: YEAR_END }))).toEqual({
    log: 0,
    stages: 0,
    facts: 3 * 40,
  });
  reader.close();
});

it("the main thread stays responsive while the reports thread computes reports of a year", async () => {
  const folder = temporaryFolder();
  yearIn(folder);
  const thread = openReportsThread(new URL("../../src/runtime/reports-worker.ts", import.meta.url), {
    dataDir: folder,
  });
  const booths = [localBooth({ stream: STREAM } as never)];
  const query = { start: new Date(YEAR_START).toISOString(), end: new Date(YEAR_END).toISOString() };
  const ask = (figure: string) =>
    thread.ask(requestAt({ path: `/api/booths/b-1/${figure}`, query, booths, now_ms: YEAR_END }));
  let turns = 0;
  let isOver = false;
  const loop = new Promise<void>((resolve) => {
    const turn = (): void => {
      turns += 1;
      if (isOver) resolve();
      else setImmediate(turn);
    };
    turn();
  });
  const answers = await Promise.all([ask("duration_by_mode"), ask("runtime_series"), ask("utilization_summary")]);
  const during = turns;
  isOver = true;
  await loop;
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  // On the main thread, the reports would take one long turn.
  expect(during).toBeGreaterThan(100);
  await thread.close();
});
