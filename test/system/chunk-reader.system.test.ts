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

/** Debian's Python, even if the path has another one. */
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

it("an independent Python reader decodes a chunk of 4,000 records of a busy booth", () => {
  const random = seededRandom(8);
  const polls = sixtyTags("s", () => random.next());
  const taken: LogRecord[] = [];
  while (taken.length < 4_000) taken.push(...recordsOf(Array.from({ length: 10 }, polls), () => 5_000));
  // Facts take seqs between the records.
  const records = taken.map((record, index) => ({
    ...record,
    seq: index + Math.floor(index / 300) + 1,
    time: T0 + record.mono,
  }));
  expect(readByPython(records)).toEqual(told(records));
});

it("an independent Python reader decodes a chunk with a value of each type and quality", () => {
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
