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

/** A note in the help of every command that reads a PLC. */
const SHARES =
  "It only reads. If the running agent reads the same PLC, it uses the agent's connection between polls; otherwise it opens a connection of its own.";

/** The commands that read a PLC. They never write, and need no running agent. */
export const PLC_TABLE = [
  {
    name: "probe",
    summary: "find the protocol, unit ids, identification, connection limit and speed of the device at an address",
    operands: [{ name: "HOST[:PORT]", text: "e.g. 192.0.2.10, plc.example:502 or [2001:db8::1]:502" }],
    options: {
      ...AGENT,
      "units N,...": `unit ids to try (default ${USUAL_UNITS.join(",")})`,
    },
    notes: [
      `It tries Modbus TCP at PORT (default ${MODBUS_PORT}) and OPC UA at ${OPCUA_PORT}. It only reads: one register, and the identification (43/14).`,
      "It briefly opens up to four connections. If an HMI needs a connection of its own, don't run it during a cycle.",
      "If the running agent reads the PLC, probe uses the agent's connection between polls. It then doesn't count connections, and tries further unit ids only if --units lists them.",
    ],
    examples: ["probe 192.0.2.10"],
    exits: { 69: "the device answers neither protocol" },
  },
  {
    name: "detect",
    summary: "read a value in all address bases, byte orders and word orders, and mark the plausible ones",
    operands: [{ name: "TAG|ADDRESS", text: "a tag of the profile, or an address as in a profile" }],
    options: {
      ...AGENT,
      ...BOOTH,
      "host HOST": "the PLC (default: the booth's PLC in the configuration)",
      "port PORT": `its Modbus TCP port (default: the booth's, else ${MODBUS_PORT})`,
      rtu: "use RTU frames over TCP at --host; a configured booth, also on a serial line, doesn't need this",
      "unit N": "its unit id (default: the booth's or the profile's, else 1)",
      "profile NAME": "take the tag from this shipped profile, without a configuration",
      "type TYPE,...": `types to try (default: the tag's, else ${USUAL_TYPES.join(",")})`,
      "expect VALUE": "the value that the machine's display shows now, in the tag's unit",
    },
    notes: [
      SHARES,
      "Write ADDRESS as in a profile: 400001, 40001, 4x0001, holding:0, input:0x10.",
      `With --expect it marks the nearest value, up to ${NEAR * 100} % off. Without --expect a plausible value has registers that are not all zero, and is within the tag's min and max (default ${USUAL.least} to ${USUAL.most}). Floats rank before integers, wider types before narrower ones.`,
    ],
    examples: ["detect holding:28672 --host 192.0.2.10 --type float32 --expect 22.5"],
    exits: { 1: "no value is plausible" },
  },
  {
    name: "plan",
    summary: "show the requests of each poll group and the duration of a poll",
    options: {
      ...AGENT,
      ...BOOTH,
      "round-trip MS": `time of one request, as probe shows it (assumed default: ${ASSUMED_ROUND_TRIP_MS})`,
      measure: "read each group from the PLC and show the measured duration",
    },
    notes: [
      "Without --booth it shows all booths.",
      "If the running agent reads the same PLC, --measure uses the agent's connection and waits for gaps between polls.",
      "A request includes unused registers if it is faster than two requests without them.",
    ],
    examples: ["plan --config gateway.yaml --booth booth-1 --round-trip 12"],
  },
  {
    name: "tags",
    summary: "read the booth's PLC and show every tag: raw registers, value, quality",
    options: { ...AGENT, ...BOOTH, ...WATCH },
    notes: [
      SHARES,
      "With --watch it reads each group at its poll interval. If the link fails, it shows the fault below the table and retries.",
    ],
    examples: ["tags --config gateway.yaml --booth booth-1", "tags --watch"],
  },
  {
    name: "record",
    summary: "record a session with the booth's PLC, byte for byte, to replay it elsewhere",
    options: {
      ...CONFIG,
      ...JSON_OPTION,
      ...BOOTH,
      "for TIME": `duration, e.g. 90s, 10m, 2h (default ${RECORD_FOR})`,
      "out FILE": "the trace; an existing file is not overwritten",
    },
    notes: [
      SHARES,
      "The trace contains requests, responses, timeouts and the device's identification, but no address, key or password.",
      "Ctrl-C ends the recording early; the trace up to that point is complete. Only Modbus is supported.",
      "booth-sim replay FILE replays the trace.",
    ],
    examples: ["record --config gateway.yaml --for 10m --out booth.trace"],
  },
] as const satisfies readonly CommandSpec[];
