import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { crcOf, rtuFrame } from "../../../simulators/plc/rtu-frames.ts";
import { LinkError } from "../../../src/domain/link-error.ts";
import {
  type AskedRead,
  crc16,
  type LateAnswers,
  lateAnswers,
  type LineOddities,
  noOddities,
  rtuFraming,
} from "../../../src/acquisition/modbus/rtu.ts";

const LATE_UNIT = 9;

/** Returns the memory of late answers after these reads were sent an hour ago and just timed out. */
function gaveUp(...reads: readonly AskedRead[]): LateAnswers {
  const late = lateAnswers();
  for (const read of reads) late.gaveUp(read, { asked_at: performance.now() - 3_600_000, for_ms: 3_600_000 });
  return late;
}
const holding = (unit: number, address: number, count: number): AskedRead => ({ unit, code: 3, address, count });
const OF_LATE_UNIT = [holding(LATE_UNIT, 0, 2), holding(LATE_UNIT, 7, 1)];

const withCrc = (...bytes: readonly number[]): Buffer => {
  const body = Buffer.from(bytes);
  return rtuFrame({ transaction: 0, unit: body[0] ?? 0, pdu: body.subarray(1) }, body.subarray(1));
};
/** A request for two holding registers from 4 on, of unit 1. */
const REQUEST = withCrc(1, 3, 0, 4, 0, 2);
const ANSWER = withCrc(1, 3, 4, 0x12, 0x34, 0x56, 0x78);

/** Returns unit and PDU of a frame. */
const bodyOf = (frame: Buffer): Buffer => frame.subarray(0, -2);

/** Copies an answer, because the framing reuses its buffer. */
function taken(outcome: Buffer | LinkError | null) {
  return Buffer.isBuffer(outcome) ? Buffer.from(outcome) : outcome;
}

function judged(pieces: readonly Buffer[], request = REQUEST, late = gaveUp(...OF_LATE_UNIT)) {
  const framing = rtuFraming(late);
  expect(framing.request(bodyOf(request))).not.toBe(null);
  let outcome: Buffer | LinkError | null = null;
  for (const piece of pieces) {
    outcome = framing.take(piece, piece.length);
    if (outcome !== null) return outcome instanceof LinkError ? outcome : Buffer.from(outcome);
  }
  return outcome;
}

