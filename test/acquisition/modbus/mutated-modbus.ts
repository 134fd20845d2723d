import fc from "fast-check";

import { LinkError } from "../../../src/domain/link-error.ts";
import { mbapFraming } from "../../../src/acquisition/modbus/framing.ts";
import { type BlockAnswer, modbusSession } from "../../../src/acquisition/modbus/session.ts";
import { EDITS } from "../../fuzz/edits.ts";
import { pattern, usualAnswer } from "./fake-modbus.ts";
import { memoryWire } from "./memory-wire.ts";

/** Answers of a device, spoilt in every way that bytes can be. */

const COUNT = 10;
export const BLOCK = { table: "holding", address: 100, count: COUNT } as const;
const RIGHT = Array.from({ length: COUNT }, (_, i) => pattern(3, 100 + i));

/** The right answer to a request that the driver has sent. */
export function goodAnswer(request: Buffer): Buffer {
  const parsed = {
    transaction: request.readUInt16BE(0),
    unit: request.readUInt8(6),
    code: request.readUInt8(7),
    address: request.readUInt16BE(8),
    count: request.readUInt16BE(10),
  };
  return usualAnswer({ memory: pattern, holes: () => false }, parsed);
}

/** Reads BLOCK once, the answer being what `spoil` makes of the right one. */
export type ReadSpoilt = (spoil: (answer: Buffer) => readonly Buffer[]) => Promise<BlockAnswer | LinkError>;

/** One connection, one read, answered with what `spoil` makes of the right answer; then the peer goes away. */
export async function readSpoilt(spoil: (answer: Buffer) => readonly Buffer[]): Promise<BlockAnswer | LinkError> {
  const wire = memoryWire();
  const session = modbusSession(
    { openWire: wire.openWire, makeFraming: mbapFraming },
    { connect_ms: 60_000, answer_ms: 60_000 },
  );
  wire.onRequest = (request) => {
    for (const piece of spoil(goodAnswer(request))) wire.receive(piece);
    wire.down(new LinkError("closed", "over"));
  };
  await session.open();
  return session.read(1, BLOCK).catch((error: unknown) => {
    if (error instanceof LinkError) return error;
    throw error;
  });
}

/** A changed data byte can't be told from another value (TCP has its own checksum); any other change can. */
function isAnswer(bytes: Buffer, right: Buffer, outcome: BlockAnswer): boolean {
  const sameHeader = (length: number): boolean =>
    bytes.subarray(0, 4).equals(right.subarray(0, 4)) && bytes.length === length;
  if (outcome.kind === "exception") return sameHeader(9) && bytes[7] === 0x83 && bytes[8] === outcome.code;
  if (outcome.kind === "bits") return false;
  if (bytes.length !== right.length) return false;
  const values = Array.from({ length: COUNT }, (_, i) =>
    bytes.equals(right) ? RIGHT[i] : bytes.readUInt16BE(9 + 2 * i),
  );
  return (
    sameHeader(right.length) &&
    bytes.subarray(4, 9).equals(right.subarray(4, 9)) &&
    outcome.words.length === COUNT &&
    outcome.words.every((word, i) => word === values[i])
  );
}

const EDIT = fc.tuple(fc.nat(EDITS.length - 1), fc.nat(300), fc.nat(255));

/** One read per run: whatever is done to its answer, it settles, and with a value only where the frame was whole. */
/** @param read how; over a socket a peer that goes away may show as a reset */
export function mutatedAnswers(read: ReadSpoilt = readSpoilt): fc.IAsyncProperty<[[number, number, number][], number]> {
  return fc.asyncProperty(fc.array(EDIT, { minLength: 1, maxLength: 4 }), fc.nat(29), async (edits, cut) => {
    let right: Buffer = Buffer.alloc(0);
    let sent: Buffer = Buffer.alloc(0);
    const outcome = await read((answer) => {
      right = answer;
      sent = edits.reduce((bytes, [kind, at, value]) => (EDITS[kind] ?? EDITS[0])?.(bytes, at, value) ?? bytes, answer);
      return [sent.subarray(0, cut), sent.subarray(cut)].filter((piece) => piece.length > 0);
    });
    if (outcome instanceof LinkError)
      return ["malformed", "closed", ...(read === readSpoilt ? [] : ["reset"])].includes(outcome.kind);
    // What came in one piece may have been whole already; what follows it then ends the connection.
    return [sent, sent.subarray(0, cut)].some((bytes) => isAnswer(bytes, right, outcome));
  });
}
