/** The part of a PLC's connection settings that identifies the PLC. */
type ModbusPlace = { readonly host: string; readonly port: number } | { readonly serial: { readonly path: string } };
type PlcPlace =
  | { readonly modbus: ModbusPlace; readonly opcua?: never }
  | { readonly opcua: { readonly endpoint: string }; readonly modbus?: never };

/** Returns the PLC's address as people write it. */
export function plcAddress({ modbus, opcua }: PlcPlace): string {
  return modbus === undefined ? opcua.endpoint : modbusAddressText(modbus);
}

/** Returns the address for people. It also identifies the physical link: PLCs with equal addresses share one connection. */
export function modbusAddressText(address: ModbusPlace): string {
  return "serial" in address ? address.serial.path : `${address.host}:${address.port}`;
}

/** Returns whether an address from `plcAddress` is a serial port. Only a serial port contains a slash but no scheme. */
export function isSerialPath(address: string): boolean {
  return address.includes("/") && !address.includes("://");
}

/** Default paths and ports. */
export const DEFAULT_CONFIG = "/etc/booth-gateway/gateway.yaml";
export const DEFAULT_DATA_DIR = "/var/lib/booth-gateway";
export const DEFAULT_RUNTIME_DIR = "/run/booth-gateway";
/** The standard port of Modbus TCP. */
export const MODBUS_PORT = 502;
