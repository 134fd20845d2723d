import type { CommandSpec } from "../command.ts";
import { AGENT, JSON_OPTION } from "./shared.ts";

/** Configuration, store, and the program itself. */
export const CARE_TABLE = [
  {
    name: "check",
    summary: "read configuration and profiles and say what is wrong with them",
    operands: [],
    options: {
      ...AGENT,
      addresses: { value: "", text: "show what each Modbus tag's address was taken for, in every notation" },
    },
    notes: [
      "It needs no agent. A mistake is shown with file, line and column. The agent leaves out a booth with a mistake and runs the others; it refuses a file with a mistake outside the booths.",
    ],
    examples: ["check --config gateway.yaml"],
    exits: { 78: "there is a mistake" },
  },
  {
    name: "doctor",
    summary: "run every check there is, and end with what to do, in order",
    operands: [],
    options: AGENT,
    notes: [
      "Configuration, profiles, rights of files, disk, store, systemd unit, agent, clock, PLCs, service, broker, certificates, versions. It changes nothing.",
      "PLCs are asked only where no agent runs, which holds their connections. As root it sees more than as a member of the group.",
    ],
    examples: ["doctor"],
    exits: { 0: "nothing is broken", 1: "something is; what to do is told" },
  },
  {
    name: "store",
    summary: "the store as a whole: check, salvage, export, import, backup",
    operands: [
      {
        name: "ACTION",
        text: "what to do",
        choices: {
          check: "looks through everything, changing nothing",
          salvage: "puts all that can be read into a new file; the old one is kept aside",
          export: "every row as JSON lines, for another box or another program",
          import: "makes an export or a backup this box's store; the present one is kept aside",
          backup: "a copy of the store's file",
        },
      },
      { name: "FILE", text: "of export, import and backup", optional: true },
    ],
    options: {
      ...AGENT,
      "data-dir": { value: "DIR", text: "the data folder, instead of the configuration's" },
    },
    notes: [
      "check, export and backup may be run while the agent runs; salvage and import refuse then.",
      "After salvage and import records go to the service as a new stream that names its predecessor.",
      "Keys and provisioning are no part of it: a box that takes another one's place is provisioned.",
    ],
    examples: ["store check", "store backup /media/usb/store.db"],
    exits: { 1: "check: something is wrong" },
  },
  {
    name: "schemas",
    summary: "write the JSON Schemas of configuration and profiles, for editors",
    operands: [{ name: "FOLDER", text: "where to" }],
    options: JSON_OPTION,
    notes: [],
    examples: ["schemas config/schemas"],
  },
  {
    name: "completion",
    summary: "print what makes a shell complete commands, options and files",
    operands: [{ name: "SHELL", text: "which one", choices: { bash: "since version 4" } }],
    options: {},
    notes: [],
    examples: ["completion bash > /etc/bash_completion.d/booth-gateway"],
  },
  {
    name: "manual",
    summary: "print the manual page",
    operands: [],
    options: {},
    notes: ["In roff: man -l shows it."],
    examples: ["manual > booth-gateway.8"],
  },
] as const satisfies readonly CommandSpec[];
