import fc from "fast-check";
import { expect, it } from "vitest";
import { packetSizes } from "../../../src/delivery/mqtt/dial.ts";

const LIMIT = 1_000;

function packet(length: number): Uint8Array {
  const head = [0x30];
  let left = length;
  do {
    head.push((left % 128) + (left >= 128 ? 0x80 : 0));
    left = Math.floor(left / 128);
  } while (left > 0);
  return Uint8Array.from([...head, ...new Uint8Array(length)]);
}

it("packetSizes accepts packets up to the limit, however they are split, and rejects a longer packet at its header", () => {
  const lengths = fc.array(fc.integer({ min: 0, max: LIMIT }), { maxLength: 8 });
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 300 }), (sizes, cut) => {
      const check = packetSizes(LIMIT);
      const bytes = Uint8Array.from([...sizes.flatMap((size) => [...packet(size)]), ...packet(LIMIT + 1).slice(0, 3)]);
      const end = bytes.length - 3;
      for (let at = 0; at < end; at += cut) expect(check(bytes.slice(at, Math.min(end, at + cut)))).toBe(false);
      expect(check(bytes.slice(end))).toBe(true);
    }),
    { numRuns: 200 },
  );
});

it("packetSizes rejects a length field of more than four bytes", () => {
  expect(packetSizes(2 ** 31)(Uint8Array.from([0x30, 0xff, 0xff, 0xff]))).toBe(false);
  expect(packetSizes(2 ** 31)(Uint8Array.from([0x30, 0xff, 0xff, 0xff, 0xff]))).toBe(true);
});
