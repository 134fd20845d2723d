import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { readWal } from "./wal.ts";

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

/** The first bytes of a file, zeros where it has none. */
export function headOf(path: string, bytes: number): Buffer {
  const head = Buffer.alloc(bytes);
  const file = openSync(path, "r");
  try {
    readSync(file, head, 0, head.length, 0);
  } finally {
    closeSync(file);
  }
  return head;
}

/** The size that the file's header names; undefined: the header is gone, or names none. */
export function saidPageSize(path: string): number | undefined {
  const said = headOf(path, 18).readUInt16BE(16);
  return PAGE_SIZES.find((size) => size === (said === 1 ? 65_536 : said));
}
