import { crc32, deflateSync } from "node:zlib";
import { encode, renderUnicodeCompact } from "uqr";

/** Quiet modules around a code, on each side (ISO/IEC 18004 asks for four). */
const QUIET = 4;

/** A QR code for a terminal, dark on light whatever the terminal's colours are. */
export function qrText(text: string): string {
  const lines = renderUnicodeCompact(text, { border: 2 }).split("\n");
  return lines.map((line) => `\u001b[30;107m${line}\u001b[0m`).join("\n");
}

/** Pixels of a module: eight of them are a byte. */
const DOT = 8;

/** A QR code as a PNG of one bit a pixel. */
export function qrPng(text: string): Buffer {
  const { data } = encode(text, { border: QUIET });
  const size = data.length * DOT;
  const rows = data.flatMap((modules) => {
    const row = Buffer.alloc(1 + Math.ceil(size / 8));
    // Eight pixels of a module are one byte; white is 1.
    modules.forEach((isDark, at) => (row[1 + at] = isDark ? 0x00 : 0xff));
    return Array.from({ length: DOT }, () => row);
  });
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head[8] = 1; // bits a pixel, grey; the rest are zeros
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    piece("IHDR", head),
    piece("IDAT", deflateSync(Buffer.concat(rows))),
    piece("IEND", Buffer.alloc(0)),
  ]);
}

function piece(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}
