const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text in bytes of UTF-8. Throws a TypeError where they aren't: a letter that got lost is no other letter. */
export function textOf(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}
