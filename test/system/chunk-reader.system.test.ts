import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import { KIND, type LogRecord, type Placed } from "../../src/domain/record.ts";
import { bodyOf } from "../../src/store/log/chunk.ts";
import { packChunk } from "../../src/store/log/pack.ts";
import { sixtyTags } from "../support/sixty-tags.ts";
import { reading, T0 } from "../support/records.ts";
import { seededRandom } from "../support/seeded-random.ts";

/** Debian's own, whatever else a machine has in its path. */
const PYTHON = "/usr/bin/python3";
const READER = fileURLToPath(new URL("read_chunk.py", import.meta.url));

function readByPython(records: readonly Placed<LogRecord>[]): unknown[] {
  const [first] = records;
  if (first === undefined) throw new Error("no records");
  const start = { first_seq: first.seq, boot: first.boot, mono0: first.mono, t0: first.time };
  const input = bodyOf(packChunk(start, records));
  const args = [READER, first.seq.toString(), first.mono.toString()];
  const out = execFileSync(PYTHON, args, { input, encoding: "utf8", maxBuffer: 64_000_000 });
  return out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

const told = (records: readonly Placed<LogRecord>[]): unknown[] =>
  records.map(({ seq, kind, tag, mono, value, quality }) => ({ seq, kind, tag, mono, value, quality }));

it("a chunk of a busy booth is read by a hundred lines of another language", () => {
  const random = seededRandom(8);
  const polls = sixtyTags("s", () => random.next());
  const taken: LogRecord[] = [];
  while (taken.length < 4_000) taken.push(...recordsOf(Array.from({ length: 10 }, polls), () => 5_000));
  // Facts take seqs in between.
  const records = taken.map((record, index) => ({
    ...record,
    seq: index + Math.floor(index / 300) + 1,
    time: T0 + record.mono,
  }));
  expect(readByPython(records)).toEqual(told(records));
});

it("and so is one with a value of each sort and quality", () => {
  const values = [true, false, null, "v1.2", "été", 3, -7, 21.5, 0.1 + 0.2, 1e300, 5e-324, 0.5, 2 ** 50, 1 / 3];
  const records = values.flatMap((value, index) =>
    [`own ${index}`, typeof value, "any"].map((tag, nth): Placed<LogRecord> => {
      const quality = (["good", "uncertain", "bad"] as const)[(index + nth) % 3] ?? "good";
      const one = { ...reading(1_000 * index, tag, value), quality, kind: KIND.reading };
      return { ...one, seq: 5 + 3 * index + nth, time: T0 + one.mono } as Placed<LogRecord>;
    }),
  );
  expect(readByPython(records)).toEqual(told(records));
});
