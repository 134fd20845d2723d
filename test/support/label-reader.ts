import jsqr from "jsqr";

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly isDark: (x: number, y: number) => boolean;
}

/** Pixels per module; the QR reader needs several. */
const DOT = 4;

/** Returns the code of a label in SVG: one path with a square for each dark module. */
export function codeOf(svg: string): Picture {
  const [, path = ""] = /<path d="([^"]*)"/.exec(svg) ?? [];
  const dark = new Set([...path.matchAll(/M(\d+) (\d+)h1v1h-1z/g)].map(([, x = "", y = ""]) => `${x} ${y}`));
  const [, side = ""] = /<text x="(\d+)"/.exec(svg) ?? [];
  const size = Number(side) * DOT;
  const isDark = (x: number, y: number): boolean => dark.has(`${Math.floor(x / DOT)} ${Math.floor(y / DOT)}`);
  return { width: size, height: size, isDark };
}

/** Returns the pixels in the format of the QR reader: four bytes each. */
function pixels({ width, height, isDark }: Picture): Uint8ClampedArray {
  const found = new Uint8ClampedArray(4 * width * height).fill(255);
  for (let at = 0; at < width * height; at += 1) {
    if (isDark(at % width, Math.floor(at / width))) found.fill(0, 4 * at, 4 * at + 3);
  }
  return found;
}

/** Reads the text of the picture's QR code with a third-party reader. */
export function qrIn(picture: Picture): string | undefined {
  return jsqr.default(pixels(picture), picture.width, picture.height)?.data;
}
