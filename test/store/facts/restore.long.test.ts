import { cpSync } from "node:fs";
import { expect, it } from "vitest";
import type { TakenEntry } from "../../../src/domain/taken.ts";
import { script, stay } from "../../support/booth.ts";
import { PLAIN } from "../../support/parameters.ts";
import { factRows } from "../../support/rebuild.ts";
import { ingestEntries, sqlOn, writerIn } from "../../support/store.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

const DAY = [
  [2, 8],
  [3, 12],
  [4, 6],
  [3, 12],
  [5, 3],
  [6, 30],
  [8, 10],
  [1, 20],
  [3, 10],
  [6, 20],
  [1, 70],
] as const;

function day(): readonly TakenEntry[] {
  const booth = script(PLAIN);
  for (const [mode, minutes] of DAY) stay(booth, minutes * MINUTE_MS, { mode });
  return booth.entries;
}

/** Number of entries after the damage, enough for a commit that reports it. */
const AFTER = 200;

interface Facts {
  readonly seq: number;
  readonly kind: string;
}

/** Writes a life that is delivered except for its last entries, into a folder to be copied. */
function written() {
  const entries = day();
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  const stream = ingestEntries(writer, entries.slice(0, -AFTER));
  writer.ack(stream, writer.info(stream).newest_seq);
  writer.close();
  return { folder, entries, stream, facts: factRows(folder) as Facts[] };
}

/** Damages the closed file, continues, and checks it twice. */
function damaged({ folder, entries, facts }: ReturnType<typeof written>, sql: string) {
  const copy = temporaryFolder();
  cpSync(folder, copy, { recursive: true });
  sqlOn(copy, sql);
  const writer = writerIn(copy);
  const stream = ingestEntries(writer, entries);
  const newest = facts.at(-1)?.seq ?? 0;
  // Facts up to the newest original seq. The gap record, which only the damaged copy has, shifts all later seqs.
  const standing = (): Facts[] => (factRows(copy) as Facts[]).filter(({ seq }) => seq <= newest);
  const left = standing();
  while (writer.check());
  const restored = standing();
  while (writer.check());
  const again = standing();
  const { quarantined } = writer.ingest(stream, [], 0).storage;
  writer.close();
  return { left, restored, again, quarantined };
}

it("each damaged fact is restored from the log, byte for byte, under its old sequence number", () => {
  const life = written();
  const { facts } = life;
  expect(facts.length).toBeGreaterThan(8);
  for (const { seq } of facts) {
    const one = damaged(life, `UPDATE fact SET body = body || ' ' WHERE seq = ${seq}`);
    expect(one.left).toEqual(facts.filter((fact) => fact.seq !== seq));
    expect({ ...one, left: null }).toEqual({ left: null, restored: facts, again: facts, quarantined: 0 });
  }
});

it("a whole page of damaged facts is restored, except for facts whose log records are lost, which are noted as lost", () => {
  const life = written();
  const { facts } = life;
  const page = damaged(life, `UPDATE fact SET crc = crc + 1 WHERE seq > ${(facts[2]?.seq ?? 0).toString()}`);
  expect(page.left).toEqual(facts.slice(0, 3));
  expect(page).toMatchObject({ restored: facts, quarantined: 0 });
  const both = damaged(
    life,
    `UPDATE fact SET crc = crc + 1 WHERE seq = ${(facts[4]?.seq ?? 0).toString()};
     UPDATE log SET crc = crc + 1 WHERE first_seq = (SELECT min(first_seq) FROM log);`,
  );
  expect(both.left).toEqual(facts.filter((_, index) => index !== 4));
  expect(both.restored).toEqual(both.left);
  expect(both.quarantined).toBeGreaterThan(1);
});

it("a lost fact stays noted as lost until a gap record reports it", () => {
  const { folder, facts, stream, entries } = written();
  sqlOn(folder, `UPDATE fact SET crc = crc + 1 WHERE seq = ${(facts[4]?.seq ?? 0).toString()}`);
  const writer = writerIn(folder);
  writer.openStream("booth-1");
  while (writer.check());
  expect(factRows(folder)).toHaveLength(facts.length - 1);
  ingestEntries(writer, entries);
  const given = writer.read(stream, writer.info(stream).acked_seq + 1, 1_000).find(({ kind }) => kind === "g");
  expect(given).toMatchObject({ value: { from: facts[4]?.seq, to: facts[4]?.seq } });
  while (writer.check());
  expect((factRows(folder) as Facts[]).slice(0, facts.length)).toEqual(facts);
  writer.close();
});
