import { adviceFor } from "../../core/advice.ts";
import { LinkError } from "../../core/link-error.ts";
import { plcAddress } from "../../core/plc-address.ts";
import type { BoothConfig } from "../../core/types/config.ts";
import type { PlcTools } from "../plc-tools.ts";
import { serialTrouble } from "./files.ts";
import { bad, ok, type Finding } from "./finding.ts";

const TIMES = { connect_ms: 3_000, answer_ms: 1_000 } as const;

/** Whether a connection to the booth's PLC comes about. For when no agent holds it: many PLCs allow one alone. */
export async function examinePlc(booth: BoothConfig, tools: PlcTools): Promise<Finding> {
  const [what, at] = [`PLC of ${booth.id}`, plcAddress(booth)];
  if (booth.opcua !== undefined) {
    const { hostname, port } = new URL(booth.opcua.endpoint);
    const answers = await tools.greetsOpcua({ host: hostname, port: Number(port || 4840) }, TIMES.connect_ms);
    return answers ? ok(what, `${at} answers a hello`) : bad(what, `${at} doesn't answer`, adviceOf(at, "timeout"));
  }
  if ("serial" in booth.modbus) {
    const { path } = booth.modbus.serial;
    const trouble = serialTrouble(path);
    if (trouble === null) return ok(what, `${path} is there; "booth-gateway tags" asks the device`);
    return bad(
      what,
      `${path}: ${trouble}`,
      `plug the adapter of ${path} in, and let the user booth-gateway into the group dialout`,
    );
  }
  const connection = tools.connect(booth.modbus, TIMES);
  try {
    await connection.open();
    return ok(what, `${at} takes connections`);
  } catch (error) {
    if (error instanceof LinkError) return bad(what, error.message, adviceOf(at, error.kind));
    throw error;
  } finally {
    connection.close();
  }
}

function adviceOf(at: string, kind: LinkError["kind"]): string {
  return `${at}: ${adviceFor(kind)}`;
}
