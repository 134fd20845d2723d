import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { checkStore } from "../../src/store/files.ts";
import { storePath } from "../../src/store/open.ts";
import { fortyDaysOf, keepFortyDays } from "./forty-days.ts";
import { changedBy, rebuild } from "../support/rebuild.ts";
import { memoryFolder } from "../support/temporary.ts";

/** Files written by a release. They are never rewritten, so that later code must open stores of that release. */
const FIXTURES = join(import.meta.dirname, "../fixtures");
const NAME = "store-9";

const told = (): { streams: { acked_seq: number; newest_seq: number; stream: string }[] } =>
  JSON.parse(readFileSync(join(FIXTURES, `${NAME}.json`), "utf8")) as ReturnType<typeof told>;

function keptStore(): string {
  const folder = memoryFolder();
  writeFileSync(storePath(folder), gunzipSync(readFileSync(join(FIXTURES, `${NAME}.db.gz`))));
  return folder;
}

it("a forty-day store from an earlier release gives the same figures, filters, counts and sequence numbers", () => {
  const folder = keptStore();
  const opened = keepFortyDays(folder);
  const [stream] = told().streams;
  expect(opened.openStream("booth-1")).toEqual(stream);
  while (opened.check());
  expect(opened.info(stream?.stream ?? "")).toEqual(stream);
  opened.close();
  expect(fortyDaysOf(folder)).toEqual(told());
  expect(checkStore(folder, () => undefined)).toMatchObject({ sound: true, problems: [] });
});

it("a store from an earlier release returns its backlog from the cursor on, each record once, and then continues its log", () => {
  const writer = keepFortyDays(keptStore());
  const { stream, acked_seq, newest_seq } = writer.openStream("booth-1");
  const sent: number[] = [];
  for (let next = acked_seq + 1; next <= newest_seq;) {
    const batch = writer.read(stream, next, 100);
    sent.push(...batch.map(({ seq }) => seq));
    next = (batch.at(-1)?.seq ?? newest_seq) + 1;
    expect(writer.ack(stream, next - 1).acked_seq).toBe(next - 1);
  }
  expect(sent.length).toBeGreaterThan(500);
  expect(sent).toEqual(Array.from({ length: newest_seq - acked_seq }, (_, index) => acked_seq + 1 + index));
  expect(writer.refused(stream)).toMatchObject({ count: 1 });
  const [last] = writer.read(stream, newest_seq, 1);
  if (last === undefined) throw new Error("nothing is stored");
  const { boot, mono, at } = last;
  const later = { boot, mono: mono + 60_000, at: at + 60_000 };
  const more = { kind: "r", ...later, tag: "air", value: 18, quality: "good" } as const;
  expect(writer.ingest(stream, [more], 1_000_000)).toMatchObject({ newest_seq: newest_seq + 1 });
  writer.close();
});

/** Kinds of facts that the release of the kept store didn't have: days of filters, and bakes. */
const NEWER_KINDS = ["u", "b"];

it("a rebuild of a store from an earlier release gives exactly the stored facts, and adds the kinds that are newer", () => {
  const folder = keptStore();
  const writer = keepFortyDays(folder);
  const { stream } = writer.openStream("booth-1");
  const { changes, ...rebuilt } = rebuild(writer, stream);
  const newer = changes.filter(({ kind }) => NEWER_KINDS.includes(kind));
  expect(changedBy({ ...rebuilt, changes: changes.filter((one) => !newer.includes(one)) })).toBe(0);
  expect(newer.every(({ replaced, withdrawn }) => replaced + withdrawn === 0)).toBe(true);
  writer.close();
});
