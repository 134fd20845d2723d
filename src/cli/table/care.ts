import type { CommandSpec } from "../spec.ts";
import { AGENT, JSON_OPTION } from "../spec.ts";

/** The commands of configuration, store and the program itself. */
export const CARE_TABLE = [
  {
    name: "check",
    summary: "read configuration and profiles, or one profile, and say what is wrong with them",
    operands: [
      { name: "FILE", text: "a profile to check by itself (default: the configuration and its own)", optional: true },
    ],
    options: {
      ...AGENT,
      addresses: "show what each Modbus tag's address was taken for, in every notation",
    },
    notes: [
      "It needs no agent. A mistake is shown with file, line and column. The agent leaves out a booth with a mistake and runs the others; it refuses a file with a mistake outside the booths.",
    ],
    examples: ["check --config gateway.yaml", "check /etc/booth-gateway/profiles/acme.yaml"],
    exits: { 78: "there is a mistake" },
  },
  {
    name: "config",
    summary: "show what is in force and where it comes from, change one setting, take a change back",
    operands: [
      {
        name: "ACTION",
        text: "what to do",
        choices: {
          show: "every setting in force, or those below SETTING, with its line or that it is the default; secrets hidden",
          set: "puts VALUE in SETTING's place, if the whole is in order then; the file before is kept",
          rollback: "puts back the file as it was when it was last in order",
        },
      },
      { name: "SETTING", text: "e.g. service.url, booths.booth-1.modbus.host or booths[0].tz", optional: true },
      { name: "VALUE", text: "as the file would have it: a text, a number, true, [a, list]", optional: true },
    ],
    options: AGENT,
    notes: [
      "It needs no agent, and what it changes comes in force with the agent's next start. Comments stay. FILE.last-good is the file before the last change, if it was in order; FILE.replaced what a rollback put aside.",
    ],
    examples: ["config show service", "config set booths.booth-1.modbus.host 192.0.2.10", "config rollback"],
    exits: { 78: "it would be wrong then: nothing was changed" },
  },
  {
    name: "notify",
    summary: "try a notice: a test by mail, webhook or MQTT, with what the server says",
    operands: [
      { name: "ACTION", text: "what to do", choices: { test: "sends a test by NAME, or by each notice" } },
      { name: "NAME", text: "of a notice in the configuration (default: each)", optional: true },
    ],
    options: AGENT,
    notes: [
      "The agent sends it, by the notices that it was started with. A test counts for no bound per hour, and quiet hours don't hold it back.",
    ],
    examples: ["notify test", "notify test office"],
    exits: { 1: "a server didn't take it: its answer is shown" },
  },
  {
    name: "doctor",
    summary: "run every check there is, and end with what to do, in order",
    options: AGENT,
    notes: [
      "Configuration, profiles, rights of files, disk, store, systemd unit, agent, clock, PLCs, service, broker, certificates, versions. It changes nothing.",
      "PLCs are asked only where no agent runs, which holds their connections. As root it sees more than as a member of the group.",
    ],
    examples: ["doctor"],
    exits: { 0: "nothing is broken", 1: "something is; what to do is told" },
  },
  {
    name: "support-bundle",
    summary: "put what whoever helps from afar needs into one file, without a secret",
    options: {
      ...AGENT,
      "out FILE": "the bundle (default booth-gateway-support-TIME.tar.gz here); never overwrites",
    },
    notes: [
      "Status, counts, readings, newest log lines, configuration, and what doctor says. Only what stands on a list of allowed fields: no key, password, PIN or customer's name. It says what it contains. Works without an agent too.",
    ],
    examples: ["support-bundle", "support-bundle --out /media/usb/booth.tar.gz"],
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
      "data-dir DIR": "the data folder, instead of the configuration's",
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
    examples: ["schemas config/schemas"],
  },
  {
    name: "completion",
    summary: "print what makes a shell complete commands, options and files",
    operands: [
      {
        name: "SHELL",
        text: "which one",
        choices: { bash: "since version 4", zsh: "since version 5", fish: "since version 3" },
      },
    ],
    options: {},
    examples: [
      "completion bash > /etc/bash_completion.d/booth-gateway",
      "completion zsh > /usr/local/share/zsh/site-functions/_booth-gateway",
      "completion fish > ~/.config/fish/completions/booth-gateway.fish",
    ],
  },
  {
    name: "manual",
    summary: "print the manual page",
    options: {},
    notes: ["In roff: man -l shows it."],
    examples: ["manual > booth-gateway.8"],
  },
] as const satisfies readonly CommandSpec[];
