import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MalformedChunk } from "../../../simulators/service/ingest/bytes.ts";
import { type ChunkRecord, readChunk, recordsOfChunk } from "../../../simulators/service/ingest/chunk.ts";
import { packBody } from "../../../simulators/service/ingest/pack.ts";
import { recordsOf } from "../../../src/acquisition/rules/records.ts";
import { KIND, type LogRecord, type Placed } from "../../../src/domain/record.ts";
import { bodyOf } from "../../../src/store/log/chunk.ts";
import { packChunk } from "../../../src/store/log/pack.ts";
import { sixtyTags } from "../../support/sixty-tags.ts";
import { T0 } from "../../support/records.ts";
import { seededRandom } from "../../support/seeded-random.ts";

const value = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => (Object.is(one, -0) ? 0 : one)),
  fc.integer({ min: -1_000, max: 1_000 }).map((one) => one / 10),
  fc.boolean(),
  fc.constant(null),
  fc.string(),
);
const drawn = fc.record({
  step: fc.constantFrom(0, 0, 1_000, 1_000, 2_500),
  skipped: fc.constantFrom(0, 0, 0, 3),
  tag: fc.constantFrom("a", "b", "mode", "été", ""),
  sort: fc.constantFrom("all", "number", "boolean"),
  quality: fc.constantFrom("good", "good", "uncertain", "bad"),
  value,
});

function chunkOf(life: readonly (typeof drawn extends fc.Arbitrary<infer T> ? T : never)[]): Placed<LogRecord>[] {
  let mono = 7_000;
  let seq = 11;
  return life.map(({ step, skipped, tag, sort, quality, value: one }) => {
    mono += step;
    seq += 1 + skipped;
    const kept = sort === "all" || typeof one === sort ? one : null;
    return {
      kind: KIND.reading,
      boot: "b",
      mono,
      at: T0 + mono,
      tag: `${tag} ${sort}`,
      value: kept,
      quality,
      seq,
      time: T0 + mono,
    };
  });
}

function packed(records: readonly Placed<LogRecord>[]): {
  readonly body: Buffer;
  readonly from: { readonly s0: number; readonly mono0: number };
} {
  const [first] = records;
  if (first === undefined) throw new Error("no records");
  const start = { first_seq: first.seq, boot: first.boot, mono0: first.mono, t0: first.time };
  return { body: bodyOf(packChunk(start, records)), from: { s0: first.seq, mono0: first.mono } };
}

function read(body: Uint8Array, from: { readonly s0: number; readonly mono0: number }): readonly ChunkRecord[] {
  return recordsOfChunk(readChunk(body, from));
}

describe("the service's chunk reader", () => {
  it("returns every record that the gateway packed", () => {
    fc.assert(
      fc.property(fc.array(drawn, { minLength: 1, maxLength: 80 }), (life) => {
        const records = chunkOf(life);
        const { body, from } = packed(records);
        const told = records.map(({ seq, kind, tag, mono, value: one, quality }) => ({
          seq,
          kind,
          tag,
          mono,
          value: one,
          quality,
        }));
        expect(read(body, from)).toEqual(told);
      }),
    );
  });

  it("returns every record that the service packed", () => {
    fc.assert(
      fc.property(fc.array(drawn, { minLength: 1, maxLength: 80 }), (life) => {
        const told = chunkOf(life).map(({ seq, kind, tag, mono, value: one, quality }) => {
          return { seq, kind, tag, mono, value: one, quality };
        });
        const [first] = told;
        if (first === undefined) throw new Error("no records");
        const body = packBody(told, first.mono);
        expect(body && read(body, { s0: first.seq, mono0: first.mono })).toEqual(told);
      }),
    );
  });

  it("returns records, or reports a malformed chunk, after a change to any byte", () => {
    const random = seededRandom(4);
    const polls = sixtyTags("s", () => random.next());
    const taken = recordsOf(Array.from({ length: 12 }, polls), () => 5_000);
    const { body, from } = packed(
      taken.map((record, index) => ({ ...record, seq: index + 1, time: T0 + record.mono })),
    );
    let refused = 0;
    for (let at = 0; at < body.length; at += 1) {
      for (const flip of [1, 0x80, 0xff]) {
        const hurt = Buffer.from(body);
        hurt[at] = (hurt[at] ?? 0) ^ flip;
        try {
          expect(read(hurt, from).length).toBeLessThanOrEqual(20_000);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedChunk);
          refused += 1;
        }
      }
      expect(() => readChunk(body.subarray(0, at), from)).toThrow(MalformedChunk);
    }
    expect(refused).toBeGreaterThan(body.length);
  });
});
