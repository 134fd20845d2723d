/** Bytes put one after the other. */
export interface ByteSink {
  /** A whole number from 0 up to 2^53 - 1, seven bits to a byte, the lowest first. */
  number(value: number): void;
  /** A whole number between -2^52 and 2^52: the small ones of either sign are short. */
  signed(value: number): void;
  double(value: number): void;
  /** Bytes behind their length. */
  block(bytes: Uint8Array): void;
  bytes(): Buffer;
}

/** Takes bytes in the order in which they were put. Each throws RangeError at the end. */
export interface ByteSource {
  number(): number;
  signed(): number;
  double(): number;
  block(): Buffer;
  /** How many have been taken. */
  at(): number;
}

export function byteSink(): ByteSink {
  let buffer = Buffer.alloc(256);
  let length = 0;
  const room = (more: number): void => {
    if (length + more > buffer.length) buffer = Buffer.concat([buffer], 2 * (length + more));
  };
  const number = (value: number): void => {
    room(8);
    let rest = value;
    while (rest >= 128) {
      buffer[length++] = 128 + (rest % 128);
      rest = Math.floor(rest / 128);
    }
    buffer[length++] = rest;
  };
  return {
    number,
    signed: (value) => number(value >= 0 ? 2 * value : -2 * value - 1),
    double(value) {
      room(8);
      length = buffer.writeDoubleLE(value, length);
    },
    block(bytes) {
      number(bytes.length);
      room(bytes.length);
      buffer.set(bytes, length);
      length += bytes.length;
    },
    bytes: () => buffer.subarray(0, length),
  };
}

export function byteSource(buffer: Buffer): ByteSource {
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = buffer[at++];
      if (byte === undefined) throw new RangeError("a number goes beyond the end");
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  };
  return {
    number,
    signed() {
      const value = number();
      return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    },
    double() {
      at += 8;
      return buffer.readDoubleLE(at - 8);
    },
    block() {
      const length = number();
      if (at + length > buffer.length) throw new RangeError("a block goes beyond the end");
      at += length;
      return buffer.subarray(at - length, at);
    },
    at: () => at,
  };
}
