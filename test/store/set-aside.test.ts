import { expect, it } from "vitest";
import type { Placed } from "../../src/domain/record.ts";
import type { Writer } from "../../src/store/thread/writer.ts";
import { clockRecord, coverage, reading } from "../support/records.ts";
import { allRecords, writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** Makes a store of one booth with ten readings after its clock record. */
function filled(folder: string): { writer: Writer; stream: string } {
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  const readings = Array.from({ length: 10 }, (_, index) => reading(index * 1000, "mode", index));
  writer.ingest(stream, [clockRecord(0), coverage(0, 9_000), ...readings], 1);
  return { writer, stream };
}

const gapsOf = (records: readonly Placed[]) => records.flatMap((one) => (one.kind === "g" ? [one.value] : []));

it("a rejected record that is set aside keeps its reason across a restart, and the next commit declares it in a gap record", () => {
  const folder = temporaryFolder();
  const { writer, stream } = filled(folder);
  const refusal = { seq: 5, reason: "malformed", declare: true };
  expect(writer.setAside(stream, [refusal])).toMatchObject({ count: 1, newest: { seq: 5, reason: "malformed" } });
  writer.close();
  const again = writerIn(folder);
  again.openStream("booth-1");
  again.setAside(stream, [{ ...refusal, reason: "another reason" }]);
  expect(again.refused(stream)).toMatchObject({ count: 1, newest: { seq: 5, reason: "malformed" } });
  for (const take of [2, 3]) again.ingest(stream, [reading(take * 10_000, "mode", take)], take);
  const gaps = gapsOf(again.read(stream, 1, 100));
  expect(gaps).toEqual([{ from: 5, to: 5, reason: "refused by the service: malformed" }]);
  again.close();
});

it("a record that the service rejected by its sequence number needs no gap record", () => {
  const { writer, stream } = filled(temporaryFolder());
  writer.setAside(stream, [{ seq: 4, reason: "unknown kind", declare: false }]);
  writer.ingest(stream, [reading(20_000, "mode", 2)], 2);
  expect(gapsOf(writer.read(stream, 1, 100))).toEqual([]);
  writer.close();
});

it("the store keeps at most the newest ten thousand rejected records", () => {
  const { writer, stream } = filled(temporaryFolder());
  const refusals = Array.from({ length: 10_200 }, (_, index) => ({ seq: index + 1, reason: "no", declare: false }));
  expect(writer.setAside(stream, refusals)).toMatchObject({ count: 10_000, newest: { seq: 10_200 } });
  writer.close();
});

it("contextRecords returns exactly the parameter and clock records of a range", () => {
  const { writer, stream } = filled(temporaryFolder());
  for (let take = 2; take <= 400; take += 1) {
    const mono = take * 10_000;
    const more = take % 100 === 0 ? [clockRecord(mono)] : [];
    writer.ingest(stream, [...more, reading(mono, "mode", take)], take);
  }
  const { newest_seq } = writer.info(stream);
  const terms = allRecords(writer, stream).filter(({ kind }) => kind === "t" || kind === "p");
  const found: number[] = [];
  for (let from = 1; from <= newest_seq;) {
    const { records, looked_to } = writer.contextRecords(stream, from, newest_seq);
    found.push(...records.map(({ seq }) => seq));
    expect(looked_to).toBeGreaterThanOrEqual(from);
    from = looked_to + 1;
  }
  expect(found).toEqual(terms.map(({ seq }) => seq));
  expect(found).toHaveLength(5);
  writer.close();
});
