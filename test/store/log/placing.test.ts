import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { knownTime } from "../../../src/derivation/clock.ts";
import type { Fact, Placed } from "../../../src/domain/record.ts";
import { storePath } from "../../../src/store/open.ts";
import { openReader } from "../../../src/store/reader.ts";
import type { Writer } from "../../../src/store/thread/writer.ts";
import { T0 } from "../../support/booth.ts";
import { clockedEntries, type ClockedLife } from "../../support/clocked.ts";
import { PLAIN } from "../../support/parameters.ts";
import { ingestEntries, sqlOn, writerIn } from "../../support/store.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

const EPOCH_1970 = 30_000;

/** A life of ten minutes: spray, then idle from the fifth minute on. */
const LIFE: ClockedLife = {
  parameters: PLAIN,
  boot: "a",
  length_ms: 10 * MINUTE_MS,
  poll_ms: 10_000,
  mode: (ms) => (ms < 5 * MINUTE_MS ? 3 : 1),
  wall: (ms) => T0 + ms,
  kernel: () => true,
  service: () => null,
};
const UNSYNCED: Partial<ClockedLife> = { wall: (ms) => EPOCH_1970 + ms, kernel: () => false };

interface Bed {
  readonly folder: string;
  writer: Writer;
  stream: string;
  take: number;
}

function bed(): Bed {
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  return { folder, writer, stream: writer.openStream("booth-1").stream, take: 0 };
}

/** Plays the life in commits of 7 entries. */
function live(one: Bed, life: Partial<ClockedLife>): void {
  const entries = clockedEntries({ ...LIFE, ...life }, one.take);
  ingestEntries(one.writer, entries, { sizes: [7] });
  one.take = entries.at(-1)?.take ?? one.take;
}

function all(one: Bed): readonly Placed[] {
  return one.writer.read(one.stream, 1, 10_000);
}

function stages(one: Bed): string[] {
  const facts = all(one).filter((record): record is Placed<Extract<Fact, { kind: "m" }>> => record.kind === "m");
  return facts.map(({ value, quality }) => {
    const [start, end] = [value.start, value.end].map((at) => (at - T0) / MINUTE_MS);
    return `${value.mode} ${String(start)}-${String(end)} ${quality}`;
  });
}

function reopen(one: Bed): void {
  one.writer.close();
  one.writer = writerIn(one.folder);
}

