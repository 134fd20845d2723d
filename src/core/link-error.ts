/**
 * What went wrong with a link. refused: no connection (refused, unreachable, name unknown); timeout: no answer within the
 * deadline; reset: broken off; closed: ended in order, by the peer or by us; malformed: an answer that isn't one to our
 * request; busy: the device asks to come back later; path: a gateway in between can't reach the device; config: asked for
 * something impossible.
 */
export const LINK_ERROR_KINDS = [
  "refused",
  "timeout",
  "reset",
  "malformed",
  "closed",
  "busy",
  "path",
  "config",
] as const;
export type LinkErrorKind = (typeof LINK_ERROR_KINDS)[number];

/** The only error that a driver rejects with. The link is unusable after it: close the driver and make a new one. */
export class LinkError extends Error {
  override readonly name = "LinkError";
  readonly kind: LinkErrorKind;

  constructor(kind: LinkErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}
