/** Random numbers by seed and name: the same position in a story gets the same number, whatever was drawn earlier. */

/** Hashes the text to 32 unsigned bits (FNV-1a, mixed). */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Returns a number in [0, 1), fixed by seed and key. */
export function uniform(seed: number, key: string): number {
  return hash(`${seed}/${key}`) / 2 ** 32;
}

/** Returns sensor noise in [-1, 1), a value for each second of `at`. */
export function noise(seed: number, key: string, at: number): number {
  return uniform(seed, `${key}/${Math.floor(at / 1000)}`) * 2 - 1;
}
