import { modbusAddressText } from "./modbus-address.ts";
import type { BoothLink } from "./types/config.ts";

/** The PLC's address as people write it. */
export function plcAddress({ modbus, opcua }: BoothLink): string {
  return modbus === undefined ? opcua.endpoint : modbusAddressText(modbus);
}
