import { dirname, resolve } from "node:path";

import type { WorkingHours } from "../core/types/booth.ts";
import type { BoothConfig, Config, ModbusConfig } from "../core/types/config.ts";
import { parseWith, refuseIfAny } from "./explain.ts";
import { normaliseSerial } from "../core/serial.ts";
import { checkGateway } from "./gateway-checks.ts";
import { opcuaOf } from "./gateway-opcua.ts";
import { gatewaySchema } from "./gateway-schema.ts";
import type { BoothInput, GatewayInput, ModbusInput } from "./gateway-schema.ts";
import { SHIPPED_PROFILES } from "./profile.ts";
import { NO_CONFIG_HINT, openYaml, readSource } from "./yaml-source.ts";

/**
 * The gateway's configuration with defaults filled in, paths absolute (relative ones count from the file's folder),
 * serials normalised. `file` isn't read, nor are profiles. Throws ConfigError for whatever is wrong; `usable.ts` lets what
 * is wrong in a booth cost that booth alone.
 */
export function parseConfig(text: string, file: string): Config {
  const source = openYaml(text, file);
  const input = parseWith(gatewaySchema, source);
  refuseIfAny(checkGateway(input, source), source);
  return configFrom(input, file);
}

/** Reads and checks the file. Throws ConfigError. */
export function loadConfig(path: string): Config {
  return parseConfig(readSource(path, NO_CONFIG_HINT), path);
}

/** Pure; `input` has passed the checks. */
export function configFrom(input: GatewayInput, file: string): Config {
  const folder = dirname(resolve(file));
  const { ca_file, api_key_file, client_certificate_file, client_key_file, ...service } = input.service;
  const { clock_file, profile_dirs, page, ...rest } = input;
  const { pin_file, ...ports } = page;
  const absolute = (path: string): string => resolve(folder, path);
  return {
    ...rest,
    data_dir: absolute(input.data_dir),
    runtime_dir: absolute(input.runtime_dir),
    profile_dirs: [...new Set([...(profile_dirs ?? ["profiles"]).map(absolute), SHIPPED_PROFILES])],
    page: { ...ports, ...(pin_file === undefined ? {} : { pin_file: absolute(pin_file) }) },
    ...(clock_file === undefined ? {} : { clock_file: absolute(clock_file) }),
    service: {
      ...service,
      url: service.url.replace(/\/+$/, ""),
      ...(ca_file === undefined ? {} : { ca_file: absolute(ca_file) }),
      ...(api_key_file === undefined ? {} : { api_key_file: absolute(api_key_file) }),
      ...(client_certificate_file === undefined ? {} : { client_certificate_file: absolute(client_certificate_file) }),
      ...(client_key_file === undefined ? {} : { client_key_file: absolute(client_key_file) }),
    },
    booths: input.booths.map((booth) => boothOf(booth, absolute)),
  };
}

function boothOf(input: BoothInput, absolute: (path: string) => string): BoothConfig {
  const { serial, working_hours, modbus, opcua, ...rest } = input;
  const normalised = serial === undefined ? null : normaliseSerial(serial);
  const settings = {
    ...rest,
    ...(normalised === null ? {} : { serial: normalised }),
    working_hours: working_hours.map(shiftOf),
  };
  if (opcua !== undefined) return { ...settings, opcua: opcuaOf(opcua, absolute) };
  if (modbus !== undefined) return { ...settings, modbus: modbusOf(modbus) };
  throw new Error("a booth without a link passed the checks"); // checkGateway refuses it
}

const MODBUS_PORT = 502;

function modbusOf({ host, port, framing, serial, ...rest }: ModbusInput): ModbusConfig {
  if (serial !== undefined) return { serial, ...rest };
  // checkGateway has refused a booth that has neither.
  return { host: host ?? "", port: port ?? MODBUS_PORT, ...(framing === undefined ? {} : { framing }), ...rest };
}

function shiftOf(shift: WorkingHours): WorkingHours {
  return { ...shift, start: withSeconds(shift.start), stop: withSeconds(shift.stop) };
}

function withSeconds(time: string): string {
  return time.length === 5 ? `${time}:00` : time;
}
