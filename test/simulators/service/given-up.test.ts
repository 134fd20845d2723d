import { expect, it } from "vitest";
import { boothFigures } from "../../../simulators/service/figures/booth.ts";
import { batchOf, boundBench, CODES, EPOCH, MINUTE, script, type LogRecord, type Script } from "./service-log.ts";

const AWAY_MS = 12_000;

/** Modes after `script` was logged for a while, but for the records behind `kept` that a full store gave up. */
function modesWithout(log: Script, [from, to]: readonly [number, number]) {
  const { db, boothId, ingest } = boundBench();
  const records = log.records();
  const value = { from, to, reason: "the store's budget is full" };
  const gap: LogRecord = { kind: "g", tag: "", mono: records[to]?.mono ?? 0, value, quality: "good" };
  ingest(batchOf(records.slice(0, from - 1)));
  ingest(batchOf([...records.slice(to), gap], { s0: to + 1 }));
  const { stages } = boothFigures(db, boothId, EPOCH + log.now());
  return stages.map(({ mode, start, end }) => [mode, start - EPOCH, end - EPOCH]);
}

const seqOf = (log: Script, kind: string, mono: number): number =>
  log.records().findIndex((record) => record.kind === kind && record.mono === mono) + 1;

it("the last reading before dropped records counts only for its own instant, and later time is no_data", () => {
  // A short silence, one poll after it, and of the hour behind that nothing is left.
  const at = MINUTE + AWAY_MS;
  const log = script().stage("spray", MINUTE).silence(AWAY_MS).set("mode", CODES.spray).silence(5_000);
  log
    .stage("bake", 30 * MINUTE)
    .silence(60_000)
    .stage("idle", 10 * MINUTE);
  const first = seqOf(log, "r", at) + 1;
  const last = seqOf(log, "r", at + 5_000);
  expect(first).toBeLessThanOrEqual(last);
  const back = at + 5_000 + 31 * MINUTE;
  expect(modesWithout(log, [first, last])).toEqual([
    ["spray", 0, at],
    ["no_data", at, back],
    ["idle", back, back + 10 * MINUTE],
  ]);
});

it("records that the service has stay known even if the gateway later declares them lost", () => {
  const { db, boothId, ingest } = boundBench();
  const log = script()
    .stage("spray", MINUTE)
    .stage("bake", 30 * MINUTE)
    .silence(5_000)
    .wait(10 * MINUTE);
  const records = log.records();
  ingest(batchOf(records));
  const value = { from: 2, to: records.length - 2, reason: "damaged in the store" };
  const gap: LogRecord = { kind: "g", tag: "", mono: log.now(), value, quality: "good" };
  ingest(batchOf([gap], { s0: records.length + 1 }));
  const { stages } = boothFigures(db, boothId, EPOCH + log.now());
  expect(stages.map(({ mode, start, end }) => [mode, (end - start) / MINUTE])).toEqual([
    ["spray", 1],
    ["bake", 40 + 5 / 60],
  ]);
});
