import { crcOf } from "../../../simulators/plc/rtu-frames.ts";
import { decodePoint } from "../../../src/acquisition/rules/decode.ts";
import { LinkError } from "../../../src/domain/link-error.ts";
import { type ModbusType, pointWidth } from "../../../src/domain/profile.ts";
import { type Framing, mbapFraming } from "../../../src/acquisition/modbus/framing.ts";
import { lateAnswers, rtuFraming } from "../../../src/acquisition/modbus/rtu.ts";
import { EDITS } from "../../fuzz/edits.ts";
import { point, QUIRKS } from "../../support/profiles.ts";
import { seededRandom } from "../../support/seeded-random.ts";

/** Runs damaged answers through framing and decoding without a connection, fast enough for millions of frames. */

const UNIT = 1;
const READ_HOLDING = 3;
const FROM = 100;
/** Every type at consecutive addresses, each with a function that computes the value without the code under test. */
const TYPES: readonly (readonly [type: ModbusType, read: (bytes: DataView) => unknown])[] = [
  ["uint16", (bytes) => bytes.getUint16(0)],
  ["int16", (bytes) => bytes.getInt16(0)],
  ["uint32", (bytes) => bytes.getUint32(0)],
  ["int32", (bytes) => bytes.getInt32(0)],
  ["float32", (bytes) => bytes.getFloat32(0)],
  ["float64", (bytes) => bytes.getFloat64(0)],
  ["int64", (bytes) => bytes.getBigInt64(0)],
  ["uint64", (bytes) => bytes.getBigUint64(0)],
  ["bcd16", (bytes) => decimal(bytes.getUint16(0).toString(16))],
];
const POINTS = TYPES.reduce<{ readonly at: number; readonly list: ReturnType<typeof point>[] }>(
  ({ at, list }, [type]) => {
    const next = point({ type, address: at });
    return { at: at + pointWidth(next), list: [...list, next] };
  },
  { at: 0, list: [] },
);
/** Number of requested registers: a value of each type. */
export const COUNT = POINTS.at;

/** Parses digits only, because 12e3 is not a valid number here. */
function decimal(digits: string): number {
  return /^\d+$/.test(digits) ? Number(digits) : NaN;
}

/** Number of results of each kind. `as_sent`: changed data in a valid frame, which can't be detected over TCP. */
export interface MutatedCounts {
  readonly frames: number;
  readonly unchanged: number;
  readonly as_sent: number;
  readonly exceptions: number;
  readonly malformed: number;
  readonly partial: number;
  readonly wrong: number;
}

export type End = Exclude<keyof MutatedCounts, "frames">;

/** Runs this many frames. An error thrown by framing or decoding is thrown on. */
export function mutatedFrames(framing: "tcp" | "rtu", frames: number, seed: number): MutatedCounts {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random.next() * limit);
  const ends: Record<End, number> = { unchanged: 0, as_sent: 0, exceptions: 0, malformed: 0, partial: 0, wrong: 0 };
  for (let run = 0; run < frames; run++) {
    const data = Buffer.from(Array.from({ length: 2 * COUNT }, () => below(256)));
    const reader = framing === "tcp" ? mbapFraming() : rtuFraming(lateAnswers());
    const right = answerTo(reader, framing, data);
    let sent = right;
    for (let edit = 0; edit <= below(4); edit++) {
      sent = EDITS[below(EDITS.length)]?.(sent, below(300), below(256)) ?? sent;
      if (sent.length === 0) break;
    }
    ends[endOf(reader, { framing, right, sent, cut: below(sent.length + 1) })]++;
  }
  return { frames, ...ends };
}

/** Requests all types at consecutive addresses and returns the right answer with this data. */
export function answerTo(reader: Framing, framing: "tcp" | "rtu", data: Buffer): Buffer {
  const out = reader.request(Buffer.from([UNIT, READ_HOLDING, 0, FROM, 0, COUNT]));
  const body = Buffer.concat([Buffer.from([UNIT, READ_HOLDING, data.length]), data]);
  if (framing === "rtu") return withCrc(body);
  const header = Buffer.alloc(6);
  out?.copy(header, 0, 0, 2);
  header.writeUInt16BE(body.length, 4);
  return Buffer.concat([header, body]);
}

