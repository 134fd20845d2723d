/** Changes bytes at a position, depending on a value. */
export type Edit = (bytes: Buffer, at: number, value: number) => Buffer;

export const EDITS: readonly Edit[] = [
  (bytes, at, value) => {
    const copy = Buffer.from(bytes);
    copy[at % copy.length] = value;
    return copy;
  },
  (bytes, at) => bytes.subarray(0, at % (bytes.length + 1)),
  (bytes, at) => bytes.subarray(at % bytes.length),
  (bytes, at, value) => Buffer.concat([bytes, Buffer.alloc(at, value)]),
  (bytes, at, value) =>
    Buffer.concat([bytes.subarray(0, at % bytes.length), Buffer.from([value]), bytes.subarray(at % bytes.length)]),
  (bytes, at) => Buffer.concat([bytes.subarray(0, at % bytes.length), bytes]),
];
