import {
  ASSUMED_ROUND_TRIP_MS,
  NEAR,
  OPCUA_PORT,
  RECORD_FOR,
  USUAL,
  USUAL_TYPES,
  USUAL_UNITS,
} from "../../tools/rules/usual.ts";
import { MODBUS_PORT } from "../../domain/plc-address.ts";
import type { CommandSpec } from "../spec.ts";
import { AGENT, BOOTH, CONFIG, JSON_OPTION, WATCH } from "../spec.ts";

/** A note of every command at the PLC. */
const SHARES =
  "It only reads: over the running agent's connection where that one reads the same PLC, between its polls, else over one of its own.";

/** The commands at the PLC: they only read, and need no agent. */
export const PLC_TABLE = [
  {
    name: "probe",
    summary: "find out what answers at an address: protocol, unit ids, identification, connections, speed",
    operands: [{ name: "HOST[:PORT]", text: "e.g. 192.0.2.10, plc.example:502 or [2001:db8::1]:502" }],
    options: {
      ...AGENT,
      "units N,...": `unit ids to try (default ${USUAL_UNITS.join(",")})`,
    },
    notes: [
      `Modbus TCP is tried at PORT (default ${MODBUS_PORT}), OPC UA at ${OPCUA_PORT}. It only reads: one register, the identification (43/14).`,
      "It opens up to four connections for a moment; where an HMI needs its own, don't do this in the middle of a cycle.",
      "A PLC that the running agent reads is asked over the agent's connection, between its polls: then connections aren't counted, and unit ids beside the agent's own are tried only where --units names them.",
    ],
    examples: ["probe 192.0.2.10"],
    exits: { 69: "neither protocol answers" },
  },
  {
    name: "detect",
    summary: "read a value in all address bases and orders side by side and mark what fits",
    operands: [{ name: "TAG|ADDRESS", text: "a tag of the profile, or an address as a profile has it" }],
    options: {
      ...AGENT,
      ...BOOTH,
      "host HOST": "the PLC (default: the booth's of the configuration)",
      "port PORT": `its Modbus TCP port (default the booth's, else ${MODBUS_PORT})`,
      rtu: "RTU frames over TCP at --host; a booth's own way, serial lines too, is known already",
      "unit N": "its unit id (default the booth's or the profile's, else 1)",
      "profile NAME": "take the tag from this shipped profile, without a configuration",
      "type TYPE,...": `types to try (default the tag's, else ${USUAL_TYPES.join(",")})`,
      "expect VALUE": "what the machine's own display shows now, in the tag's unit",
    },
    notes: [
      SHARES,
      "ADDRESS is written as in a profile: 400001, 40001, 4x0001, holding:0, input:0x10.",
      `With --expect the nearest value is marked, up to ${NEAR * 100} % off. Without it: registers not all zero, a value within the tag's min and max (else ${USUAL.least} to ${USUAL.most}); floats before integers, wide ones before narrow ones.`,
    ],
    examples: ["detect holding:28672 --host 192.0.2.10 --type float32 --expect 22.5"],
    exits: { 1: "nothing fits" },
  },
  {
    name: "plan",
    summary: "the requests of each poll group, and how long a poll takes",
    options: {
      ...AGENT,
      ...BOOTH,
      "round-trip MS": `time of one request, as probe shows it (default ${ASSUMED_ROUND_TRIP_MS}, assumed)`,
      measure: "read each group from the PLC and show how long it really takes",
    },
    notes: [
      "All booths, unless one is named.",
      "--measure reads over the running agent's connection where that one reads the same PLC; it then has to wait for gaps between polls.",
      "Registers that no tag uses are read where one request with them is cheaper than two without.",
    ],
    examples: ["plan --config gateway.yaml --booth booth-1 --round-trip 12"],
  },
  {
    name: "tags",
    summary: "read the booth's PLC and show every tag: raw registers, value, quality",
    options: { ...AGENT, ...BOOTH, ...WATCH },
    notes: [
      SHARES,
      "With --watch each group is read at its poll interval, and a broken link is told below the table and tried again.",
    ],
    examples: ["tags --config gateway.yaml --booth booth-1", "tags --watch"],
  },
  {
    name: "record",
    summary: "record a session with the booth's PLC, byte for byte, to play it again elsewhere",
    options: {
      ...CONFIG,
      ...JSON_OPTION,
      ...BOOTH,
      "for TIME": `how long, e.g. 90s, 10m, 2h (default ${RECORD_FOR})`,
      "out FILE": "the trace; a file that exists is not overwritten",
    },
    notes: [
      SHARES,
      "The trace holds requests, answers, silences and what the device says it is; no address, no key, no password.",
      "Ctrl-C ends it early; what was recorded until then is whole. Modbus only.",
      "booth-sim replay FILE plays it.",
    ],
    examples: ["record --config gateway.yaml --for 10m --out booth.trace"],
  },
] as const satisfies readonly CommandSpec[];
