import type { CommandSpec } from "../spec.ts";
import { AGENT, BOOTH, BY, CONFIG, UTC, WATCH, YES } from "../spec.ts";

const LEAVING_NOTES = [
  "The agent delivers the recorded data first. Without a network the command waits for that; you can end it, and the agent continues.",
  "The agent continues to read the PLC and to keep the readings.",
] as const;

/** The commands that run or query the agent, or bind booths. */
export const AGENT_TABLE = [
  {
    name: "run",
    summary: "run the agent in the foreground; the service manager does this",
    options: CONFIG,
    notes: [
      "The log is written to standard output, one JSON object per change. SIGINT or SIGTERM stops the agent: it commits the pending readings first or, if that takes longer than 4 s, at the next start. SIGHUP reloads the configuration, as the command reload does; a SIGHUP from a closed terminal stops the agent.",
      "If the configuration or profile of a booth is wrong, the agent skips this booth and runs the others. The log and status report it.",
    ],
    examples: ["run --config gateway.yaml"],
  },
  {
    name: "reload",
    summary: "apply the changed configuration without a restart",
    options: AGENT,
    notes: [
      "Only changed parts restart: an output, or a booth with its link. Booths that share a link restart together. A change under service:, or of the commit and heartbeat intervals, restarts the whole agent within its process.",
      "Changes of folders, ports, log level and store size need a restart of the service. The command and status list these settings by name.",
      "If the file or a profile has a mistake, nothing changes and the agent continues with its present settings.",
    ],
    examples: ["reload"],
    exits: { 1: "refused; the mistakes are shown" },
  },
  {
    name: "status",
    summary: "show the state of the agent: links, booths, log, provisioning",
    options: { ...AGENT, ...WATCH },
    notes: [
      "Every link and booth is shown with its state, the start of this state, the reason, the remedy, and the time of the next retry.",
    ],
    examples: ["status", "status --watch"],
  },
  {
    name: "backlog",
    summary: "show the records that wait for the service: number, age, delivery rate, expected end",
    options: { ...AGENT, ...WATCH, ...UTC },
    notes: [
      "The rate is measured over one second, with --watch over the last 30 s. It accounts for new records that arrive in that time.",
    ],
    examples: ["backlog", "backlog --watch"],
  },
  {
    name: "setup",
    summary: "set the box up at its terminal, as on its page: service, PLC, profile, time zone, serial number",
    options: {
      ...AGENT,
      "booth BOOTH": "the booth to set up, new or existing (default: the next new one)",
      keep: "keep the settings on trial, whether or not the PLC answers",
      back: "revert the settings on trial",
      ...BY,
    },
    notes: [
      "Each answer is saved. You can leave with Ctrl-C and continue later, here or on the page.",
      "A booth's new settings are on trial: they are kept if the PLC answers within 2 min, else the previous settings are restored.",
      "Values in the configuration file take precedence; change them there. With --json the command only reports the state of the set-up and asks nothing.",
    ],
    examples: ["setup", "setup --booth booth-2", "setup --keep"],
    exits: { 1: "reverted or refused; the reason is shown" },
  },
  {
    name: "provision",
    summary: "bind a booth to this gateway by the serial number on its nameplate",
    operands: [{ name: "SERIAL", text: "as on the nameplate (default: the command asks for it)", optional: true }],
    options: {
      ...AGENT,
      "booth BOOTH": "the booth, if there are several: of this gateway, of the service by its id, or both as OWN/ID",
      yes: "confirm without a question that this box is installed at that booth",
      "key-file FILE": "the API key for the claim (-: standard input), if no key is installed",
      replace: "replace the gateway that holds the booth, if that gateway is broken or lost",
      ...BY,
    },
    notes: [
      "You can repeat the command at any time. Without a network the serial number is queued, and the agent keeps the readings.",
      "If the service doesn't return the serial number, or has several booths with it, --yes alone binds no booth. --yes --booth ID binds the booth with that id.",
    ],
    examples: [
      "provision ABCD-123-123",
      "provision ABCD-123-123 --yes --by alex",
      "provision ABCD-123-123 --yes --booth 4711",
    ],
    exits: { 0: "active or queued", 1: "refused; the reason is shown" },
  },
  {
    name: "release",
    summary: "release a booth, so that another gateway or another serial number can use it",
    options: {
      ...AGENT,
      ...BOOTH,
      "wrong-serial": "the serial number was mistyped: remove the sent data from that booth, and keep it here",
      ...YES,
    },
    notes: LEAVING_NOTES,
    examples: ["release", "release --wrong-serial"],
    exits: { 0: "released, or in progress", 1: "refused; the reason is shown" },
  },
  {
    name: "decommission",
    summary: "take a booth out of service for good",
    options: { ...AGENT, ...BOOTH, ...YES },
    notes: [
      "Only root can run it.",
      LEAVING_NOTES[0],
      "After the last booth is out of service, the agent wipes its keys, then its data, and exits. To start it as a new gateway, " +
        "delete the file decommissioned from its data folder.",
    ],
    examples: ["decommission --booth booth-1"],
    exits: { 0: "decommissioned, or in progress", 1: "refused; the reason is shown", 77: "not run as root" },
  },
  {
    name: "page",
    summary: "print a PIN for the technician's page; with --for, open the page on the network for phones and laptops",
    options: {
      ...AGENT,
      "for TIME": "open the page on the network, over HTTPS, for this time: 30m, 2h, up to 12h",
      close: "close the page and end every session",
    },
    notes: [
      "Without --for only this machine can open the page. Each call makes a new PIN, which is valid for 30 minutes, or for TIME.",
      "A browser warns about the certificate, because this box signed it itself. Compare the fingerprint, then continue.",
    ],
    examples: ["page", "page --for 30m"],
  },
  {
    name: "label",
    summary: "print the label for this box: a QR code that opens its page, its addresses, its PIN, its certificate",
    options: {
      ...AGENT,
      "svg FILE": "also write the label as an SVG picture: code, PIN, addresses, instructions",
    },
    notes: [
      "The label shows the preset PIN (page.pin_file), which the package generates for a new box. While no booth is bound, the page is open on the network with this PIN until 30 minutes after boot.",
      "Run it as root, because only root can read the PIN. If Avahi runs, the code contains the box's name, which stays valid when the address changes.",
    ],
    examples: ["label", "label --svg label.svg"],
    exits: { 78: "there is no address to show: page.lan_port is 0" },
  },
] as const satisfies readonly CommandSpec[];
