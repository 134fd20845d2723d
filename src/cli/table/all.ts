import { AGENT_TABLE } from "./agent.ts";
import { CARE_TABLE } from "./care.ts";
import { PLC_TABLE } from "./plc.ts";
import { PROFILE_TABLE } from "./profile.ts";
import { REPORTS_TABLE } from "./reports.ts";

/** Every command, in the order of help and manual page. */
export const GROUPS = [
  { title: "Agent and booth", commands: AGENT_TABLE },
  { title: "What the booth did", commands: REPORTS_TABLE },
  { title: "At the PLC (only reads, needs no agent)", commands: PLC_TABLE },
  { title: "A profile of your own (only reads the PLC, needs no agent)", commands: PROFILE_TABLE },
  { title: "Care", commands: CARE_TABLE },
] as const;

export type CommandName = (typeof GROUPS)[number]["commands"][number]["name"];
