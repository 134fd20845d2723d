import { crc32, deflateSync } from "node:zlib";
import font from "oled-font-5x7";
import { qrModules } from "./qr-code.ts";

/** A label as a PNG of one bit a pixel, for a label printer: the code, and beside it lines of text. */

/** Pixels of a module of the code. */
const DOT = 8;
/** Between what stands beside or below each other. */
const SPACE = 24;

/** `size`: pixels of a dot of its letters. */
export interface LabelLine {
  readonly text: string;
  readonly size: number;
}

interface Picture {
  readonly width: number;
  readonly height: number;
  /** True: dark; row by row. */
  readonly dots: Uint8Array;
}

/** `code` is what the QR code holds. */
export function labelPng(code: string, lines: readonly LabelLine[]): Buffer {
  const modules = qrModules(code);
  const side = modules.length * DOT;
  const wide = Math.max(0, ...lines.map(({ text, size }) => text.length * advance(size)));
  const high = lines.reduce((sum, { size }) => sum + lineHeight(size), 0);
  const height = Math.max(side, high + 2 * SPACE);
  const picture = blank(side + (wide === 0 ? 0 : wide + SPACE), height);
  modules.forEach((row, y) => row.forEach((isDark, x) => isDark && square(picture, { x: x * DOT, y: y * DOT }, DOT)));
  let y = Math.floor((height - high) / 2);
  for (const line of lines) {
    write(picture, { x: side, y }, line);
    y += lineHeight(line.size);
  }
  return pngOf(picture);
}

const advance = (size: number): number => (font.width + 1) * size;
const lineHeight = (size: number): number => (font.height + 4) * size;

function blank(width: number, height: number): Picture {
  return { width, height, dots: new Uint8Array(width * height) };
}

function square({ width, dots }: Picture, { x, y }: { readonly x: number; readonly y: number }, size: number): void {
  for (let row = 0; row < size; row += 1) {
    const from = (y + row) * width + x;
    dots.fill(1, from, from + size);
  }
}

/** A letter that the font hasn't is left blank. */
function write(picture: Picture, at: { readonly x: number; readonly y: number }, { text, size }: LabelLine): void {
  Array.from(text).forEach((letter, nth) => {
    const index = font.lookup.indexOf(letter);
    if (index < 0) return;
    // A column a byte, the lowest bit at the top.
    const columns = font.fontData.slice(index * font.width, (index + 1) * font.width);
    columns.forEach((bits, column) => {
      for (let row = 0; row < font.height; row += 1) {
        if (((bits >> row) & 1) === 0) continue;
        square(picture, { x: at.x + nth * advance(size) + column * size, y: at.y + row * size }, size);
      }
    });
  });
}

function pngOf({ width, height, dots }: Picture): Buffer {
  const stride = 1 + Math.ceil(width / 8);
  const rows = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    // White is 1, also beyond the edge.
    rows.fill(0xff, y * stride + 1, (y + 1) * stride);
    for (let x = 0; x < width; x += 1) {
      const at = y * stride + 1 + (x >> 3);
      if (dots[y * width + x] === 1) rows[at] = (rows[at] ?? 0) & ~(0x80 >> (x & 7));
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 1; // bits a pixel, grey; the rest are zeros
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    piece("IHDR", head),
    piece("IDAT", deflateSync(rows)),
    piece("IEND", Buffer.alloc(0)),
  ]);
}

function piece(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const length = Buffer.alloc(4);
  const sum = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}