describe("an answer over RTU", () => {
  test("has the CRC that the Modbus specification gives in its example", () => {
    expect(crcOf(Buffer.from([0x02, 0x07]))).toBe(0x1241);
    expect(crc16(Buffer.from([0x02, 0x07]))).toBe(0x1241);
  });

  test("is accepted in one piece or byte by byte, and also if it is an exception", () => {
    expect(judged([ANSWER])).toEqual(bodyOf(ANSWER));
    expect(judged(Array.from(ANSWER, (byte) => Buffer.from([byte])))).toEqual(bodyOf(ANSWER));
    expect(judged([withCrc(1, 0x83, 2)])).toEqual(Buffer.from([1, 0x83, 2]));
  });

  const WRONG: readonly (readonly [string, readonly Buffer[]])[] = [
    ["of another unit", [withCrc(2, 3, 4, 0x12, 0x34, 0x56, 0x78)]],
    ["of another function", [withCrc(1, 4, 4, 0x12, 0x34, 0x56, 0x78)]],
    ["with an exception to another function", [withCrc(1, 0x84, 2)]],
    ["with exception code 0", [withCrc(1, 0x83, 0)]],
    ["with too many registers", [withCrc(1, 3, 6, 1, 2, 3, 4, 5, 6)]],
    ["with too few registers", [withCrc(1, 3, 2, 1, 2)]],
    ["with a wrong CRC", [Buffer.concat([ANSWER.subarray(0, -1), Buffer.from([0])])]],
    ["with three bytes before it", [Buffer.concat([Buffer.from([0, 0, 0]), ANSWER])]],
    ["with three bytes after it", [Buffer.concat([ANSWER, Buffer.from([0, 0, 0])])]],
    ["received twice", [Buffer.concat([ANSWER, ANSWER])]],
    ["after two echoes of our own request", [Buffer.concat([REQUEST, REQUEST, ANSWER])]],
    [
      "with a wrong CRC and a byte before it",
      [Buffer.concat([Buffer.from([0]), ANSWER.subarray(0, -1), Buffer.of(0)])],
    ],
  ];
  test.each(WRONG)("%s is rejected as malformed", (_name, pieces) => {
    expect(judged(pieces)).toMatchObject({ kind: "malformed" });
  });

  const ODD: readonly (readonly [string, readonly Buffer[], LineOddities])[] = [
    ["an echo of the request before it", [REQUEST, ANSWER], { echoes: 1, stray_bytes: 0 }],
    ["a byte before it", [Buffer.of(0), ANSWER], { echoes: 0, stray_bytes: 1 }],
    ["a byte before it that is the unit's number", [Buffer.of(1), ANSWER], { echoes: 0, stray_bytes: 1 }],
    ["two bytes before it", [Buffer.of(0xff, 0), ANSWER], { echoes: 0, stray_bytes: 2 }],
    ["a byte after it", [ANSWER, Buffer.of(0xff)], { echoes: 0, stray_bytes: 1 }],
    ["two bytes at each end", [Buffer.of(0, 0), ANSWER, Buffer.of(0, 0)], { echoes: 0, stray_bytes: 4 }],
    ["an echo and a byte between it and the answer", [REQUEST, Buffer.of(0), ANSWER], { echoes: 1, stray_bytes: 1 }],
    ["a byte before the echo", [Buffer.of(0), REQUEST, ANSWER], { echoes: 1, stray_bytes: 1 }],
  ];
  test.each(ODD)(
    "with %s is accepted, in one piece or byte by byte, and is counted as a line fault",
    (_name, pieces, expected) => {
      const whole = Buffer.concat(pieces);
      for (const split of [[whole], Array.from(whole, (byte) => Buffer.of(byte))]) {
        const oddities = noOddities();
        const framing = rtuFraming(lateAnswers(), oddities);
        framing.request(bodyOf(REQUEST));
        const outcomes = split.map((piece) => taken(framing.take(piece, piece.length)));
        expect(outcomes.filter((outcome) => outcome !== null)).toEqual([bodyOf(ANSWER)]);
        expect(oddities).toEqual(expected);
      }
    },
  );

  test("is accepted if it is an exception after an echo of the request", () => {
    expect(judged([REQUEST, withCrc(1, 0x83, 2)])).toEqual(Buffer.from([1, 0x83, 2]));
  });

  test("is still awaited after an echo of the request, even if the echo looks like an answer", () => {
    expect(judged([REQUEST])).toBeNull();
    // 20 coils from 0x0300 on: the answer has three bytes of data and starts with the same bytes as the request.
    const request = withCrc(1, 1, 3, 0, 0, 20);
    expect(judged([request], request)).toBeNull();
    expect(judged([request, withCrc(1, 1, 3, 1, 2, 3)], request)).toEqual(Buffer.from([1, 1, 3, 1, 2, 3]));
  });

  test("may be followed by two stray bytes, but not by three", () => {
    const framing = rtuFraming(lateAnswers());
    framing.request(bodyOf(REQUEST));
    expect(taken(framing.take(ANSWER, ANSWER.length))).toEqual(bodyOf(ANSWER));
    const bytes = [1, 2, 3].map(() => framing.take(Buffer.of(0), 1));
    expect(bytes.map((outcome) => outcome instanceof LinkError)).toEqual([false, false, true]);
  });

  test("is accepted after a stray byte and a late answer to another request, both of which are dropped", () => {
    const late = withCrc(1, 3, 2, 9, 9);
    const other = gaveUp(holding(1, 0, 1));
    expect(judged([Buffer.of(0), late, ANSWER], REQUEST, other)).toEqual(bodyOf(ANSWER));
    expect(judged([Buffer.of(0), ANSWER], REQUEST, gaveUp(holding(1, 0, 2)))).toBeNull();
  });

  test("is accepted after a late answer of another unit, which is dropped", () => {
    const late = withCrc(LATE_UNIT, 3, 4, 9, 9, 9, 9);
    expect(judged([Buffer.concat([late, ANSWER])])).toEqual(bodyOf(ANSWER));
    expect(judged([late.subarray(0, 3), late.subarray(3), withCrc(LATE_UNIT, 0x83, 2), ANSWER])).toEqual(
      bodyOf(ANSWER),
    );
    expect(judged([Buffer.concat([late.subarray(0, -1), ANSWER])])).toMatchObject({ kind: "malformed" });
  });

  test("is dropped if it may belong to an earlier request, unless that request was the same", () => {
    const late = withCrc(1, 3, 2, 9, 9);
    const sameSize = withCrc(1, 3, 4, 9, 9, 9, 9);
    const refusal = withCrc(1, 0x83, 2);
    const other = (count: number) => gaveUp(holding(1, 0, count));
    for (const pieces of [
      [late, ANSWER],
      [late, refusal, late, ANSWER],
      Array.from(late, (_, i) => late.subarray(i, i + 1)),
      [Buffer.concat([late, ANSWER])],
    ])
      expect(judged([...pieces, ANSWER], REQUEST, other(1))).toEqual(bodyOf(ANSWER));
    // These may be answers to either request.
    for (const piece of [ANSWER, sameSize, refusal]) expect(judged([piece], REQUEST, other(2))).toBe(null);
    // An answer of another function, or to the same request, is unambiguous.
    expect(judged([refusal], REQUEST, gaveUp({ ...holding(1, 0, 2), code: 4 }))).toEqual(bodyOf(refusal));
    for (const piece of [ANSWER, refusal])
      expect(judged([piece], REQUEST, gaveUp(holding(1, 4, 2)))).toEqual(bodyOf(piece));
  });

  test("ends the wait for late answers to earlier requests if the answer fits only the present request", () => {
    const late = gaveUp(holding(1, 0, 1), { ...holding(1, 0, 2), code: 4 });
    expect(judged([ANSWER], REQUEST, late)).toEqual(bodyOf(ANSWER));
    expect(late.until(1)).toBe(-Infinity);
    const same = gaveUp(holding(1, 0, 1), holding(1, 4, 2));
    expect(judged([ANSWER], REQUEST, same)).toEqual(bodyOf(ANSWER));
    expect({ own: same.isUnambiguous(holding(1, 4, 2)), other: same.isUnambiguous(holding(1, 0, 2)) }).toEqual({
      own: true,
      other: false,
    });
  });

  test("is malformed if no request is pending, unless it is a late answer", () => {
    const framing = rtuFraming(gaveUp(...OF_LATE_UNIT));
    expect(framing.take(withCrc(LATE_UNIT, 3, 2, 1, 1), 7)).toBe(null);
    expect(framing.take(ANSWER, ANSWER.length)).toMatchObject({ kind: "malformed" });
  });

  test("is never awaited for a function code that does not read, because the request is not sent", () => {
    const framing = rtuFraming(lateAnswers());
    for (const code of [0, 5, 6, 7, 8, 15, 16, 22, 23, 43, 0x83]) {
      expect(framing.request(Buffer.from([1, code, 0, 4, 0, 2]))).toBe(null);
    }
    expect(framing.isAwaiting).toBe(false);
  });
});

