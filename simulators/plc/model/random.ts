/** Randomness by seed and name: the same place in a story draws the same number, whatever was drawn before. */

/** FNV-1a over the text, mixed: 32 unsigned bits. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Uniform in [0, 1), fixed by seed and key. */
export function uniform(seed: number, key: string): number {
  return hash(`${seed}/${key}`) / 2 ** 32;
}

/** Sensor noise in [-1, 1), one value for each second of `at`. */
export function noise(seed: number, key: string, at: number): number {
  return uniform(seed, `${key}/${Math.floor(at / 1000)}`) * 2 - 1;
}