describe("a boot whose clock was not synced", () => {
  it("is stored and shown as uncertain, but not sent", () => {
    const one = bed();
    live(one, { ...UNSYNCED });
    const info = one.writer.info(one.stream);
    expect(info.newest_seq).toBeGreaterThan(10);
    expect(info.sendable_seq).toBe(0);
    expect(all(one)).toEqual([]);
    const shown = one.writer.state(one.stream);
    expect(shown.bays[0]?.open?.mode).toBe("idle");
    expect(shown.clock.synced).toBe(false);
    const reader = openReader(one.folder);
    const log = [...reader.log(one.stream, { start: 0, end: Infinity })];
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    expect(log).toHaveLength(info.newest_seq);
    expect(new Set(log.map(({ quality }) => quality))).toEqual(new Set(["uncertain"]));
    const [first] = reader.stages(one.stream, { start: 0, end: Infinity });
    expect([first?.mode, (first?.end ?? 0) - (first?.start ?? 0)]).toEqual(["spray", 5 * MINUTE_MS]);
    expect(reader.streams()[0]?.sendable_seq).toBe(0);
    expect(reader.state(one.stream)).toEqual(shown);
    reader.close();
  });

  it("gets the right times from a later sync, as if the clock had always been right", () => {
    const one = bed();
    const right = bed();
    const syncAt = 40_000;
    const late = { ...UNSYNCED, service: (ms: number) => (ms >= syncAt ? T0 : null) };
    live(one, { ...late, length_ms: 8 * MINUTE_MS });
    live(right, { length_ms: 8 * MINUTE_MS });
    const { newest_seq, sendable_seq } = one.writer.info(one.stream);
    expect(sendable_seq).toBe(newest_seq);
    const records = all(one);
    expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: newest_seq }, (_, index) => index + 1));
    const log = records.filter(({ kind }) => "rhp".includes(kind));
    expect(log.every(({ time, mono }) => time === T0 + mono)).toBe(true);
    expect(log[0]?.at).toBe(EPOCH_1970);
    expect(stages(one)).toEqual(stages(right));
    expect(stages(one)).toEqual(["spray 0-5 good"]);
  });

  it("is placed after the last known instant, as uncertain, once a later boot syncs, even if two boots wait", () => {
    const one = bed();
    live(one, {});
    live(one, { ...UNSYNCED, boot: "b", mode: () => 4, length_ms: 4 * MINUTE_MS });
    live(one, { ...UNSYNCED, boot: "c", mode: () => 5, length_ms: 2 * MINUTE_MS });
    const before = one.writer.info(one.stream);
    expect(before.sendable_seq).toBeLessThan(before.newest_seq);
    live(one, { boot: "d", wall: (ms) => T0 + 60 * MINUTE_MS + ms, mode: () => 3, length_ms: 5 * MINUTE_MS });
    live(one, { boot: "d", wall: (ms) => T0 + 66 * MINUTE_MS + ms, mono0: 6 * MINUTE_MS, mode: () => 1 });
    expect(one.writer.info(one.stream).sendable_seq).toBe(one.writer.info(one.stream).newest_seq);
    expect(stages(one)).toEqual([
      "spray 0-5 good",
      "idle 5-10 uncertain",
      "flash 10-14 uncertain",
      "purge 14-16 good",
      "no_data 16-60 good",
      "spray 60-65 good",
      "no_data 65-66 good",
    ]);
    const held = all(one).filter(({ boot, kind }) => (boot === "b" || boot === "c") && "rhpt".includes(kind));
    expect(held.length).toBeGreaterThan(6);
    expect(held.every(({ quality }) => quality === "uncertain")).toBe(true);
  });

  it("ends at the start of the first synced boot if no earlier time is known", () => {
    const one = bed();
    live(one, { ...UNSYNCED, length_ms: 4 * MINUTE_MS });
    live(one, { boot: "b", wall: (ms) => T0 + ms });
    const times = all(one)
      .filter(({ boot }) => boot === "a")
      .map(({ time }) => time - T0);
    expect(Math.min(...times)).toBe(-4 * MINUTE_MS);
    expect(Math.max(...times)).toBeLessThanOrEqual(0);
  });

  it("is shown with times from the last known instant on, not from 1970 on", () => {
    const one = bed();
    live(one, {});
    live(one, { ...UNSYNCED, boot: "b", length_ms: 4 * MINUTE_MS });
    expect(knownTime(one.writer.state(one.stream)).now).toBe(T0 + 14 * MINUTE_MS);
  });

  it("waits for its time across agent restarts, with the same result", () => {
    const one = bed();
    const other = bed();
    for (const each of [one, other]) live(each, {});
    live(one, { ...UNSYNCED, boot: "b", length_ms: 3 * MINUTE_MS });
    const shown = structuredClone(one.writer.state(one.stream));
    reopen(one);
    expect(one.writer.state(one.stream)).toEqual(shown);
    live(other, { ...UNSYNCED, boot: "b", length_ms: 3 * MINUTE_MS });
    for (const each of [one, other]) {
      live(each, { boot: "c", wall: (ms) => T0 + 60 * MINUTE_MS + ms });
    }
    expect(all(one)).toEqual(all(other));
    expect(one.writer.state(one.stream)).toEqual(other.writer.state(other.stream));
  });

  it("keeps its times if the derivation state is computed again from the whole log", () => {
    const one = bed();
    live(one, {});
    live(one, { ...UNSYNCED, boot: "b", length_ms: 3 * MINUTE_MS });
    live(one, { ...UNSYNCED, boot: "c", service: (ms) => (ms >= 40_000 ? T0 + 60 * MINUTE_MS : null) });
    const state = structuredClone(one.writer.state(one.stream));
    one.writer.close();
    sqlOn(one.folder, "DELETE FROM state");
    one.writer = writerIn(one.folder);
    expect(one.writer.openStream("booth-1").stream).toBe(one.stream);
    expect(one.writer.state(one.stream)).toEqual(state);
  });

  it("stays unchanged if the commit that sets its times fails", () => {
    const one = bed();
    live(one, {});
    live(one, { ...UNSYNCED, boot: "b", length_ms: 3 * MINUTE_MS });
    const info = one.writer.info(one.stream);
    const shown = structuredClone(one.writer.state(one.stream));
    const db = new Database(storePath(one.folder));
    db.exec("CREATE TRIGGER refuse BEFORE INSERT ON boot BEGIN SELECT raise(ABORT, 'planted'); END");
    const sync = (): void => live(one, { boot: "c", wall: (ms) => T0 + 60 * MINUTE_MS + ms, length_ms: MINUTE_MS });
    const take = one.take;
    expect(sync).toThrow("planted");
    expect(one.writer.info(one.stream)).toMatchObject({ ...info });
    expect(one.writer.state(one.stream)).toEqual(shown);
    db.exec("DROP TRIGGER refuse");
    db.close();
    one.take = take;
    sync();
    expect(one.writer.info(one.stream).sendable_seq).toBe(one.writer.info(one.stream).newest_seq);
  });
});
