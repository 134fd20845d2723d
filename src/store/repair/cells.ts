import type { Pages } from "./pages.ts";

/** One row as the file holds it: a number beyond 2^53 doesn't occur in ours. */
export type Cell = string | number | Buffer | null;

/** Page types of tables WITHOUT ROWID and of indexes: inner pages hold rows too. */
const INNER = 0x02;
const LEAF = 0x0a;
const TYPES = { inner: INNER, leaf: LEAF } as const;
/** A row larger than this isn't one of ours. */
const MAX_ROW_BYTES = 64_000_000;

/** Rows of a page whose own header stands at `head`, in the order of its cells; [] where it isn't one that holds rows. Cells that make no sense are left out. */
export function rowsOfPage(pages: Pages, page: Buffer, head: number): Cell[][] {
  const type = page[head];
  if (type !== TYPES.leaf && type !== TYPES.inner) return [];
  const start = head + (type === TYPES.leaf ? 8 : 12);
  const cells = Math.min(page.readUInt16BE(head + 3), Math.floor((page.length - start) / 2));
  const rows: Cell[][] = [];
  for (let index = 0; index < cells; index += 1) {
    const row = rowAt(pages, page, page.readUInt16BE(start + 2 * index) + (type === TYPES.leaf ? 0 : 4));
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

function rowAt(pages: Pages, page: Buffer, at: number): Cell[] | undefined {
  try {
    const size = varint(page, at);
    if (size.value > MAX_ROW_BYTES) return undefined;
    const payload = payloadAt(pages, page, { at: at + size.bytes, size: size.value });
    return payload === undefined ? undefined : recordOf(payload);
  } catch (error) {
    // A length or an offset that leads out of the page: no row stands here.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A row's bytes; what has no place in the page stands in a chain of further ones. */
function payloadAt(pages: Pages, page: Buffer, { at, size }: { at: number; size: number }): Buffer | undefined {
  const usable = pages.page_bytes;
  const most = Math.floor(((usable - 12) * 64) / 255) - 23;
  if (size <= most) return within(page, at, size);
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const fits = least + ((size - least) % (usable - 4));
  const local = fits <= most ? fits : least;
  const parts = [within(page, at, local)];
  let left = size - local;
  let next = page.readUInt32BE(at + local);
  while (left > 0) {
    const overflow = pages.page(next);
    if (next === 0 || overflow === undefined) return undefined;
    const part = within(overflow, 4, Math.min(left, usable - 4));
    parts.push(part);
    left -= part.length;
    next = overflow.readUInt32BE(0);
  }
  return Buffer.concat(parts);
}

function within(page: Buffer, at: number, length: number): Buffer {
  if (at < 0 || at + length > page.length) throw new RangeError("outside the page");
  return page.subarray(at, at + length);
}

/** SQLite's record format: a header of types, then the values. */
function recordOf(payload: Buffer): Cell[] | undefined {
  const head = varint(payload, 0);
  const row: Cell[] = [];
  let at = head.bytes;
  let value = head.value;
  while (at < head.value) {
    const type = varint(payload, at);
    at += type.bytes;
    const length = lengthOf(type.value);
    const cell = cellOf(type.value, within(payload, value, length));
    if (cell === undefined) return undefined;
    row.push(cell);
    value += length;
  }
  return row;
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

function lengthOf(type: number): number {
  return type >= 12 ? Math.floor((type - 12) / 2) : (INTEGER_BYTES[type] ?? 0);
}

/** undefined: a sort of value that none of our tables has. */
function cellOf(type: number, bytes: Buffer): Cell | undefined {
  if (type === 0) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type >= 1 && type <= 5) return bytes.readIntBE(0, bytes.length);
  if (type === 6) return Number(bytes.readBigInt64BE(0));
  if (type < 12) return undefined;
  return type % 2 === 1 ? bytes.toString("utf8") : Buffer.from(bytes);
}

function varint(buffer: Buffer, at: number): { readonly value: number; readonly bytes: number } {
  let value = 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = buffer.readUInt8(at + index);
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, bytes: index + 1 };
  }
  return { value: value * 256 + buffer.readUInt8(at + 8), bytes: 9 };
}
