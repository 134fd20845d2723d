import type { LinkErrorKind } from "../core/link-error.ts";
import type { ModbusFinding, ProbeFinding } from "./probe-modbus.ts";
import type { DeviceObject } from "./plc-tools.ts";

/** Modbus Application Protocol V1.1b3, 6.21, table of objects. */
const OBJECTS: Readonly<Record<number, string>> = {
  0: "vendor",
  1: "product code",
  2: "revision",
  3: "vendor's page",
  4: "product",
  5: "model",
  6: "application",
};

type Found = Extract<ModbusFinding, { kind: "modbus" }>;

/** What was found, in words; where nothing answers, why that may be and what to do. */
export function probeText(finding: ProbeFinding): string {
  const { host, port, modbus, opcua, opcua_port } = finding;
  const at = `${host}:${port}`;
  const lines = modbus.kind === "modbus" ? foundLines(at, modbus) : [`Modbus TCP at ${at}: no. ${missingText(modbus)}`];
  const opcuaLine = opcua
    ? `OPC UA at ${host}:${opcua_port}: answers; docs/opcua.md tells how to set the booth up`
    : `OPC UA at ${host}:${opcua_port}: no answer`;
  return `${[...lines, opcuaLine].join("\n")}\n`;
}

function foundLines(at: string, { units, identification, round_trip_ms, ...counted }: Found): string[] {
  const those = (wanted: string): string =>
    units.flatMap(({ unit, answer }) => (answer === wanted ? [unit] : [])).join(", ");
  return [
    `Modbus TCP at ${at}: answers`,
    `  unit ids        ${those("answers")}${those("silent") === "" ? "" : `; silent: ${those("silent")}`}${those("absent") === "" ? "" : `; the gateway there has no: ${those("absent")}`}`,
    ...(units.length > 1 && units.every(({ answer }) => answer === "answers")
      ? ["                  it answers to any: use the one its manual names, else 1"]
      : []),
    ...identificationLines(identification),
    `  connections     ${connectionsText(counted)}`,
    `  round trip      ${round_trip_ms} ms, median of 10`,
  ];
}

function connectionsText({ connections, connections_tried }: Pick<Found, "connections" | "connections_tried">): string {
  if (connections === null) return "not counted: the agent reads this PLC, and its own connection was used";
  const more = connections === connections_tried ? " or more" : "";
  const only = connections < 2 ? ": the agent's own is the only one; HMI or programmer would take it away" : "";
  return `${connections}${more} at once${only}`;
}

function identificationLines(identification: readonly DeviceObject[] | null): string[] {
  const told = (identification ?? []).filter(({ text }) => text !== "");
  if (told.length === 0) return ["  identification  none (it doesn't know function 43/14)"];
  return told.map(
    ({ id, text }, i) => `  ${(i === 0 ? "identification" : "").padEnd(16)}${OBJECTS[id] ?? `object ${id}`}: ${text}`,
  );
}

const WHY: Readonly<Record<LinkErrorKind, string>> = {
  refused:
    "Refused: the machine is there but nothing listens at that port, or no way leads there. Switch the PLC's Modbus server on, check the port and the address, and that this box has an address in the PLC's network.",
  timeout:
    "Silence: no connection came about. Check the address, the PLC's power and the cable; a firewall or another network's mask looks the same.",
  reset:
    "It takes the connection and breaks it off: another master (an HMI, a programmer) may hold the only one, or the PLC lets only listed addresses in. Close the other, or enter this box in the PLC's list.",
  closed:
    "It takes the connection and closes it: another master (an HMI, a programmer) may hold the only one, or something else than Modbus is there. Close the other and probe again.",
  malformed:
    "Something answers that isn't Modbus TCP. Check the port; a serial device server in transparent mode speaks RTU: framing: rtu in the booth's modbus section.",
  busy: "The device asks to come back later. Probe again.",
  path: "A gateway in between can't reach the device.",
  config: "The call can't be carried out.",
};

function missingText(modbus: Exclude<ModbusFinding, Found>): string {
  if (modbus.kind === "none") return `${WHY[modbus.why]} (${modbus.reason})`;
  const tried = `None of the unit ids ${modbus.tried.join(", ")} answers`;
  return modbus.absent
    ? `${tried}: a Modbus gateway is there, but no device behind it. Check the serial line behind it, its power, and the unit id; --units tries others.`
    : `It connects, and then it is silent. ${tried}: look up the unit id in the PLC and give it with --units, or it isn't a Modbus server; a serial device server in transparent mode wants framing: rtu.`;
}
