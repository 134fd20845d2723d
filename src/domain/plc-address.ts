/** The part of a PLC's connection settings that names it. */
type ModbusPlace = { readonly host: string; readonly port: number } | { readonly serial: { readonly path: string } };
type PlcPlace =
  | { readonly modbus: ModbusPlace; readonly opcua?: never }
  | { readonly opcua: { readonly endpoint: string }; readonly modbus?: never };

/** The PLC's address as people write it. */
export function plcAddress({ modbus, opcua }: PlcPlace): string {
  return modbus === undefined ? opcua.endpoint : modbusAddressText(modbus);
}

/** Returns the address for people. It also names the physical link: equal addresses share one connection. */
export function modbusAddressText(address: ModbusPlace): string {
  return "serial" in address ? address.serial.path : `${address.host}:${address.port}`;
}

/** Whether an address as `plcAddress` writes it is a serial port: a host has no slash, an endpoint has a scheme. */
export function isSerialPath(address: string): boolean {
  return address.includes("/") && !address.includes("://");
}

/** Default ports. */
export const DEFAULT_CONFIG = "/etc/booth-gateway/gateway.yaml";
export const DEFAULT_DATA_DIR = "/var/lib/booth-gateway";
export const DEFAULT_RUNTIME_DIR = "/run/booth-gateway";
/** Modbus TCP has it by its standard. */
export const MODBUS_PORT = 502;
