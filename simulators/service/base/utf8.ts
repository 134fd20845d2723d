const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8. Throws a TypeError for invalid bytes, so that no letter is replaced. */
export function textOf(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}
