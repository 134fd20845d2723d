import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { forgetModes } from "../../src/derivation/fold.ts";
import type { DeriveState } from "../../src/derivation/state.ts";
import type { KeptStore } from "../../src/store/thread/keeper.ts";
import { checkStore } from "../../src/store/files.ts";
import { storePath } from "../../src/store/open.ts";
import { lastStart } from "../../src/store/facts/snapshots.ts";
import { prepareStatements } from "../../src/store/log/statements.ts";
import { run, script, stay } from "../support/booth.ts";
import { countingFold } from "./busy-log.ts";
import { PLAIN } from "../support/parameters.ts";
import { clockRecord, reading } from "../support/records.ts";
import { keptStoreIn, sqlOn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { DAY_MS } from "../../src/domain/time.ts";

const EACH = 20;

/** Opens a store whose fold notes the seqs that it folds. */
function storeIn(dataDir: string): { readonly store: KeptStore; readonly folded: number[] } {
  const folded: number[] = [];
  const counting = countingFold(1_000);
  const fold = {
    ...counting,
    step: (...[state, record]: Parameters<typeof counting.step>) => {
      folded.push(record.seq);
      return counting.step(state, record);
    },
  };
  return { store: keptStoreIn(dataDir, { fold }), folded };
}

function spoil(folder: string, sql: string): void {
  expect(sqlOn(folder, sql)).toBeGreaterThan(0);
}

/** Returns the seqs that a start folds, and the resulting state. */
function startOf(folder: string) {
  const { store, folded } = storeIn(folder);
  store.openStream("booth-1");
  const seen = { first: folded[0], last: folded.at(-1), state: store.state("s-1") };
  store.close();
  return seen;
}

it("a damaged derivation state is restored from the last kept state, or from the whole log if all kept states are damaged", () => {
  const folder = temporaryFolder();
  const { store } = storeIn(folder);
  store.openStream("booth-1");
  for (let day = 0; day < 3; day += 1) {
    const readings = Array.from({ length: EACH }, (_, i) => reading(day * 2 * DAY_MS + i * 1_000, "number", day + i));
    store.ingest("s-1", day === 0 ? [clockRecord(0), ...readings] : readings, day + 1);
  }
  const whole = store.state("s-1");
  const kept = 1 + 2 * EACH;
  const newest = 1 + 3 * EACH;
  store.ingest("s-1", [reading(4 * DAY_MS + 60_000, "number", 1)], 4);
  const after = store.state("s-1");
  expect(after).not.toEqual(whole);
  store.close();

  spoil(folder, "UPDATE state SET crc = crc + 1");
  expect(startOf(folder)).toEqual({ first: newest + 1, last: newest + 1, state: after });
  spoil(folder, "UPDATE state SET crc = crc + 1");
  spoil(folder, "UPDATE base SET sum = sum + 1 WHERE seq = (SELECT max(seq) FROM base)");
  expect(startOf(folder)).toEqual({ first: kept + 1, last: newest + 1, state: after });
  spoil(folder, "UPDATE state SET crc = crc + 1");
  spoil(folder, "UPDATE base SET sum = sum + 1");
  expect(startOf(folder)).toEqual({ first: 1, last: newest + 1, state: after });
});

it("a store check removes a damaged kept derivation state, and a later commit stores a new one", () => {
  const folder = temporaryFolder();
  const { store } = storeIn(folder);
  store.openStream("booth-1");
  store.ingest("s-1", [clockRecord(0), reading(1_000, "number", 1)], 1);
  const snapshots = (): readonly unknown[] => {
    const db = new Database(storePath(folder), { readonly: true });
    const kept = db.prepare("SELECT seq FROM base WHERE stream_id = 's-1'").pluck().all();
    db.close();
    return kept;
  };
  expect(snapshots()).toEqual([2]);
  spoil(folder, "UPDATE base SET packed = substr(packed, 2)");
  expect(checkStore(folder, () => undefined)).toMatchObject({ sound: false, streams: [{ damaged_states: 1 }] });
  store.ingest("s-1", [reading(2_000, "number", 2)], 2);
  expect(snapshots()).toEqual([2]);
  while (store.check());
  expect(snapshots()).toEqual([]);
  store.ingest("s-1", [reading(DAY_MS / 24, "number", 3)], 3);
  expect(snapshots()).toEqual([4]);
  expect(checkStore(folder, () => undefined)).toMatchObject({ sound: true, streams: [{ damaged_states: 0 }] });
  store.close();
});

it("lastStart returns a kept derivation state without modes if later records are missing", () => {
  const folder = temporaryFolder();
  storeIn(folder).store.close();
  const db = new Database(storePath(folder));
  const booth = script(PLAIN);
  stay(booth, 60_000, { mode: 3 });
  const state = (): DeriveState => structuredClone(run(booth, PLAIN).state);
  const store = { sql: prepareStatements(db), snapshots: { last: () => ({ seq: 5, at: 0, state: state() }) } };
  expect(forgetModes(state())).not.toEqual(state());
  expect(lastStart(store, "s-1", 6)).toEqual({ seq: 5, state: state() });
  expect(lastStart(store, "s-1", 7)).toEqual({ seq: 5, state: forgetModes(state()) });
  db.close();
});
