import type { CommandSpec } from "../spec.ts";
import { AGENT, BOOTH, BY, CONFIG, UTC, WATCH, YES } from "../spec.ts";

const LEAVING_NOTES = [
  "What was recorded is delivered first; without a network it waits for that, and may be left alone.",
  "Readings go on being taken and kept.",
] as const;

/** The commands of the agent and of the booth's binding. */
export const AGENT_TABLE = [
  {
    name: "run",
    summary: "run the agent in the foreground; the service manager does this",
    options: CONFIG,
    notes: [
      "Log lines go to standard output, one JSON object per change. SIGINT or SIGTERM stops it: what was read is committed first, or, where that takes longer than 4 s, at the next start. SIGHUP does what the command reload does; from a terminal that was closed it stops the agent.",
      "A booth whose configuration or profile is wrong is left out, and told in the log and by status; the others run.",
    ],
    examples: ["run --config gateway.yaml"],
  },
  {
    name: "reload",
    summary: "take the configuration into use as it is now, without a stop",
    options: AGENT,
    notes: [
      "What differs begins anew, and nothing else: an output, or a booth with its link; booths that share a link begin anew together. Settings under service:, and the intervals of commits and heartbeats, begin the whole agent anew within its process.",
      "Folders, ports, log level and the store's size wait for a restart of the service: they are told by name, also by status.",
      "Where anything in the file or in a profile is wrong nothing is changed, and the agent goes on as it was.",
    ],
    examples: ["reload"],
    exits: { 1: "refused, with what is wrong" },
  },
  {
    name: "status",
    summary: "what the agent is doing: links, booths, log, provisioning",
    options: { ...AGENT, ...WATCH },
    notes: [
      "Every link and booth has a state, since when, the reason, what to do about it, and when it is tried again.",
    ],
    examples: ["status", "status --watch"],
  },
  {
    name: "backlog",
    summary: "what waits for the service: how much, since when, how fast it goes, when it is done",
    options: { ...AGENT, ...WATCH, ...UTC },
    notes: [
      "The rate is measured over a second, with --watch over the last half minute; records that come meanwhile are taken into account.",
    ],
    examples: ["backlog", "backlog --watch"],
  },
  {
    name: "setup",
    summary: "set the box up at its terminal: service, PLC, profile, time zone, serial number; as on its page",
    options: {
      ...AGENT,
      "booth BOOTH": "which booth, a new one or one that is there (default: the next new one)",
      keep: "what is being tried stays, whether the PLC answers or not",
      back: "what is being tried is taken back",
      ...BY,
    },
    notes: [
      "Each answer is kept: leave it with Ctrl-C, and run it again to go on, here or on the page.",
      "A booth's settings are tried: they stay when the PLC answers within 2 min, else what was before comes back.",
      "What the configuration says counts: such a value is changed there. With --json it tells how things stand, and asks nothing.",
    ],
    examples: ["setup", "setup --booth booth-2", "setup --keep"],
    exits: { 1: "taken back, or refused, with the reason" },
  },
  {
    name: "provision",
    summary: "bind a booth to this gateway by the serial number on its nameplate",
    operands: [{ name: "SERIAL", text: "as on the nameplate; asked for where it is left out", optional: true }],
    options: {
      ...AGENT,
      "booth BOOTH":
        "which booth, where there are several: of this gateway, of the service by its id, or both as OWN/ID",
      yes: "confirm without asking that this box stands beside that booth",
      "key-file FILE": "the API key to claim with (-: standard input), where none is installed",
      replace: "take the place of the gateway that holds the booth, if that one is broken or gone",
      ...BY,
    },
    notes: [
      "It may be run again at any time, also without a network: the serial number is then queued and the readings are kept.",
      "A service may not repeat the serial number, or know several booths by it: then --yes alone takes none of them, and --yes --booth ID the one with that id.",
    ],
    examples: [
      "provision ABCD-123-123",
      "provision ABCD-123-123 --yes --by alex",
      "provision ABCD-123-123 --yes --booth 4711",
    ],
    exits: { 0: "active or queued", 1: "refused, with the reason" },
  },
  {
    name: "release",
    summary: "give a booth up: another gateway, or another serial number, may have it then",
    options: {
      ...AGENT,
      ...BOOTH,
      "wrong-serial": "the serial number was mistyped: what was sent is taken off that booth, and kept here",
      ...YES,
    },
    notes: LEAVING_NOTES,
    examples: ["release", "release --wrong-serial"],
    exits: { 0: "given up, or under way", 1: "refused, with the reason" },
  },
  {
    name: "decommission",
    summary: "take a booth out of service for good",
    options: { ...AGENT, ...BOOTH, ...YES },
    notes: [
      "It is for root alone.",
      LEAVING_NOTES[0],
      "Once every booth is out of service the agent wipes its keys, then its data, and ends; it starts again as a new gateway " +
        "when the file decommissioned is deleted from its data folder.",
    ],
    examples: ["decommission --booth booth-1"],
    exits: { 0: "given up, or under way", 1: "refused, with the reason", 77: "not run as root" },
  },
  {
    name: "page",
    summary: "a PIN for the technician's page; with --for, the page on the network for phones and laptops",
    options: {
      ...AGENT,
      "for TIME": "open it on the network, over HTTPS, for so long: 30m, 2h, up to 12h",
      close: "close it, and end every session",
    },
    notes: [
      "Without --for the page is reached from this machine alone. Each call makes a new PIN; it holds for 30 minutes, or TIME.",
      "A browser warns of the certificate, which this box has made itself: compare the fingerprint, then go on.",
    ],
    examples: ["page", "page --for 30m"],
  },
  {
    name: "label",
    summary: "what to stick on this box: a QR code that opens its page, its addresses, its PIN, its certificate",
    options: {
      ...AGENT,
      "svg FILE": "the label as an SVG picture, too: code, PIN, addresses, the words",
    },
    notes: [
      "The PIN is the one set beforehand (page.pin_file), which the package draws for a new box: with it the page is open on the network until 30 minutes after boot, while no booth is bound.",
      "Run it as root: nobody else can read the PIN. Where Avahi runs, the code holds the box's name, which stays when its address changes.",
    ],
    examples: ["label", "label --svg label.svg"],
    exits: { 78: "no address can be shown: page.lan_port is 0" },
  },
] as const satisfies readonly CommandSpec[];
