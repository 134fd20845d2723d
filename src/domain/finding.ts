import { message, type Message, type MessageCode } from "./message.ts";
import type { IncidentFact } from "./record.ts";

const CODES: Readonly<Record<string, MessageCode>> = {
  clock_skew: "finding.clock_skew",
  cross: "finding.cross",
  transition: "finding.transition",
  gap: "finding.gap",
  mode_conflict: "finding.mode_conflict",
  mapped: "finding.mapped",
  stuck: "finding.stuck",
  non_zero: "finding.non_zero",
  monotonic: "finding.monotonic",
  mismatch: "finding.mismatch",
  config_unit: "finding.config_unit",
  config_tz: "finding.config_tz",
  sentinel: "finding.sentinel",
  all_zero: "finding.all_zero",
  torn: "finding.torn",
  identity: "finding.identity",
  tail_damaged: "finding.tail_damaged",
  store_damaged: "finding.store_damaged",
};

/**
 * Returns the finding of a validation incident as a message, for languages other than the record's English `reason`. The message is made
 * from the check and its limits (`logic`) and omits the observed values, so it is shorter than the reason. Returns null if another version
 * of the check made the incident.
 */
export function findingOf({ logic }: Pick<IncidentFact["value"], "logic">): Message | null {
  const { op, ...limits } = logic;
  const args = Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, String(value)] as const));
  if (op === "between") return "min" in args ? { code: "finding.between", args } : message("finding.outside");
  if (op === "dwell") return { code: "min" in args ? "finding.dwell_short" : "finding.dwell_long", args };
  const code = CODES[String(op)];
  return code === undefined ? null : { code, args };
}
