/** Of the way to a PLC what it is called by; the configuration has the rest. */
type ModbusPlace = { readonly host: string; readonly port: number } | { readonly serial: { readonly path: string } };
type PlcPlace =
  | { readonly modbus: ModbusPlace; readonly opcua?: never }
  | { readonly opcua: { readonly endpoint: string }; readonly modbus?: never };

/** The PLC's address as people write it. */
export function plcAddress({ modbus, opcua }: PlcPlace): string {
  return modbus === undefined ? opcua.endpoint : modbusAddressText(modbus);
}

/** How people are told of it; also names the physical link: addresses with the same text share one connection. */
export function modbusAddressText(address: ModbusPlace): string {
  return "serial" in address ? address.serial.path : `${address.host}:${address.port}`;
}

/** Whether an address as `plcAddress` writes it is a serial port: a host has no slash, an endpoint has a scheme. */
export function isSerialPath(address: string): boolean {
  return address.includes("/") && !address.includes("://");
}

/** Where things are unless somebody says otherwise. */
export const DEFAULT_CONFIG = "/etc/booth-gateway/gateway.yaml";
export const DEFAULT_DATA_DIR = "/var/lib/booth-gateway";
export const DEFAULT_RUNTIME_DIR = "/run/booth-gateway";
/** Modbus TCP has it by its standard. */
export const MODBUS_PORT = 502;
