import { afterAll, beforeAll, expect, it } from "vitest";
import { checkOracle, checkOutcome } from "./checker.ts";
import { oracleOf, type Oracle, type OracleRow } from "./checker/oracle.ts";
import { play, type Played } from "./run.ts";
import { storyOf } from "./stories.ts";
import type { Story } from "./story.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

/**
 * A seed whose story has filter changes and cycles far from every fault. Otherwise some tests would find no record to
 * change.
 */
const SEED = 2;
let played: Played;
let whole: Oracle;

/**
 * Returns a story of a day with a filter change, a kill and two outages, with slow polls so that it is played quickly.
 */
function story(): Story {
  return {
    ...storyOf(SEED),
    hours: 24,
    poll_ms: 10_000,
    serial_at_ms: null,
    faults: [
      { at_ms: 3 * HOUR_MS, kind: "kill", moment: null, for_ms: 20_000 },
      { at_ms: 6 * HOUR_MS, kind: "service_down", for_ms: HOUR_MS },
      { at_ms: 9 * HOUR_MS, kind: "filter_change", filters: ["pre_filter"] },
      { at_ms: 20 * HOUR_MS, kind: "plc", how: "timeout", for_ms: 600_000 },
    ],
  };
}

beforeAll(async () => {
  played = await play(story());
  whole = oracleOf(played.outcome);
});

afterAll(() => played.close());

const found = (spoilt: Partial<Oracle>): readonly string[] => checkOracle(played.outcome, { ...whole, ...spoilt });

/** Returns a record from the middle of the log, which has neighbors. */
function midst(is: (row: OracleRow) => boolean): OracleRow {
  const own = whole.rows.filter(is);
  const row = own[own.length >> 1];
  if (row === undefined) throw new Error("there is no such record");
  return row;
}

const rowsWith = (row: OracleRow, value: object): readonly OracleRow[] =>
  whole.rows.map((one) => (one === row ? { ...one, value: { ...(one.value as object), ...value } } : one));

it("the simulation checker reports nothing for a correct story that has records to check", () => {
  expect(checkOutcome(played.outcome)).toEqual([]);
  expect(whole.rows.length).toBeGreaterThan(500);
  expect(whole.stages.length).toBeGreaterThan(20);
  expect(played.outcome.truth.cycles.length).toBeGreaterThan(2);
});

it("the simulation checker reports a missing record, unless a gap record declares it as dropped", () => {
  const { stream, seq } = midst(({ kind }) => kind === "r");
  const rows = whole.rows.filter((row) => row.stream !== stream || row.seq !== seq);
  const name = `${seq} to ${seq}`;
  expect(found({ rows })).toEqual([`${stream}: ${name} are neither there nor given up`]);
  expect(found({ rows, gaps: [{ stream, from: seq, to: seq, reason: "planted" }] })).toEqual([]);
});

it("the simulation checker reports a missing first record of a stream", () => {
  const rows = whole.rows.filter(({ seq }) => seq !== 1);
  expect(found({ rows })).toEqual([expect.stringContaining("1 to 1 are neither there nor given up")]);
});

it("the simulation checker reports a duplicated record, whether it has its old or a new sequence number", () => {
  const row = midst(({ kind }) => kind === "r");
  const newest = Math.max(...whole.rows.filter(({ stream }) => stream === row.stream).map(({ seq }) => seq));
  const same = found({ rows: [...whole.rows, row] });
  expect(same.some((text) => text.includes("is there twice"))).toBe(true);
  const again = { ...row, seq: newest + 1, received_at: Infinity };
  expect(found({ rows: [...whole.rows, again] })).toEqual([expect.stringContaining(`and ${row.stream}`)]);
});

it("the simulation checker reports records that arrive out of order", () => {
  const rows = whole.rows.map((row) => ({ ...row, received_at: -row.seq }));
  expect(found({ rows })).toEqual([expect.stringMatching(/arrived in \d+ runs/)]);
});

it.each([
  ["shifted by a minute", (start: number) => start + 60_000],
  ["started a minute early", (start: number) => start - 60_000],
])("the simulation checker reports a stage that is %s", (_, shift) => {
  const at = whole.stages.findIndex(({ mode }) => mode === "Spray Mode");
  const stages = whole.stages.map((stage, index) => {
    if (index === at) return { ...stage, start: shift(stage.start) };
    return index === at - 1 ? { ...stage, end: shift(stage.end) } : stage;
  });
  expect(found({ stages })).toEqual([expect.stringContaining("in truth, the service shows")]);
});

it("the simulation checker reports a wrong mode, a missing stage, and a time without polls that no fault explains", () => {
  const at = whole.stages.findIndex(({ mode }) => mode === "Bake Mode");
  const renamed = whole.stages.map((stage, index) => (index === at ? { ...stage, mode: "No Data" } : stage));
  expect(found({ stages: renamed })).toEqual([expect.stringContaining("shows No Data")]);
  expect(found({ stages: whole.stages.toSpliced(at, 1) })).toEqual([expect.stringContaining("shows nothing")]);
  const noon = played.outcome.window.start + 12 * HOUR_MS;
  const rows = whole.rows.filter(({ kind, time }) => kind !== "h" || time < noon || time > noon + 2 * HOUR_MS);
  expect(found({ rows }).some((text) => text.includes("not polled, and no fault explains it"))).toBe(true);
});

it("the simulation checker reports minutes that are missing from a mode's total", () => {
  const [mode = "", value = 0] = Object.entries(whole.minutes)[0] ?? [];
  expect(found({ minutes: { ...whole.minutes, [mode]: value - 1 } })).toEqual([expect.stringContaining("modes make")]);
});

it("the simulation checker reports a cycle that is missing, duplicated, shifted or wrongly counted", () => {
  const cycle = midst(({ kind }) => kind === "c");
  const { counted, end } = cycle.value as { readonly counted: boolean; readonly end: number };
  const newest = Math.max(...whole.rows.map(({ seq }) => seq));
  expect(found({ rows: rowsWith(cycle, { counted: !counted }) })).toHaveLength(2);
  expect(found({ rows: rowsWith(cycle, { end: end + 60_000 }) })).toHaveLength(2);
  expect(found({ rows: [...whole.rows, { ...cycle, seq: newest + 1 }] })).toContainEqual(
    expect.stringContaining("told 2 times"),
  );
  const lost = whole.rows.map((row) => (row === cycle ? { ...row, kind: "e" } : row));
  expect(found({ rows: lost })).toEqual([expect.stringContaining("told 0 times")]);
});

it("the simulation checker reports a missing filter change, and a filter change that did not happen", () => {
  const change = midst(
    ({ kind, value }) => kind === "f" && (value as { readonly source: string }).source === "plc_reset",
  );
  const lost = whole.rows.map((row) => (row === change ? { ...row, kind: "e" } : row));
  expect(found({ rows: lost })).toEqual([expect.stringContaining("changed, and nobody told")]);
  const { installed_at } = change.value as { readonly installed_at: number };
  const moved = found({ rows: rowsWith(change, { installed_at: installed_at + HOUR_MS }) });
  expect(moved).toEqual([
    expect.stringContaining("changed, and nobody told"),
    expect.stringContaining("told, and it wasn't changed"),
  ]);
});

it("the simulation checker reports a PLC program in the history that never ran", () => {
  expect(found({ programs: [...whole.programs, "99Z"] })).toEqual(["program 99Z: it never ran"]);
});
