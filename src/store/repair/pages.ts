import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import type { Cell } from "../schema.ts";
import { headOf, readWal } from "../wal.ts";

/** The pages of a database file and of its write-ahead log, read without SQLite: nothing in them is relied on. */
export interface Pages {
  readonly page_bytes: number;
  /** Images that there are: the file's pages, then those in the log, from 0. */
  readonly images: number;
  image(index: number): Buffer | undefined;
  /** Page by number, from 1, as the last commit left it; undefined: it isn't there. */
  page(number: number): Buffer | undefined;
  close(): void;
}

/** All that SQLite knows. */
export const PAGE_SIZES = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536] as const;

/** Opens a database file and its write-ahead log for reading pages of that size. Throws where the file can't be read. */
export function openPages(path: string, page_bytes: number): Pages {
  const file = openSync(path, "r");
  const wal = existsSync(`${path}-wal`) ? openSync(`${path}-wal`, "r") : null;
  const { frames } = readWal(path, page_bytes);
  const own = Math.ceil(fstatSync(file).size / page_bytes);
  const latest = new Map(frames.map(({ page, at }) => [page, at]));
  const read = (source: number | null, at: number): Buffer | undefined => {
    const buffer = Buffer.alloc(page_bytes);
    return source !== null && readSync(source, buffer, 0, page_bytes, at) > 0 ? buffer : undefined;
  };
  return {
    page_bytes,
    images: own + frames.length,
    image(index) {
      const frame = frames[index - own];
      return frame === undefined ? read(file, index * page_bytes) : read(wal, frame.at);
    },
    page(number) {
      const at = latest.get(number);
      return at === undefined ? read(file, (number - 1) * page_bytes) : read(wal, at);
    },
    close() {
      closeSync(file);
      if (wal !== null) closeSync(wal);
    },
  };
}

/** The size that the file's header names; undefined: the header is gone, or names none. */
export function saidPageSize(path: string): number | undefined {
  const said = headOf(path, 18).readUInt16BE(16);
  return PAGE_SIZES.find((size) => size === (said === 1 ? 65_536 : said));
}

/** Page types of tables WITHOUT ROWID and of indexes: inner pages hold rows too. */
const INNER = 0x02;
const LEAF = 0x0a;
/** A row larger than this isn't one of ours. */
const MAX_ROW_BYTES = 64_000_000;

/** Rows of a page whose own header stands at `head`, in the order of its cells; [] where it isn't one that holds rows. Cells that make no sense are left out. */
export function rowsOfPage(pages: Pages, page: Buffer, head: number): Cell[][] {
  const type = page[head];
  if (type !== LEAF && type !== INNER) return [];
  const start = head + (type === LEAF ? 8 : 12);
  const cells = Math.min(page.readUInt16BE(head + 3), Math.floor((page.length - start) / 2));
  const rows: Cell[][] = [];
  for (let index = 0; index < cells; index += 1) {
    const row = rowAt(pages, page, page.readUInt16BE(start + 2 * index) + (type === LEAF ? 0 : 4));
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
