import type { CommandSpec } from "../spec.ts";
import { AGENT, JSON_OPTION } from "../spec.ts";

/** The commands for the configuration, the store and the program itself. */
export const CARE_TABLE = [
  {
    name: "check",
    summary: "check the configuration and its profiles, or one profile, and list the mistakes",
    operands: [
      { name: "FILE", text: "a single profile to check (default: the configuration and its profiles)", optional: true },
    ],
    options: {
      ...AGENT,
      addresses: "show how each Modbus tag's address was interpreted, in every notation",
    },
    notes: [
      "It needs no running agent. It shows each mistake with file, line and column. The agent skips a booth with a mistake and runs the others; it rejects a file with a mistake outside the booths.",
    ],
    examples: ["check --config gateway.yaml", "check /etc/booth-gateway/profiles/acme.yaml"],
    exits: { 78: "there is a mistake" },
  },
  {
    name: "config",
    summary: "show the settings in force and their source, change one setting, revert a change",
    operands: [
      {
        name: "ACTION",
        text: "the action",
        choices: {
          show: "every setting in force, or those below SETTING, with its line or the word default; secrets are hidden",
          set: "sets SETTING to VALUE, if the resulting file is valid; keeps the previous file",
          rollback: "restores the last valid file",
        },
      },
      { name: "SETTING", text: "e.g. service.url, booths.booth-1.modbus.host or booths[0].tz", optional: true },
      { name: "VALUE", text: "as written in the file: a text, a number, true, [a, list]", optional: true },
    ],
    options: AGENT,
    notes: [
      "It needs no running agent. A change takes effect at the agent's next start. Comments are kept. FILE.last-good is the file before the last change, if it was valid. FILE.replaced is the file that a rollback replaced.",
    ],
    examples: ["config show service", "config set booths.booth-1.modbus.host 192.0.2.10", "config rollback"],
    exits: { 78: "the resulting file would be invalid; nothing was changed" },
  },
  {
    name: "notify",
    summary: "send a test notice by mail, webhook or MQTT, and show the server's answer",
    operands: [
      {
        name: "ACTION",
        text: "the action",
        choices: { test: "sends a test through the notice NAME, or through each notice" },
      },
      { name: "NAME", text: "a notice of the configuration (default: each)", optional: true },
    ],
    options: AGENT,
    notes: [
      "The agent sends the test, with the notices that it was started with. A test doesn't count towards the hourly limit and ignores quiet hours.",
    ],
    examples: ["notify test", "notify test office"],
    exits: { 1: "a server rejected the test; its answer is shown" },
  },
  {
    name: "doctor",
    summary: "run all checks, and list the steps to take, in order",
    options: AGENT,
    notes: [
      "Configuration, profiles, rights of files, disk, store, systemd unit, agent, clock, PLCs, service, broker, certificates, versions. It changes nothing.",
      "It connects to PLCs only if no agent runs, because a running agent holds their connections. As root it can check more than as a member of the group.",
    ],
    examples: ["doctor"],
    exits: { 0: "all checks passed", 1: "a check failed; the steps to take are shown" },
  },
  {
    name: "support-bundle",
    summary: "collect the data that remote support needs in one file without secrets",
    options: {
      ...AGENT,
      "out FILE": "the bundle (default booth-gateway-support-TIME.tar.gz here); an existing file is not overwritten",
    },
    notes: [
      "It contains status, counts, readings, the newest log lines, the configuration, the results of doctor, and a list of its contents. Only fields on an allowlist are included: no key, password, PIN or customer's name. It also works without a running agent.",
    ],
    examples: ["support-bundle", "support-bundle --out /media/usb/booth.tar.gz"],
  },
  {
    name: "store",
    summary: "check, salvage, export, import or back up the whole store",
    operands: [
      {
        name: "ACTION",
        text: "the action",
        choices: {
          check: "checks everything and changes nothing",
          salvage: "copies all readable rows to a new file; the old file is kept",
          export: "writes every row as JSON lines, for another box or another program",
          import: "replaces this box's store with an export or a backup; the present store is kept",
          backup: "copies the store's file",
        },
      },
      { name: "FILE", text: "the file of export, import and backup", optional: true },
    ],
    options: {
      ...AGENT,
      "data-dir DIR": "the data folder (default: the configuration's)",
    },
    notes: [
      "check, export and backup also work while the agent runs; salvage and import refuse to run then.",
      "After salvage and import the agent sends its records as a new stream that names its predecessor.",
      "The store doesn't contain keys and provisioning. Provision a box that replaces another one.",
    ],
    examples: ["store check", "store backup /media/usb/store.db"],
    exits: { 1: "check found an error" },
  },
  {
    name: "schemas",
    summary: "write the JSON Schemas of the configuration and of profiles, for editors",
    operands: [{ name: "FOLDER", text: "the folder to write to" }],
    options: JSON_OPTION,
    examples: ["schemas config/schemas"],
  },
  {
    name: "completion",
    summary: "print a script that makes a shell complete commands, options and files",
    operands: [
      {
        name: "SHELL",
        text: "the shell",
        choices: { bash: "version 4 or newer", zsh: "version 5 or newer", fish: "version 3 or newer" },
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
    notes: ["The page is in roff; view it with man -l."],
    examples: ["manual > booth-gateway.8"],
  },
] as const satisfies readonly CommandSpec[];
