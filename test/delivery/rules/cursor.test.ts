import fc from "fast-check";
import { expect, it } from "vitest";
import { cursorAt, withAcked } from "../../../src/delivery/rules/sending.ts";

it("the cursor ends where everything is acked, in whatever order the acks come and however often", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 30 });
  const stories = lengths.chain((sizes) => {
    const ranges = sizes.map((size, index) => {
      const from = sizes.slice(0, index).reduce((sum, one) => sum + one, 1);
      return [from, from + size - 1] as const;
    });
    const twice = fc.shuffledSubarray([...ranges, ...ranges], { minLength: ranges.length * 2 });
    return fc.record({ ranges: fc.constant(ranges), order: twice });
  });
  fc.assert(
    fc.property(stories, ({ ranges, order }) => {
      let cursor = cursorAt(0);
      for (const [from, to] of order) {
        const next = withAcked(cursor, from, to);
        expect(next.acked_seq).toBeGreaterThanOrEqual(cursor.acked_seq);
        cursor = next;
      }
      expect(cursor).toEqual({ acked_seq: ranges.at(-1)?.[1] ?? 0, ahead: [] });
    }),
    { numRuns: 1_000 },
  );
});

it("the cursor waits before a hole", () => {
  const cursor = withAcked(withAcked(cursorAt(10), 16, 20), 11, 14);
  expect(cursor).toEqual({ acked_seq: 14, ahead: [[16, 20]] });
  expect(withAcked(cursor, 15, 15)).toEqual({ acked_seq: 20, ahead: [] });
});
