import { LinkError } from "../core/link-error.ts";
import { CommandError, EXIT, type Run, type Values } from "./command.ts";
import type { PlcTools, ToolCall } from "./plc-tools.ts";
import { probeModbus, unitsToTry, type ProbeFinding } from "./probe-modbus.ts";
import { probeText } from "./probe-text.ts";
import { print } from "./print.ts";
import { MODBUS_PORT, OPCUA_PORT } from "./table/plc.ts";

/** Quick, or it isn't one for a booth. */
const OPCUA_GREETING_MS = 1000;
/** A unit that is silent costs a second. */
const MOST_UNITS = 32;

/** `booth-gateway probe`: who answers there, and how. */
export function probeCommand(tools: PlcTools): Run {
  return async (call) => {
    const { answer, text } = await probed(tools, call);
    print(call, answer, () => text);
    return answer.modbus.kind === "modbus" || answer.opcua ? EXIT.ok : EXIT.unavailable;
  };
}

/** What it found, and the same in words. */
export async function probed(
  tools: PlcTools,
  { values, operands, io }: ToolCall,
): Promise<{ readonly answer: ProbeFinding; readonly text: string }> {
  const target = targetOf(operands[0] ?? "");
  const units = unitsToTry(unitsOf(values), tools.borrows(target));
  const answer = await probe(target, units, { tools, io }).finally(() => io.progress(""));
  return { answer, text: probeText(answer) };
}

async function probe(
  target: { readonly host: string; readonly port: number },
  units: readonly number[],
  { tools, io }: { readonly tools: PlcTools; readonly io: ToolCall["io"] },
): Promise<ProbeFinding> {
  const greeting = tools.greetsOpcua({ host: target.host, port: OPCUA_PORT }, OPCUA_GREETING_MS);
  const modbus = await probeModbus(target, units, { tools, ...io }).catch((error: unknown) => {
    io.signal.throwIfAborted();
    if (error instanceof LinkError) return { kind: "none", why: error.kind, reason: error.message } as const;
    throw error;
  });
  return { ...target, modbus, opcua: await greeting, opcua_port: OPCUA_PORT };
}

/** host, host:port, [v6]:port or a bare v6 address. */
function targetOf(operand: string): { readonly host: string; readonly port: number } {
  const [, bracketed, named, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/i.exec(operand) ?? [];
  const isBareV6 = /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(operand);
  const host = bracketed ?? named ?? (isBareV6 ? operand : undefined);
  const port = digits === undefined ? MODBUS_PORT : Number(digits);
  if (host !== undefined && port >= 1 && port <= 65_535) return { host, port };
  throw new CommandError(
    `"${operand}" is no address like 192.0.2.10, plc.example:502 or [2001:db8::1]:502`,
    EXIT.usage,
  );
}

function unitsOf(values: Values): readonly number[] | null {
  const text = values["units"];
  if (typeof text !== "string") return null;
  const units = [...new Set(text.split(",").map((one) => (/^ *\d{1,3} *$/.test(one) ? Number(one) : NaN)))];
  if (units.length <= MOST_UNITS && units.every((unit) => unit <= 255)) return units;
  throw new CommandError(
    `--units ${text} must be at most ${MOST_UNITS} numbers from 0 to 255, e.g. 1,2,17`,
    EXIT.usage,
  );
}
