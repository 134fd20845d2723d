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

/** What the technician can do about a PLC link that is down. */
const ADVICE: Readonly<Record<LinkErrorKind, string>> = {
  refused: "check the PLC's power, the cable, and address and port in the configuration",
  timeout: "check the cable and the unit id; another master may hold the PLC's only connection",
  reset: "the PLC broke the connection off: another master may hold its only connection",
  closed: "nothing to do: the PLC closed the connection, a new one is made",
  malformed: "check that address and port belong to the PLC and nothing else answers there",
  busy: "nothing to do: the PLC asks to come back later",
  path: "check the serial line behind the Modbus gateway and the unit id",
  config: "correct the configuration as the reason says",
};

export function adviceFor(kind: LinkErrorKind): string {
  return ADVICE[kind];
}
