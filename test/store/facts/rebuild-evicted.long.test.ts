import { cpSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { deriveFold } from "../../../src/store/facts/fold.ts";
import { openStoreFile } from "../../../src/store/open.ts";
import { createWriter, type Writer } from "../../../src/store/thread/writer.ts";
import type { Parameters } from "../../../src/domain/parameters.ts";
import { script, stay, T0 } from "../../support/booth.ts";
import { clockedEntries } from "../../support/clocked.ts";
import { PLAIN } from "../../support/parameters.ts";
import { changedBy, factRows, rebuild } from "../../support/rebuild.ts";
import { ingestEntries, sqlOn } from "../../support/store.ts";
import { memoryFolder } from "../../support/temporary.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

const DAY = 24 * 60 * MINUTE_MS;
const BUDGET = { max_bytes: 64_000_000, max_age_ms: 3 * DAY };

function open(folder: string, max_age_ms = BUDGET.max_age_ms): Writer {
  const clocks = { now: () => 0, wall: () => 0 };
  const budget = { ...BUDGET, max_age_ms };
  return createWriter({ db: openStoreFile(folder), fold: deriveFold, uuid: () => "s-1", budget, ...clocks });
}

/** Folders with eight days of jobs, all acked, by the age at which records are deleted. */
const folders = new Map<number, string>();
const undos: (() => unknown)[] = [];
afterAll(() => undos.forEach((undo) => undo()));

/** Returns a writer on a copy of such a folder, whose log has about the last three days. */
function lived(folder: string, max_age_ms = BUDGET.max_age_ms): { readonly writer: Writer; readonly stream: string } {
  const known = folders.get(max_age_ms) ?? liveFor(max_age_ms);
  folders.set(max_age_ms, known);
  cpSync(known, folder, { recursive: true });
  const writer = open(folder, max_age_ms);
  return { writer, stream: writer.openStream("booth-1").stream };
}

function liveFor(max_age_ms: number): string {
  const folder = memoryFolder((undo) => void undos.push(undo));
  const writer = open(folder, max_age_ms);
  const { stream } = writer.openStream("booth-1");
  const booth = script(PLAIN);
  while (booth.now < 8 * DAY) {
    for (const [mode, minutes] of [
      [1, 95],
      [3, 30],
      [4, 6],
      [6, 30],
      [8, 10],
    ] as const)
      stay(booth, minutes * MINUTE_MS, { mode });
  }
  ingestEntries(writer, booth.entries, { sizes: [360], committed: (newest) => void writer.ack(stream, newest) });
  writer.close();
  return folder;
}

it("a rebuild of a log without its first records starts from the first kept derivation state, and changes no right fact", () => {
  const folder = memoryFolder();
  const { writer, stream } = lived(folder);
  const { oldest_seq, newest_seq } = writer.info(stream);
  expect(oldest_seq).toBeGreaterThan(newest_seq / 3);
  const before = { rows: factRows(folder), state: JSON.stringify(writer.state(stream)) };
  const done = rebuild(writer, stream);
  expect(done.from_seq).toBeGreaterThanOrEqual(oldest_seq);
  // It starts within a day of the oldest kept record, because there is a state for each day.
  expect(done.from_seq).toBeLessThan(oldest_seq + (newest_seq - oldest_seq) / 2);
  expect(done.records).toBeGreaterThan(100);
  expect(changedBy(done)).toBe(0);
  expect({ rows: factRows(folder), state: JSON.stringify(writer.state(stream)) }).toEqual(before);
  writer.close();
});

it("a rebuild with today's parameters starts from the first kept derivation state, and leaves older facts unchanged", () => {
  const folder = memoryFolder();
  const { writer, stream } = lived(folder);
  const unchanged = { rows: factRows(folder), state: JSON.stringify(writer.state(stream)) };
  expect(changedBy(rebuild(writer, stream, true))).toBe(0);
  expect({ rows: factRows(folder), state: JSON.stringify(writer.state(stream)) }).toEqual(unchanged);

  // From today on the code for spray means prep.
  const state = writer.state(stream);
  const today: Parameters = { ...PLAIN, modes: { ...PLAIN.modes, "3": "prep" } };
  const { boot, mono, now } = state.clock;
  const record = { kind: "p", boot, mono: mono + 1000, at: now, tag: "", quality: "good", value: today } as const;
  writer.ingest(stream, [record], writer.info(stream).last_take + 1);
  const done = rebuild(writer, stream, true);
  expect(done.from_seq).toBeGreaterThan(1);
  const stages = done.changes.find(({ kind }) => kind === "m");
  expect(stages?.replaced ?? 0).toBeGreaterThan(10);
  expect(stages?.withdrawn).toBe(0);
  expect(changedBy(rebuild(writer, stream, true))).toBe(0);
  writer.close();
});

it("a rebuild corrects facts that contradict the kept log, leaves older facts unchanged, and can be repeated", () => {
  const folder = memoryFolder();
  const { writer, stream } = lived(folder);
  const { oldest_seq, newest_seq } = writer.info(stream);
  const spans = (): unknown[] =>
    (factRows(folder) as { kind: string; start_ms: number; end_ms: number }[])
      .map(({ kind, start_ms, end_ms }) => `${kind} ${start_ms} ${end_ms}`)
      .sort();
  const before = spans();
  writer.close();
  // A stage that was lost to damage. Its seq is inside a row of the log, so only the fact is missing.
  const lost = `(SELECT min(seq) FROM fact WHERE kind = 'm' AND seq > ${(oldest_seq + newest_seq) / 2}
    AND EXISTS (SELECT 1 FROM log WHERE first_seq < seq AND last_seq > seq))`;
  sqlOn(folder, `INSERT INTO quarantine SELECT stream_id, seq, seq, 'planted', 1 FROM fact WHERE seq = ${lost}`);
  sqlOn(folder, `DELETE FROM fact WHERE seq = ${lost}`);
  // A damaged state is skipped, and the next one is used.
  sqlOn(folder, `UPDATE base SET sum = sum + 1 WHERE seq = (SELECT min(seq) FROM base)`);
  const again = open(folder);
  again.openStream("booth-1");
  const done = rebuild(again, stream);
  expect(done.changes.find(({ kind }) => kind === "m")).toMatchObject({ added: 1, withdrawn: 0, replaced: 0 });
  expect(spans()).toEqual(before);
  expect(changedBy(rebuild(again, stream))).toBe(0);
  again.close();
});

it("a log of less than a day is rebuilt from a kept derivation state, which also restores a damaged present state", () => {
  const folder = memoryFolder();
  const { writer, stream } = lived(folder, 10 * 60 * MINUTE_MS);
  const { oldest_seq } = writer.info(stream);
  expect(oldest_seq).toBeGreaterThan(1);
  const state = JSON.stringify(writer.state(stream));
  expect(changedBy(rebuild(writer, stream))).toBe(0);
  writer.close();
  sqlOn(folder, "UPDATE state SET crc = crc + 1");
  const again = open(folder);
  again.openStream("booth-1");
  expect(JSON.stringify(again.state(stream))).toBe(state);
  again.close();
});

it("a rebuild fails with the reason if the log's first records and all kept derivation states are missing", () => {
  const folder = memoryFolder();
  const { writer, stream } = lived(folder);
  writer.close();
  sqlOn(folder, "DELETE FROM base");
  const again = open(folder);
  again.openStream("booth-1");
  expect(() => again.rebuild(stream, false)).toThrow(/no state is kept/);
  again.close();
});

it("a rebuild keeps the times of boots that got their time late, before and after the kept derivation state", () => {
  const folder = memoryFolder();
  const writer = open(folder);
  const { stream } = writer.openStream("booth-1");
  let take = 0;
  const live = (boot: string, from: number, known: boolean): void => {
    const entries = clockedEntries(
      {
        parameters: PLAIN,
        boot,
        length_ms: DAY / 2,
        poll_ms: 10_000,
        mode: (ms) => (ms % 7_200_000 < MINUTE_MS ? 3 : 1),
        wall: (ms) => (known ? T0 + from : 12_000) + ms,
        kernel: () => known,
        service: () => null,
      },
      take,
    );
    take = entries.at(-1)?.take ?? take;
    const committed = (): unknown => writer.ack(stream, writer.info(stream).sendable_seq);
    ingestEntries(writer, entries, { sizes: [360], committed });
  };
  for (let day = 0; day < 8; day += 1) {
    live(`${day} unsure`, 0, false);
    live(`${day} sure`, day * DAY + DAY / 2, true);
  }
  expect(writer.info(stream).oldest_seq).toBeGreaterThan(1);
  const before = { rows: factRows(folder), state: JSON.stringify(writer.state(stream)) };
  const done = rebuild(writer, stream);
  expect(done.from_seq).toBeGreaterThan(1);
  expect(changedBy(done)).toBe(0);
  expect({ rows: factRows(folder), state: JSON.stringify(writer.state(stream)) }).toEqual(before);
  writer.close();
});
