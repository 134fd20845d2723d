import { describe, expect, it } from "vitest";
import { createBooth } from "../../../simulators/plc/model/booth.ts";
import { SCENARIOS } from "../../../simulators/plc/scenarios/all.ts";
import { type Db, row, rows } from "../../../simulators/service/storage/db.ts";
import { historyOf } from "../../../simulators/service/demo/history.ts";
import { boothFigures } from "../../../simulators/service/figures/booth.ts";
import { heldSeqs, recordsOf, type StoredRecord } from "../../../simulators/service/ingest/records.ts";
import { findStream } from "../../../simulators/service/ingest/streams.ts";
import {
  compactStream,
  dropEmptied,
  rawStreams,
  retain,
  settledStreams,
} from "../../../simulators/service/fleet/compact.ts";
import { foldBooth } from "../../../simulators/service/fleet/facts.ts";
import { figuresRound } from "../../../simulators/service/fleet/round.ts";
import {
  answerOf,
  type Bench,
  boundBench,
  deliver,
  EPOCH,
  HOUR,
  type LogRecord,
  MINUTE,
  PARAMETERS,
  script,
} from "./service-log.ts";
import { storesOnPostgres } from "./stores-on-postgres.ts";
import type { TagParameters } from "../../../src/domain/parameters.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

const DAYS = 4;
const END = EPOCH + DAYS * DAY_MS;

storesOnPostgres();

/** Returns a scenario's log. */
function logOf(name: string): LogRecord[] {
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(name);
  const booth = createBooth({ scenario, seed: 1, start: EPOCH });
  return historyOf(booth, 2, { start: EPOCH, end: END }).map(({ kind, tag, mono, value, quality }) => {
    return { kind, tag, mono, value: JSON.parse(value) as unknown, quality };
  });
}

const storedOf = (db: Db): StoredRecord[] => {
  const stream = findStream(db, "stream-1");
  return stream === undefined ? [] : [...recordsOf(db, stream, {})];
};

const counts = (db: Db): { segments: number; bytes: number; held: string } => {
  const sql =
    "SELECT count(*) AS segments, sum(length(message)) AS bytes, (SELECT held::text FROM streams) AS held FROM segments";
  return row<{ segments: number; bytes: number; held: string }>(db, sql) ?? { segments: 0, bytes: 0, held: "" };
};

function ask(bench: Bench, report: string, few_booths: number): Promise<unknown> {
  const [path = "", query = ""] = report.split("?");
  const service = { ...bench.service, few_booths };
  return answerOf(bench, path, { service, now: END, query: Object.fromEntries(new URLSearchParams(query)) });
}

describe("the service's stored records of a day", () => {
  it("are compacted after the day ends, and keep their sequence numbers and the range of held numbers", () => {
    const bench = boundBench();
    const log = logOf("busy-day");
    deliver(bench, log);
    const { db, boothId } = bench;
    const before = storedOf(db);
    const sizes = counts(db);
    const version = JSON.stringify(boothFigures(db, boothId, END).stages);
    const held = heldSeqs(db, findStream(db, "stream-1") ?? { id: 0, gateway_id: "" });
    const groups = rawStreams(db, END);
    expect(groups).toEqual(["stream-1"]);
    const done = compactStream(db, "stream-1", END);
    expect(done.segments).toBeGreaterThan(20);
    expect(done.into).toBeLessThan(done.segments / 5);
    const after = counts(db);
    expect(after.held).toBe(sizes.held);
    expect(after.bytes).toBeLessThan(sizes.bytes / 2);
    expect(storedOf(db)).toEqual(before);
    expect(heldSeqs(db, findStream(db, "stream-1") ?? { id: 0, gateway_id: "" })).toEqual(held);
    expect(JSON.stringify(boothFigures(db, boothId, END).stages)).toBe(version);
    expect(compactStream(db, "stream-1", END).segments).toBe(0);
    // Records that arrive again are known, also from within a compacted segment.
    deliver(bench, log);
    expect(storedOf(db)).toEqual(before);
    expect(dropEmptied(db, END)).toBe(DAYS);
    compactStream(db, "stream-1", END + 2 * DAY_MS);
    expect(dropEmptied(db, END + 2 * DAY_MS)).toBe(1);
    expect(storedOf(db)).toEqual(before);
  });

  it("are compacted in parts before the day ends, as soon as the records are settled and fill a segment", () => {
    const bench = boundBench();
    const { db, boothId } = bench;
    const log = Array.from({ length: 25_000 }, (_, nth): LogRecord => {
      return { kind: "r", tag: "temperature", mono: nth * 500, value: nth % 7, quality: "good" };
    });
    deliver(bench, log, { size: 500 });
    const before = storedOf(db);
    const { held, segments } = counts(db);
    const last = EPOCH + (log.at(-1)?.mono ?? 0);
    // The first 8,100 seconds have settled by then, which don't fill a segment.
    expect(settledStreams(db, boothId, EPOCH + 2.5 * HOUR)).toEqual([]);
    expect(compactStream(db, "stream-1", EPOCH + 2.5 * HOUR).segments).toBe(0);
    expect(settledStreams(db, boothId, last + 3 * HOUR)).toEqual(["stream-1"]);
    expect(compactStream(db, "stream-1", last + 3 * HOUR)).toMatchObject({ segments: 40, into: 1 });
    expect(settledStreams(db, boothId, last + 3 * HOUR)).toEqual([]);
    expect(counts(db)).toMatchObject({ held, segments: segments - 39 });
    expect(storedOf(db)).toEqual(before);
    deliver(bench, log, { size: 500 });
    expect(counts(db)).toMatchObject({ held, segments: segments - 39 });
  });

  it("are deleted when they are too old, but still count as held", () => {
    const bench = boundBench();
    const log = logOf("busy-day");
    deliver(bench, log);
    const { db } = bench;
    compactStream(db, "stream-1", END + DAY_MS);
    const { held } = counts(db);
    const later = END + 120 * DAY_MS;
    expect(retain(db, 400, later)).toBe(0);
    expect(retain(db, 30, later)).toBeGreaterThan(0);
    expect(counts(db)).toMatchObject({ segments: 0, held });
    const kinds = rows<{ kind: string }>(db, "SELECT DISTINCT kind FROM records ORDER BY kind").map(({ kind }) => kind);
    expect(kinds.filter((kind) => ["r", "h", "e"].includes(kind))).toEqual([]);
    expect(kinds).toContain("p");
    deliver(bench, log.slice(0, 600));
    expect(counts(db)).toMatchObject({ segments: 0, held });
  });
});