function withCrc(body: Buffer): Buffer {
  const bytes = Buffer.concat([body, Buffer.alloc(2)]);
  bytes.writeUInt16LE(crcOf(body), body.length);
  return bytes;
}

/** A damaged answer. `right`: the answer before the damage. */
export interface Spoilt {
  readonly framing: "tcp" | "rtu";
  readonly right: Buffer;
  readonly sent: Buffer;
  /** Position at which the answer is split into two pieces. */
  readonly cut: number;
}

/** Returns the result of reading the answer. Every result except "wrong" is acceptable. */
export function endOf(reader: Framing, spoilt: Spoilt): End {
  const { sent, cut, right } = spoilt;
  for (const upTo of [cut, sent.length]) {
    const piece = sent.subarray(upTo === cut ? 0 : cut, upTo);
    const outcome = piece.length === 0 ? null : reader.take(piece, piece.length);
    if (outcome === null) continue;
    if (outcome instanceof LinkError) return outcome.kind === "malformed" ? "malformed" : "wrong";
    const body = bodiesIn(sent.subarray(0, upTo), spoilt).find((one) => one.equals(outcome));
    if (body === undefined) return "wrong";
    if (body[1] === (READ_HOLDING | 0x80)) return "exceptions";
    if (!decodesRight(body.subarray(3))) return "wrong";
    return sent.subarray(0, upTo).equals(right) ? "unchanged" : "as_sent";
  }
  return "partial";
}

/** Maximum number of stray bytes accepted before and after an answer of a serial line. */
const MOST_STRAY_BYTES = 2;

/** Returns the bodies of all complete answers to the request in the bytes, except for stray bytes at both ends. */
function bodiesIn(bytes: Buffer, spoilt: Spoilt): readonly Buffer[] {
  const most = spoilt.framing === "rtu" ? MOST_STRAY_BYTES : 0;
  const strays = Array.from({ length: most + 1 }, (_, count) => count);
  return strays.flatMap((before) =>
    strays.flatMap((after) => bodyOf(bytes.subarray(before, Math.max(before, bytes.length - after)), spoilt) ?? []),
  );
}

/** Returns unit, function and data if the bytes are one complete answer to the request; otherwise null. */
function bodyOf(bytes: Buffer, { framing, right }: Spoilt): Buffer | null {
  const isRtu = framing === "rtu";
  const body = isRtu ? bytes.subarray(0, -2) : bytes.subarray(6);
  if (isRtu ? bytes.length < 5 || crcOf(body) !== bytes.readUInt16LE(bytes.length - 2) : bytes.length < 9) return null;
  const header =
    !isRtu && !(bytes.subarray(0, 4).equals(right.subarray(0, 4)) && bytes.readUInt16BE(4) === body.length);
  if (header || body[0] !== UNIT) return null;
  if (body[1] === (READ_HOLDING | 0x80)) return body.length === 3 ? body : null;
  return body[1] === READ_HOLDING && body[2] === 2 * COUNT && body.length === 3 + 2 * COUNT ? body : null;
}

function decodesRight(data: Buffer): boolean {
  const words = Array.from({ length: COUNT }, (_, i) => data.readUInt16BE(2 * i));
  return POINTS.list.every((at, i) => {
    const decoded = decodePoint(at, QUIRKS, { words, index: at.address });
    const bytes = new DataView(data.buffer, data.byteOffset + 2 * at.address, 2 * pointWidth(at));
    const truth = TYPES[i]?.[1](bytes);
    if (decoded.quality === "bad") return typeof truth === "number" && !Number.isFinite(truth);
    // A float32 has six or seven digits and is shown by the shortest decimal for the same float.
    if (at.type === "float32") return Math.fround(Number(decoded.value)) === truth;
    return String(decoded.value) === String(Object.is(truth, -0) ? 0 : truth);
  });
}
