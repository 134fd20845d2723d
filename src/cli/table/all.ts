import { AGENT_TABLE } from "./agent.ts";
import { CARE_TABLE } from "./care.ts";
import { PLC_TABLE } from "./plc.ts";
import { PROFILE_TABLE } from "./profile.ts";
import { REPORTS_TABLE } from "./reports.ts";

/** Every command, in the order of help and manual page. */
export const GROUPS = [
  { title: "Agent and booth", commands: AGENT_TABLE },
  { title: "Reports", commands: REPORTS_TABLE },
  { title: "PLC (read-only, needs no running agent)", commands: PLC_TABLE },
  { title: "Custom profiles (read-only at the PLC, needs no running agent)", commands: PROFILE_TABLE },
  { title: "Maintenance", commands: CARE_TABLE },
] as const;

export type CommandName = (typeof GROUPS)[number]["commands"][number]["name"];
