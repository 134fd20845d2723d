import fc from "fast-check";
import { expect, it } from "vitest";
import { cutBatches } from "../../../src/delivery/lane-reader.ts";
import type { Placed } from "../../../src/domain/record.ts";
import { batchOf } from "../../../src/contract/telemetry.ts";

/** Of a batch before gzip; half of it is room for what the rough reckoning leaves out. */
const LIMIT_BYTES = 128 * 1024;

const record = (seq: number, boot: string, content: { time: number; value: string }): Placed => ({
  kind: "r",
  seq,
  boot,
  mono: seq * 1000,
  at: seq,
  tag: "mode",
  quality: "good",
  ...content,
});

it("batches hold every record once, in order, each unbroken, of one boot and one offset", () => {
  const step = fc.record({
    hole: fc.nat(2),
    boot: fc.constantFrom("a", "b"),
    shift: fc.constantFrom(0, 0, 0, 500),
    size: fc.nat(4000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let seq = 0;
      let shift = 0;
      const records = steps.map((one) => {
        seq += 1 + (one.hole === 2 ? 1 : 0);
        shift += one.shift;
        return record(seq, one.boot, { time: seq * 1000 + shift, value: "x".repeat(one.size) });
      });
      const batches = cutBatches(records);
      expect(batches.flat()).toEqual(records);
      for (const batch of batches) {
        const [first] = batch;
        batch.forEach((one, index) => {
          expect(one.seq).toBe((first?.seq ?? 0) + index);
          expect(one.boot).toBe(first?.boot);
          expect(one.time - one.mono).toBe((first?.time ?? 0) - (first?.mono ?? 0));
        });
        const wire = batchOf({ gateway_id: "gw-1", generation: 1, stream: "s" }, batch, 0);
        expect(batch.length === 1 || JSON.stringify(wire).length <= LIMIT_BYTES / 2).toBe(true);
      }
    }),
  );
});
