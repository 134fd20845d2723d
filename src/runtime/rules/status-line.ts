import type { LinkStatus } from "../../domain/status.ts";

/** What the status line says of one booth. */
export interface BoothLine {
  readonly booth: string;
  /** null: nothing was read yet. */
  readonly mode: string | null;
  readonly plc: LinkStatus["kind"];
  /** Durable records that the service doesn't have. */
  readonly waiting: number;
  /** Why the store can't commit; "": it can. */
  readonly trouble: string;
}

/** Longest line: systemd shows it on one. */
const MAX_LENGTH = 240;

/** The agent in one line, for the service manager. Pure. */
export function statusLine(service: LinkStatus["kind"], booths: readonly BoothLine[]): string {
  const texts = booths.map(({ booth, mode, plc, waiting, trouble }) => {
    const store = trouble === "" ? "" : ", store in trouble";
    return `${booth}: ${mode ?? "nothing read yet"}, PLC ${plc}, ${waiting} to send${store}`;
  });
  const line = [`service ${service}`, ...texts].join("; ");
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH - 3)}...`;
}
