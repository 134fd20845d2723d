import type { LinkErrorKind } from "./link-error.ts";

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
