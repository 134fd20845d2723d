import type { ReadyBooth } from "../../config/usable.ts";
import { adviceFor, LinkError } from "../../domain/link-error.ts";
import { plcAddress } from "../../domain/plc-address.ts";
import type { BoothConfig } from "../../config/port.ts";
import type { PlcTools, ToolConnection } from "../plc-tools.ts";
import { serialTrouble } from "./files.ts";
import { bad, ok, type Finding } from "./finding.ts";

const TIMES = { connect_ms: 3_000, answer_ms: 1_000 } as const;

/** Whether the booth's PLC can be reached. For when no agent holds its connection: many PLCs allow one alone. */
export async function examinePlc({ config: booth, profile }: ReadyBooth, tools: PlcTools): Promise<Finding> {
  const [what, at] = [`PLC of ${booth.id}`, plcAddress(booth)];
  if (booth.opcua !== undefined) {
    const { hostname, port } = new URL(booth.opcua.endpoint);
    const answers = await tools.greetsOpcua({ host: hostname, port: Number(port || 4840) }, TIMES.connect_ms);
    return answers ? ok(what, `${at} answers a hello`) : bad(what, `${at} doesn't answer`, adviceOf(at, "timeout"));
  }
  if ("serial" in booth.modbus) {
    const unit = booth.modbus.unit_id ?? (profile.protocol === "modbus" ? profile.quirks.unit_id : 1);
    return examineLine(what, { modbus: booth.modbus, unit }, tools);
  }
  return asked(tools.connect(booth.modbus, TIMES), async (connection) => {
    await connection.open();
    return ok(what, `${at} takes connections`);
  }).catch((error: unknown) => {
    if (error instanceof LinkError) return bad(what, error.message, adviceOf(at, error.kind));
    throw error;
  });
}

interface Line {
  readonly modbus: Extract<NonNullable<BoothConfig["modbus"]>, { readonly serial: unknown }>;
  readonly unit: number;
}

/** That a line can be opened says nothing: the device is asked for a register, and a refusal is an answer. */
async function examineLine(what: string, { modbus, unit }: Line, tools: PlcTools): Promise<Finding> {
  const { path, baud_rate, parity } = modbus.serial;
  const trouble = serialTrouble(path);
  if (trouble !== null) {
    const todo = `plug the adapter of ${path} in, and let the user booth-gateway into the group dialout`;
    return bad(what, `${path}: ${trouble}`, todo);
  }
  return asked(tools.connect(modbus, TIMES), async (connection) => {
    await connection.open();
    await connection.registers(unit, { table: "holding", address: 0, count: 1 });
    return ok(what, `unit ${unit.toString()} answers at ${path}`);
  }).catch((error: unknown) => {
    if (!(error instanceof LinkError)) throw error;
    const line = `${baud_rate.toString()} baud, parity ${parity}`;
    const todo = `${path}: check the PLC's power, the two wires (swapped they are silent), and in the PLC unit id ${unit.toString()}, ${line}`;
    return bad(what, `${path}: ${error.message}`, todo);
  });
}

async function asked<T>(connection: ToolConnection, ask: (of: ToolConnection) => Promise<T>): Promise<T> {
  try {
    return await ask(connection);
  } finally {
    connection.close();
  }
}

function adviceOf(at: string, kind: LinkError["kind"]): string {
  return `${at}: ${adviceFor(kind)}`;
}