const WINDOWS = [
  `start=2026-03-03T06:00:00Z&end=2026-03-05T06:00:00Z`,
  `start=2026-03-02T15:00:00Z&end=2026-03-06T14:00:00Z`,
];
const REPORTS = [
  ...WINDOWS.flatMap((window) => [
    `/api/utilization?${window}`,
    ...["day", "week", "month", "booth", "facility", "region"].map(
      (by) => `/api/bucketed_utilization?group_by=${by}&${window}`,
    ),
  ]),
  "/api/booths?includes=cycle_count:utilization_times",
  "/api/booths/booth_status_summary",
  "/api/booths/booth_filter_options",
];

describe("reports over many booths", () => {
  it.each(["busy-day", "standard-cycle", "two-bays", "power-cycle", "estop", "night-shift"])(
    "are the same from stored facts as from the log, whether computed in one part or several, in scenario %s",
    async (name) => {
      const log = logOf(name);
      for (const cuts of [
        [0, log.length],
        [0, Math.floor(log.length / 3), Math.floor(log.length / 2), log.length],
      ]) {
        const bench = boundBench();
        for (const [nth, last] of cuts.slice(1).entries()) {
          const first = cuts[nth] ?? 0;
          deliver(bench, log, { first, last });
          const now = last === log.length ? END : EPOCH + (log[last - 1]?.mono ?? 0);
          expect(foldBooth(bench.db, bench.boothId, now)).toBe(true);
        }
        for (const report of REPORTS) {
          expect(await ask(bench, report, 0), `${report} of ${cuts.length} parts`).toEqual(
            await ask(bench, report, 100),
          );
        }
      }
    },
  );

  it("include the estimated energy of a bridged silence at the end of an hour that was already computed", async () => {
    const { energy: _, ...tags } = PARAMETERS.tags;
    const meant = { bay: 0, factor: 1, group: "fast", deadband: 0, heartbeat_ms: 900_000 };
    const fan_speed: TagParameters = { ...meant, role: "fan_speed", unit: "%" };
    const parameters = { ...PARAMETERS, motor_size_hp: 20, tags: { ...tags, fan_speed } };
    const log = script(parameters)
      .set("fan_speed", 100)
      .stage("spray", 3 * HOUR - 6_000);
    const before = log.records().length;
    const records = log.silence(12_000).wait(HOUR).records();
    const bench = boundBench();
    deliver(bench, records, { last: before });
    expect(foldBooth(bench.db, bench.boothId, EPOCH + 3 * HOUR + 1_000)).toBe(true);
    deliver(bench, records, { first: before });
    expect(foldBooth(bench.db, bench.boothId, END)).toBe(true);
    for (const report of REPORTS.filter((path) => path.includes("utilization")))
      expect(await ask(bench, report, 0), report).toEqual(await ask(bench, report, 100));
  });

  it("use the local days of the facility's time zone, even after the zone changes or before daily figures exist", async () => {
    const bench = boundBench();
    const { db, boothId } = bench;
    deliver(bench, logOf("busy-day"));
    // The last stage has ended by then: nothing else is to be folded.
    const later = END + HOUR;
    expect(foldBooth(db, boothId, later)).toBe(true);
    const { signal } = new AbortController();
    const changes = [
      "UPDATE facilities SET tz = 'Asia/Tokyo'",
      "UPDATE facilities SET tz = 'Europe/Berlin'",
      "UPDATE booth_facts SET days_zone = NULL, days_at = NULL",
    ];
    for (const change of changes) {
      db.exec(change);
      await figuresRound(db, { now: () => later, signal });
      for (const report of REPORTS.filter((path) => path.includes("bucketed")))
        expect(await ask(bench, report, 0), `${report} after ${change}`).toEqual(await ask(bench, report, 100));
      expect(foldBooth(db, boothId, later)).toBe(false);
    }
  });

  it("are computed only once by several simultaneous programs, and again after new records arrive", async () => {
    const bench = boundBench();
    const log = logOf("busy-day");
    deliver(bench, log, { last: 600 });
    const { signal } = new AbortController();
    const now = () => END;
    await Promise.all([figuresRound(bench.db, { now, signal }), figuresRound(bench.db, { now, signal })]);
    const first = rows(bench.db, "SELECT booth_id, version FROM booth_facts");
    expect(first).toHaveLength(1);
    // The last stage was open, and has ended an hour later.
    expect(foldBooth(bench.db, bench.boothId, END + HOUR)).toBe(true);
    expect(foldBooth(bench.db, bench.boothId, END + HOUR + MINUTE)).toBe(false);
    deliver(bench, log, { first: 600, last: 720 });
    await figuresRound(bench.db, { now, signal });
    expect(rows(bench.db, "SELECT booth_id, version FROM booth_facts")).not.toEqual(first);
  });
});
