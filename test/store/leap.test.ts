import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../src/domain/record.ts";
import { deriveFold } from "../../src/store/facts/fold.ts";
import { openStoreFile } from "../../src/store/open.ts";
import { createWriter, type Writer } from "../../src/store/thread/writer.ts";
import { clockRecord, reading, T0 } from "../support/records.ts";
import { allRecords } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";
import { HOUR_MS, DAY_MS } from "../../src/domain/time.ts";

const YEAR = 365 * DAY_MS;
const BUDGET = { max_bytes: 64_000_000, max_age_ms: 3 * DAY_MS };
const PER_HOUR = 60;

interface Bed {
  readonly folder: string;
  writer: Writer;
  readonly stream: string;
  take: number;
}

function open(folder: string): Writer {
  const clocks = { now: () => 0, wall: () => 0, uuid: () => "s-1" };
  return createWriter({ db: openStoreFile(folder), fold: deriveFold, budget: BUDGET, ...clocks });
}

function commit(one: Bed, records: readonly LogRecord[]): void {
  const { newest_seq } = one.writer.ingest(one.stream, records, ++one.take);
  one.writer.ack(one.stream, newest_seq);
}

/** Confirms a time that is wrong by `off`. */
function vouch(one: Bed, mono: number, off = 0): void {
  const right = clockRecord(mono);
  commit(one, [{ ...right, value: { wall: T0 + mono + off, state: "synced" } } as LogRecord]);
}

function hours(one: Bed, from: number, to: number): void {
  for (let hour = from; hour < to; hour += 1) {
    const minute = (index: number): LogRecord => reading(hour * HOUR_MS + index * 60_000, "tag", (hour * index) % 97);
    commit(
      one,
      Array.from({ length: PER_HOUR }, (_, index) => minute(index)),
    );
  }
}

/** Returns a bed after two days with the right time, all of it delivered. */
function lived(): Bed {
  const folder = memoryFolder();
  const writer = open(folder);
  const one: Bed = { folder, writer, stream: writer.openStream("booth-1").stream, take: 0 };
  vouch(one, 0);
  hours(one, 0, 48);
  return one;
}

/** Corrects a wrong time between two commits. */
function mended(one: Bed): void {
  while (one.writer.mend());
}

/** Returns the difference of each reading from its right time, in ms. */
function errors(one: Bed): readonly number[] {
  const records = allRecords(one.writer, one.stream, one.writer.info(one.stream).oldest_seq);
  return records.filter(({ kind }) => kind === "r").map(({ time, mono }) => time - T0 - mono);
}

describe("a store after a leap of the clock by a year", () => {
  it("deletes no record if the time is corrected within a day, and then gives all records their right time", () => {
    const one = lived();
    vouch(one, 48 * HOUR_MS, YEAR);
    hours(one, 48, 71);
    expect(one.writer.info(one.stream).oldest_seq).toBe(1);
    vouch(one, 71 * HOUR_MS);
    mended(one);
    hours(one, 71, 72);
    expect(one.writer.info(one.stream).oldest_seq).toBe(1);
    const wrong = errors(one);
    expect(wrong).toHaveLength(72 * PER_HOUR);
    expect(wrong.filter((by) => by !== 0)).toEqual([]);
    one.writer.close();
  });

  it("deletes records by age only after a day in the new time, even after a restart", () => {
    const one = lived();
    vouch(one, 48 * HOUR_MS, YEAR);
    hours(one, 48, 60);
    one.writer.close();
    one.writer = open(one.folder);
    one.writer.openStream("booth-1");
    hours(one, 60, 72);
    expect(one.writer.info(one.stream).oldest_seq).toBe(1);
    hours(one, 72, 74);
    expect(one.writer.info(one.stream).oldest_seq).toBeGreaterThan(40 * PER_HOUR);
    one.writer.close();
  });
});

describe("a wrong time that outlasts all records with the right time", () => {
  it("is corrected in the derivation state, and all kept records get their right time", () => {
    const one = lived();
    vouch(one, 48 * HOUR_MS, YEAR);
    // The wrong time lasts so long that all records with the right time were deleted by age.
    hours(one, 48, 48 + 5 * 24);
    expect(one.writer.info(one.stream).oldest_seq).toBeGreaterThan(48 * PER_HOUR);
    const end = 48 + 5 * 24;
    vouch(one, end * HOUR_MS);
    mended(one);
    hours(one, end, end + 1);
    const { clock } = one.writer.state(one.stream);
    expect(clock).toMatchObject({ offset: T0, now: T0 + (end + 1) * HOUR_MS - 60_000 });
    expect(errors(one).filter((by) => by !== 0)).toEqual([]);
    expect(errors(one).length).toBeGreaterThan(2 * 24 * PER_HOUR);
    one.writer.close();
  });
});