test("an RTU answer with line errors is accepted only if every byte of unit and PDU is right", () => {
  const edit = fc.tuple(fc.nat(4), fc.nat(20), fc.nat(255));
  let taken = 0;
  fc.assert(
    fc.property(fc.array(edit, { maxLength: 3 }), fc.nat(12), (edits, at) => {
      const spoilt = edits.reduce<Buffer>((bytes, [kind, place, value]) => {
        const i = bytes.length === 0 ? 0 : place % bytes.length;
        if (kind === 0) return Buffer.from(bytes.map((byte, k) => (k === i ? value : byte)));
        if (kind === 1) return bytes.subarray(0, i);
        if (kind === 2) return Buffer.concat([Buffer.from([value]), bytes]);
        return kind === 3
          ? Buffer.concat([bytes, bytes])
          : Buffer.concat([bytes.subarray(0, i), bytes.subarray(i + 1)]);
      }, ANSWER);
      const outcome = judged([spoilt.subarray(0, at), spoilt.subarray(at)]);
      if (outcome === null || outcome instanceof LinkError) return true;
      taken++;
      return outcome.equals(bodyOf(ANSWER));
    }),
    { numRuns: 2_000, seed: 7 },
  );
  expect(taken).toBeGreaterThan(0);
});

test("an RTU answer mixed with or replaced by random bytes never gives a wrong value", () => {
  const noise = fc.uint8Array({ maxLength: 12 });
  // Pieces from which shifted, doubled or foreign frames are made that look as much like an answer as possible.
  const piece = fc.oneof(
    noise.map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(REQUEST, REQUEST.subarray(0, 5), REQUEST.subarray(3), ANSWER.subarray(0, 6), ANSWER.subarray(2)),
    fc.constantFrom(withCrc(1, 3, 2, 7, 7), withCrc(2, 3, 4, 1, 2, 3, 4), withCrc(1, 4, 4, 1, 2, 3, 4)),
    fc.constant(ANSWER),
  );
  const outcomes = { answer: 0, refused: 0, none: 0 };
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 4 }), fc.integer({ min: 1, max: 9 }), (pieces, step) => {
      const all = Buffer.concat(pieces);
      const framing = rtuFraming(lateAnswers());
      framing.request(bodyOf(REQUEST));
      let first: Buffer | LinkError | null = null;
      for (let at = 0; at < all.length && first === null; at += step) {
        const part = all.subarray(at, at + step);
        first = taken(framing.take(part, part.length));
      }
      if (first === null) outcomes.none += 1;
      else if (first instanceof LinkError) outcomes.refused += 1;
      else outcomes.answer += 1;
      return first === null || first instanceof LinkError || first.equals(bodyOf(ANSWER));
    }),
    { numRuns: 2_000, seed: 11 },
  );
  expect(Math.min(...Object.values(outcomes))).toBeGreaterThan(0);
});
