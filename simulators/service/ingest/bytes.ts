import { inflateRawSync } from "node:zlib";
import { textOf } from "../base/utf8.ts";

const MAX_INFLATED_BYTES = 4 * 1024 * 1024;
/** Buffer size for inflating. Node's default of 16 KiB per block is most of the cost of a short block. */
const LEAST_ROOM_BYTES = 1_024;

/** Smaller numbers are processed as 32-bit integers, which is much faster. */
export const SMALL = 2 ** 30;

/** The bytes aren't a chunk, or its parts contradict each other. */
export class MalformedChunk extends Error {}

/** Reads bytes from front to back. Each method throws MalformedChunk at their end. */
export class Bytes {
  at = 0;
  readonly bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isOver(): boolean {
    return this.at === this.bytes.length;
  }

  take(length: number): Uint8Array {
    if (length > this.bytes.length - this.at) throw new MalformedChunk("cut short");
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** Returns the remaining bytes. */
  rest(): Uint8Array {
    return this.take(this.bytes.length - this.at);
  }

  byte(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new MalformedChunk("cut short");
    this.at += 1;
    return byte;
  }

  /** Reads an unsigned LEB128 number. */
  number(): number {
    let byte = this.byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let scale = 0x80;
    do {
      byte = this.byte();
      value += (byte & 0x7f) * scale;
      scale *= 0x80;
    } while (byte >= 0x80);
    if (!Number.isSafeInteger(value)) throw new MalformedChunk("a number beyond 2^53");
    return value;
  }

  /** Fills the array with numbers. Most take one byte, and a special loop reads those in a third of the time. */
  numbers(room: Float64Array): void {
    const { bytes } = this;
    let at = this.at;
    for (let index = 0; index < room.length; index += 1) {
      const byte = bytes[at] ?? 0x80;
      if (byte < 0x80) {
        room[index] = byte;
        at += 1;
      } else {
        this.at = at;
        room[index] = this.number();
        at = this.at;
      }
    }
    this.at = at;
  }

  /** Reads a signed number: 0, -1, 1, -2, 2, ... are stored as 0, 1, 2, 3, 4, ... */
  signed(): number {
    const code = this.number();
    if (code < SMALL) return (code >> 1) ^ -(code & 1);
    return code % 2 === 0 ? code / 2 : -(code + 1) / 2;
  }

  double(): number {
    if (this.bytes.length - this.at < 8) throw new MalformedChunk("cut short");
    this.at += 8;
    return this.#view.getFloat64(this.at - 8, true);
  }
}

/** Inflates a raw deflate block. Throws MalformedChunk. */
export function inflated(block: Uint8Array): Uint8Array {
  const chunkSize = Math.max(LEAST_ROOM_BYTES, 4 * block.length);
  try {
    return inflateRawSync(block, { maxOutputLength: MAX_INFLATED_BYTES, chunkSize });
  } catch (cause) {
    throw new MalformedChunk("a block isn't deflate's, or is too large", { cause });
  }
}

/** Decodes UTF-8. Throws MalformedChunk. */
export function textIn(bytes: Uint8Array): string {
  try {
    return textOf(bytes);
  } catch (cause) {
    throw new MalformedChunk("a text isn't UTF-8", { cause });
  }
}
