/** A file of an archive. */
export interface ArchiveFile {
  /** ASCII, at most 100 characters. */
  readonly name: string;
  readonly text: string;
}

const BLOCK = 512;

/** POSIX ustar (IEEE Std 1003.1-1988): regular files of mode 0600, all with one time (epoch seconds). Pure. */
export function tarOf(files: readonly ArchiveFile[], time: number): Buffer {
  const parts = files.flatMap(({ name, text }) => {
    const content = Buffer.from(text, "utf8");
    return [headerOf(name, { size: content.length, time }), content, Buffer.alloc(paddingOf(content.length))];
  });
  // Two blocks of zeros are the end.
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function headerOf(name: string, { size, time }: { readonly size: number; readonly time: number }): Buffer {
  if (!/^[\x21-\x7e]{1,100}$/.test(name)) throw new Error(`${name} is no name for a file of an archive`);
  const header = Buffer.alloc(BLOCK);
  const put = (text: string, at: number): void => void header.write(text, at, "latin1");
  put(name, 0);
  put(octal(0o600, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(size, 12), 124);
  put(octal(time, 12), 136);
  put("        ", 148); // while the sum is made, its own place counts as blanks
  put("0", 156);
  put("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\u0000 `, 148);
  return header;
}

function octal(value: number, width: number): string {
  return `${Math.floor(value)
    .toString(8)
    .padStart(width - 1, "0")}\u0000`;
}

function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}
