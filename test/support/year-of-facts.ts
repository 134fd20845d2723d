import type { Database } from "better-sqlite3";
import { emptyState, type DeriveState } from "../../src/derivation/state.ts";
import { deriveFold } from "../../src/store/facts/fold.ts";
import { packFact, stateRow } from "../../src/store/log/rows.ts";
import { prepareStatements } from "../../src/store/log/statements.ts";
import type { Fact, LogRecord, Placed, Stored } from "../../src/domain/record.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { Mode } from "../../src/domain/booth.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

export const STREAM = "00000000-0000-4000-8000-000000000001";
export const YEAR_START = Date.UTC(2025, 0, 1);
export const YEAR_END = Date.UTC(2026, 0, 1);
const STAGES = 73_000;
const FILTER_CHANGES = 40;

/**
 * Fills a store with a year of facts of a busy booth: 73,000 stages, 8,760 hours, 40 filter changes, and a state at the
 * year's end. The facts are generated, not folded, because the benchmark measures only queries.
 */
export function fillYear(db: Database, parameters: Parameters): void {
  const sql = prepareStatements(db);
  sql.addStream.run({ stream: STREAM, booth: "booth-1", at: YEAR_START });
  let seq = 0;
  const stamp = (time: number) => ({ boot: "b", mono: time - YEAR_START, at: time, tag: "", quality: "good" }) as const;
  db.transaction(() => {
    const add = (fact: Fact, time: number): void => {
      const placed = { ...fact, seq: ++seq, time } as Placed<Fact>;
      sql.addFact.run(packFact(STREAM, placed, { version: deriveFold.version, prev: seq - 1 }));
    };
    for (const fact of factsOfYear(stamp)) add(fact, fact.at);
    seq += 2;
    sql.moveStream.run({ stream: STREAM, newest: seq, acked: 0, take: 0 });
    sql.saveState.run(stateRow(STREAM, seq, stateAtEnd(parameters, seq)));
  })();
}

type Stamp = (time: number) => {
  readonly boot: string;
  readonly mono: number;
  readonly at: number;
  readonly tag: "";
  readonly quality: "good";
};

const ORDER: readonly Mode[] = ["idle", "prep", "spray", "flash", "spray", "purge", "bake", "cool_down"];

function* factsOfYear(stamp: Stamp): Generator<Fact> {
  const length = (YEAR_END - YEAR_START) / STAGES;
  for (let at = 0; at < STAGES; at += 1) {
    const start = YEAR_START + Math.round(at * length);
    const end = YEAR_START + Math.round((at + 1) * length);
    const more = {
      end_reason: "changed",
      is_new_start: true,
      uncertain_ms: 0,
      uncertainty_ms: 1000,
      raw: "3",
    } as const;
    yield {
      kind: "m",
      ...stamp(end),
      value: { bay: 0, mode: ORDER[at % ORDER.length] ?? "idle", start, end, ...more },
    };
  }
  for (let hour = YEAR_START; hour < YEAR_END; hour += HOUR_MS) {
    const value = {
      hour,
      ms_by_mode: { spray: HOUR_MS / 2, flash: HOUR_MS / 2 },
      cycles: 1,
      gas_therm: 2.5,
      energy_kwh: 12.3,
    };
    yield { kind: "d", ...stamp(hour + HOUR_MS), value };
  }
  for (let change = 1; change <= FILTER_CHANGES; change += 1) {
    const step = (YEAR_END - YEAR_START) / (FILTER_CHANGES + 1);
    const [installed_at, removed_at] = [YEAR_START + (change - 1) * step, YEAR_START + change * step].map(Math.round);
    if (installed_at === undefined || removed_at === undefined) continue;
    const times = {
      installed_at,
      removed_at,
      duration_ms: removed_at - installed_at,
      overuse_ms: 0,
      overuse_since: null,
    };
    const use = {
      active_spray_ms: 1e8,
      booth_in_use_ms: 2e8,
      booth_overuse_cycles: 0,
      booth_overuse_ms: 0,
      cycles: 80,
    };
    const maintenance = { filter_type: "exhaust_filter", ...times, ...use, limits: {}, service: "on_time" } as const;
    const value = {
      filter: "exhaust_filter",
      source: "plc_reset",
      installed_at: removed_at,
      flagged: false,
      maintenance,
    } as const;
    yield { kind: "f", ...stamp(removed_at), value };
  }
}

/** Returns the fold's state after two events: the booth's parameters took effect, and a last poll at the end. */
function stateAtEnd(parameters: Parameters, seq: number): DeriveState {
  const base = { boot: "b", mono: 0, at: YEAR_END, tag: "", quality: "good" } as const;
  const records: Stored<LogRecord>[] = [
    { ...base, seq: seq - 1, kind: "t", value: { wall: YEAR_END, state: "synced", witness: "kernel" } },
    { ...base, seq, kind: "p", value: parameters },
  ];
  return records.reduce((state, record) => deriveFold.step(state, record).state, emptyState());
}
