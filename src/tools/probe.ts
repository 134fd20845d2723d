import { LinkError, type LinkErrorKind } from "../domain/link-error.ts";
import { message, type Message, type Text } from "../domain/message.ts";
import { CommandError, EXIT, type Run, type Values } from "./command.ts";
import type { PlcTools } from "../acquisition/port.ts";
import type { ToolCall } from "./plc-tools.ts";
import { type ModbusFinding, type ProbeFinding, probeModbus, type UnitAnswer } from "./probe-modbus.ts";
import { textLines } from "./texts.ts";
import { textOption } from "./options.ts";
import { print } from "./print.ts";
import { MODBUS_PORT } from "../domain/plc-address.ts";
import { OPCUA_PORT, USUAL_UNITS } from "./rules/usual.ts";

/** The time limit of an OPC UA server's first answer. A server that is usable for a booth answers faster. */
const OPCUA_GREETING_MS = 1000;
/** The maximum number of units to try, because each silent unit costs a second. */
const MOST_UNITS = 32;

/** Makes the command `booth-gateway probe`: shows whether and how a device answers at an address. */
export function probeCommand(tools: PlcTools): Run {
  return async (call) => {
    const { answer, text } = await probed(tools, call);
    print(call, answer, () => text);
    return answer.modbus.kind === "modbus" || answer.opcua ? EXIT.ok : EXIT.unavailable;
  };
}

/** Probes an address. `text` says the same as `answer` in words. */
export async function probed(tools: PlcTools, { values, operands, io }: ToolCall) {
  const target = targetOf(operands[0] ?? "");
  // Tries only the agent's units over the agent's link, because a silent unit would cost the agent its connection.
  const units = unitsOf(values) ?? tools.sharedLink(target)?.units ?? USUAL_UNITS;
  try {
    const greeting = tools.greetsOpcua({ host: target.host, port: OPCUA_PORT }, OPCUA_GREETING_MS);
    const modbus = await probeModbus(target, units, { tools, ...io }).catch((error: unknown) => {
      io.signal.throwIfAborted();
      if (error instanceof LinkError) return { kind: "none", why: error.kind, reason: error.text } as const;
      throw error;
    });
    const answer: ProbeFinding = { ...target, modbus, opcua: await greeting, opcua_port: OPCUA_PORT };
    return { answer, text: probeText(answer) };
  } finally {
    io.progress("");
  }
}

/** Parses host, host:port, [v6]:port or a bare v6 address. */
function targetOf(operand: string): { readonly host: string; readonly port: number } {
  const [, bracketed, named, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/i.exec(operand) ?? [];
  const isBareV6 = /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(operand);
  const host = bracketed ?? named ?? (isBareV6 ? operand : undefined);
  const port = digits === undefined ? MODBUS_PORT : Number(digits);
  if (host !== undefined && port >= 1 && port <= 65_535) return { host, port };
  throw new CommandError(message("probe.no_address", { text: operand }), EXIT.usage);
}

function unitsOf(values: Values): readonly number[] | null {
  const text = textOption(values, "units");
  if (text === undefined) return null;
  const units = [...new Set(text.split(",").map((one) => (/^ *\d{1,3} *$/.test(one) ? Number(one) : NaN)))];
  if (units.length <= MOST_UNITS && units.every((unit) => unit <= 255)) return units;
  throw new CommandError(message("probe.units", { text, most: MOST_UNITS }), EXIT.usage);
}

/** The names of the identification's objects (Modbus Application Protocol V1.1b3, 6.21). */
const OBJECTS: Readonly<Record<number, string>> = {
  0: "vendor",
  1: "product code",
  2: "revision",
  3: "vendor URL",
  4: "product",
  5: "model",
  6: "application",
};

type Found = Extract<ModbusFinding, { kind: "modbus" }>;

/** Describes the finding. If no device answers, adds possible reasons and advice. */
function probeText({ host, port, modbus, opcua, opcua_port }: ProbeFinding): Text {
  const at = `${host}:${port}`;
  const missing = modbus.kind === "modbus" ? null : message("probe.no_modbus", { at, why: missingText(modbus) });
  const lines = modbus.kind === "modbus" ? foundLines(at, modbus) : [];
  const greeting = message(opcua ? "probe.opcua" : "probe.no_opcua", { at: `${host}:${opcua_port}` });
  return textLines([...lines, missing, greeting].filter((line) => line !== null));
}

function foundLines(at: string, found: Found): (string | null)[] {
  const { units, round_trip_ms, round_trips } = found;
  const those = (wanted: UnitAnswer, before = ""): string => {
    const list = units.flatMap(({ unit, answer }) => (answer === wanted ? [unit] : [])).join(", ");
    return list === "" ? "" : `${before}${list}`;
  };
  const others = `${those("silent", "; no answer: ")}${those("absent", "; not behind the Modbus gateway: ")}`;
  const isAny = units.length > 1 && units.every(({ answer }) => answer === "answers");
  return [
    `Modbus TCP at ${at}: answers`,
    `  unit IDs        ${those("answers")}${others}${those("breaks_off", "; connection closed at: ")}`,
    isAny ? "                  answers to every unit ID; use the one in its manual, or 1" : null,
    ...identificationLines(found),
    `  connections     ${connectionsText(found)}`,
    `  round trip      ${round_trip_ms === null ? "not measured, because the PLC closed the connection" : `${round_trip_ms} ms, median of ${round_trips}`}`,
  ];
}

function connectionsText({ connections, connections_tried }: Pick<Found, "connections" | "connections_tried">): string {
  if (connections === null) return "not counted, because the agent reads this PLC and its own connection was used";
  if (connections === 0)
    return "none: the PLC answered, but then accepted no other connection; probe again in a moment";
  const more = connections === connections_tried ? " or more" : "";
  const only =
    connections < 2 ? "; the agent needs it, so an HMI or programming device cannot connect at the same time" : "";
  return `${connections}${more} at once${only}`;
}

function identificationLines({ identification, identification_failure }: Found): string[] {
  const identified = (identification ?? []).filter(({ text }) => text !== "");
  if (identification_failure !== null) {
    const how = HOW_IT_FAILED[identification_failure] ?? "the PLC closes the connection at";
    return [`  identification  none (${how} function 43/14, which the agent does not use for polling)`];
  }
  if (identified.length === 0) return ["  identification  none (the PLC does not support function 43/14)"];
  return identified.map(
    ({ id, text }, i) => `  ${(i === 0 ? "identification" : "").padEnd(16)}${OBJECTS[id] ?? `object ${id}`}: ${text}`,
  );
}

const HOW_IT_FAILED: Readonly<Partial<Record<LinkErrorKind, string>>> = {
  timeout: "no answer to",
  malformed: "invalid answer to",
};

function missingText(modbus: Exclude<ModbusFinding, Found>): Message {
  if (modbus.kind === "none")
    return message("text.hint", { text: message(`probe.${modbus.why}`), hint: modbus.reason });
  const units = modbus.tried.join(", ");
  return message(modbus.absent ? "probe.none_behind" : "probe.silent", { units });
}
