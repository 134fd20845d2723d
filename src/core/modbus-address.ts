import type { ModbusAddress } from "./types/config.ts";

/** How people are told of it; also names the physical link: addresses with the same text share one connection. */
export function modbusAddressText(address: ModbusAddress): string {
  return "serial" in address ? address.serial.path : `${address.host}:${address.port.toString()}`;
}
