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

const HEADER_BYTES = 100;
const SIZES = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
/** What SQLite makes where it isn't told otherwise. */
const USUAL_BYTES = 4096;

/** Opens a database file and its write-ahead log for reading pages. Throws where the file can't be read. */
export function openPages(path: string): Pages {
  const file = openSync(path, "r");
  const wal = existsSync(`${path}-wal`) ? openSync(`${path}-wal`, "r") : null;
  const page_bytes = pageSizeOf(file, readWal(path).page_bytes);
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

/** What the header says, or the log's; where both are gone, the size at which most pages look like pages of a table. */
function pageSizeOf(file: number, inWal: number): number {
  const head = Buffer.alloc(HEADER_BYTES);
  readSync(file, head, 0, HEADER_BYTES, 0);
  const said = head.readUInt16BE(16) === 1 ? 65_536 : head.readUInt16BE(16);
  const scores = SIZES.map((size) => ({ size, score: likeness(file, size) })).sort((a, b) => b.score - a.score);
  const [best] = scores;
  if (best !== undefined && best.score > 0) {
    const ofSaid = scores.find(({ size }) => size === said)?.score ?? 0;
    return ofSaid >= best.score / 2 ? said : best.size;
  }
  if (SIZES.includes(inWal)) return inWal;
  return SIZES.includes(said) ? said : USUAL_BYTES;
}

/** Share of the first pages behind the header's that begin as a page with rows does. */
function likeness(file: number, size: number): number {
  const head = Buffer.alloc(8);
  let [seen, like] = [0, 0];
  for (let page = 1; page < 200; page += 1) {
    if (readSync(file, head, 0, 8, page * size) < 8) break;
    seen += 1;
    const isIndex = head[0] === 0x0a || head[0] === 0x02;
    const cells = head.readUInt16BE(5);
    if (isIndex && cells >= 8 && cells <= size && head.readUInt16BE(3) > 0) like += 1;
  }
  return seen < 2 ? 0 : like / seen;
}
