import { inflateSync } from "node:zlib";
import jsqr from "jsqr";

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly isDark: (x: number, y: number) => boolean;
}

/** A PNG of one bit a pixel, in one piece of data, without filters: as labels are drawn. */
export function pictureOf(png: Buffer): Picture {
  if (png.subarray(1, 4).toString() !== "PNG") throw new Error("that is no PNG");
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const from = png.indexOf("IDAT") + 4;
  const rows = inflateSync(png.subarray(from, from + png.readUInt32BE(from - 8)));
  const stride = 1 + Math.ceil(width / 8);
  if (rows.length !== stride * height) throw new Error("its rows aren't as long as it says");
  return { width, height, isDark: (x, y) => (((rows[y * stride + 1 + (x >> 3)] ?? 0) >> (7 - (x & 7))) & 1) === 0 };
}

/** Its pixels as a reader of pictures wants them: four bytes each. */
export function pixels({ width, height, isDark }: Picture): Uint8ClampedArray {
  const found = new Uint8ClampedArray(4 * width * height).fill(255);
  for (let at = 0; at < width * height; at += 1) {
    if (isDark(at % width, Math.floor(at / width))) found.fill(0, 4 * at, 4 * at + 3);
  }
  return found;
}

/** What the QR code in it holds, by a reader of another author's. */
export function qrIn(picture: Picture): string | undefined {
  return jsqr.default(pixels(picture), picture.width, picture.height)?.data;
}
