import { LinkError } from "../core/link-error.ts";
import { AGENT_OPTIONS } from "./agent-client.ts";
import { CommandError, EXIT, type Command, type Io, type Values } from "./command.ts";
import type { PlcTools } from "./plc-tools.ts";
import { probeModbus, type ProbeFinding } from "./probe-modbus.ts";
import { probeText } from "./probe-text.ts";

const MODBUS_PORT = 502;
const OPCUA_PORT = 4840;
/** Quick, or it isn't one for a booth. */
const OPCUA_GREETING_MS = 1000;
/** What PLCs are set to, and what small gateways number their devices with. */
const USUAL_UNITS = [1, 0, 255, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** A unit that is silent costs a second. */
const MOST_UNITS = 32;

/** `booth-gateway probe`: who answers there, and how. */
export function probeCommand(tools: PlcTools): Command {
  return {
    name: "probe",
    operands: "HOST[:PORT]",
    summary: "find out what answers at an address: protocol, unit ids, identification, connections, speed",
    options: {
      json: AGENT_OPTIONS.json,
      units: { value: "N,...", text: `unit ids to try (default ${USUAL_UNITS.join(",")})` },
    },
    notes: [
      `Modbus TCP is tried at PORT (default ${MODBUS_PORT}), OPC UA at ${OPCUA_PORT}. It only reads: one register, the identification (43/14).`,
      "It opens up to four connections for a moment; where an HMI needs its own, don't do this in the middle of a cycle.",
      "Exit code 69: neither protocol answers.",
      "Example: booth-gateway probe 192.0.2.10",
    ],
    async run({ values, operands, io }) {
      const finding = await probe(targetOf(operands[0]), unitsOf(values), { tools, io });
      io.out(values["json"] === true ? `${JSON.stringify(finding, null, 2)}\n` : probeText(finding));
      return finding.modbus.kind === "modbus" || finding.opcua ? EXIT.ok : EXIT.unavailable;
    },
  };
}

async function probe(
  target: { readonly host: string; readonly port: number },
  units: readonly number[],
  { tools, io }: { readonly tools: PlcTools; readonly io: Io },
): Promise<ProbeFinding> {
  const greeting = tools.greetsOpcua({ host: target.host, port: OPCUA_PORT }, OPCUA_GREETING_MS);
  const modbus = await probeModbus(target, units, { tools, signal: io.signal }).catch((error: unknown) => {
    io.signal.throwIfAborted();
    if (error instanceof LinkError) return { kind: "none", why: error.kind, reason: error.message } as const;
    throw error;
  });
  return { ...target, modbus, opcua: await greeting, opcua_port: OPCUA_PORT };
}

/** host, host:port, [v6]:port or a bare v6 address. */
function targetOf(operand: string | undefined): { readonly host: string; readonly port: number } {
  if (operand === undefined) throw new CommandError("name the host, e.g. 192.0.2.10 or 192.0.2.10:502", EXIT.usage);
  const [, bracketed, named, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(operand) ?? [];
  const isBareV6 = /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(operand);
  const host = bracketed ?? named ?? (isBareV6 ? operand : undefined);
  const port = digits === undefined ? MODBUS_PORT : Number(digits);
  if (host !== undefined && port >= 1 && port <= 65_535) return { host, port };
  throw new CommandError(
    `"${operand}" is no address like 192.0.2.10, plc.example:502 or [2001:db8::1]:502`,
    EXIT.usage,
  );
}

function unitsOf(values: Values): readonly number[] {
  const text = values["units"];
  if (typeof text !== "string") return USUAL_UNITS;
  const units = [...new Set(text.split(",").map((one) => (/^ *\d{1,3} *$/.test(one) ? Number(one) : NaN)))];
  if (units.length <= MOST_UNITS && units.every((unit) => unit <= 255)) return units;
  throw new CommandError(
    `--units ${text} must be at most ${MOST_UNITS} numbers from 0 to 255, e.g. 1,2,17`,
    EXIT.usage,
  );
}
