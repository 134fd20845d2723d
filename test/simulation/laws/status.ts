import type { AgentStatus } from "../../../src/domain/status.ts";

/** The true state of the gateway's surroundings in the last minutes. */
export interface Weather {
  /** Whether the PLC could be read: all of the time, never, or now and then. */
  readonly plc: "all" | "never" | "mixed";
  /** Whether the service could be reached. */
  readonly service: "all" | "never" | "mixed";
  /** Returns how many records up to that seq the service lacks. */
  readonly lacking: (acked_seq: number) => number;
  /** Number of takes that are not committed. */
  readonly pending: number;
}

/** Returns the false statements of a status. */
export function untrueStatus({ booths, service }: AgentStatus, weather: Weather): string[] {
  const [booth] = booths;
  if (booth === undefined) return ["the booth is missing"];
  const { plc, log, provisioning } = booth;
  const seqs = `newest ${log.newest_seq}, acked ${log.acked_seq}`;
  const isBound = provisioning.state === "active";
  const { storage } = log;
  const checks: readonly (readonly [boolean, string])[] = [
    [weather.plc === "all" && plc.kind === "down", "the PLC can be read and is shown as down"],
    [weather.plc === "never" && plc.kind !== "down", `the PLC can't be read and is shown as ${plc.kind}`],
    [isBound && weather.service === "all" && service.kind !== "up", "the service can be reached and is shown as down"],
    [weather.service === "never" && service.kind === "up", "the service can't be reached and is shown as up"],
    [log.acked_seq > log.newest_seq, `more is acked than there is: ${seqs}`],
    // Rejected records are set aside and sent again while the log continues.
    [weather.lacking(log.acked_seq) > log.refused.count, `more is acked than the service has: ${seqs}`],
    [log.pending !== weather.pending, `${log.pending} takes wait, not ${weather.pending}`],
    [(storage?.used_bytes ?? 0) > (storage?.max_bytes ?? 1), "the store is over its budget"],
  ];
  return checks.filter(([broken]) => broken).map(([, text]) => text);
}
