import { isIP } from "node:net";
import { MODBUS_PORT, modbusAddressText } from "../domain/plc-address.ts";
import { normaliseSerial } from "../domain/booth.ts";
import { isKnownZone } from "../domain/time-zone.ts";
import type { Problem } from "./config-error.ts";
import { didYouMean } from "./nearest.ts";
import {
  type BoothInput,
  type GatewayInput,
  type ModbusInput,
  normaliseFingerprint,
  type OpcuaInput,
} from "./gateway-schema.ts";
import type { ModbusConfig } from "./port.ts";
import { checkNotices } from "./notices-checks.ts";
import { checkOutputs } from "./outputs-checks.ts";
import { brokerUrlFault, proxyUrlFault, serviceUrlFault } from "./urls.ts";
import type { DataPath, YamlSource } from "./yaml-source.ts";

/** Checks of the gateway's configuration that concern more than one value, or the world (time zones). */
export function checkGateway(input: GatewayInput, source: YamlSource): readonly Problem[] {
  return [
    ...checkService(input, source),
    ...checkUnique(input, source),
    ...checkSharing(input, source),
    ...input.booths.flatMap((booth, index) => checkBooth(booth, ["booths", index], source)),
    ...checkOutputs(input, source),
    ...checkNotices(input, source),
  ];
}

function checkService({ service }: GatewayInput, source: YamlSource): readonly Problem[] {
  const problems: Problem[] = [];
  const url = service.url === undefined ? null : serviceUrlFault(service.url);
  if (url !== null) problems.push(source.problemAt(["service", "url"], url));
  const proxy = service.proxy_url === undefined ? null : proxyUrlFault(service.proxy_url);
  if (proxy !== null) problems.push(source.problemAt(["service", "proxy_url"], proxy));
  const mqtt = service.mqtt_url === undefined ? null : brokerUrlFault(service.mqtt_url);
  if (mqtt !== null) problems.push(source.problemAt(["service", "mqtt_url"], mqtt));
  if ((service.client_certificate_file === undefined) !== (service.client_key_file === undefined)) {
    const key = service.client_key_file === undefined ? "client_certificate_file" : "client_key_file";
    const message = "client_certificate_file and client_key_file go together";
    problems.push(source.problemAt(["service", key], message, { at: "key" }));
  }
  if (service.api_key_file !== undefined && service.api_key_credential !== undefined) {
    const message = "give api_key_file or api_key_credential, not both";
    problems.push(source.problemAt(["service", "api_key_credential"], message, { at: "key" }));
  }
  return problems;
}

function checkUnique({ booths }: GatewayInput, source: YamlSource): readonly Problem[] {
  const serials = booths.map(({ serial }) => (serial === undefined ? null : normaliseSerial(serial)));
  return booths.flatMap(({ id }, index) => {
    const problems: Problem[] = [];
    const serial = serials[index];
    if (booths.findIndex((other) => other.id === id) < index) {
      problems.push(source.problemAt(["booths", index, "id"], `the id "${id}" is taken`));
    }
    if (serial !== null && serial !== undefined && serials.indexOf(serial) < index) {
      problems.push(source.problemAt(["booths", index, "serial"], `another booth has the serial ${serial}`));
    }
    return problems;
  });
}

function checkBooth(booth: BoothInput, path: DataPath, source: YamlSource): readonly Problem[] {
  const problems: Problem[] = [];
  if (booth.serial !== undefined && normaliseSerial(booth.serial) === null) {
    problems.push(
      source.problemAt([...path, "serial"], "a serial number is at most 40 letters, digits and single dashes"),
    );
  }
  if ((booth.modbus === undefined) === (booth.opcua === undefined)) {
    const message = "a booth needs modbus or opcua, and not both";
    problems.push(source.problemAt(booth.modbus === undefined ? path : [...path, "opcua"], message, { at: "key" }));
  }
  if (booth.modbus !== undefined) problems.push(...checkModbus(booth.modbus, [...path, "modbus"], source));
  if (booth.opcua !== undefined) {
    problems.push(...checkOpcua(booth.opcua).map(([key, fault]) => source.problemAt([...path, "opcua", key], fault)));
  }
  if (!isKnownZone(booth.tz)) {
    const hint = didYouMean(booth.tz, Intl.supportedValuesOf("timeZone"));
    problems.push(source.problemAt([...path, "tz"], `"${booth.tz}" is no time zone`, { hint }));
  }
  return problems;
}

function checkModbus(modbus: ModbusInput, path: DataPath, source: YamlSource): readonly Problem[] {
  const { host, port, framing, serial, share } = modbus;
  const fault = (key: string, message: string): readonly Problem[] => [
    source.problemAt(key === "" ? path : [...path, key], message, { at: "key" }),
  ];
  const unfit = share === undefined ? null : shareFault(share);
  if (unfit !== null) return fault("share", unfit);
  if (serial !== undefined) {
    if (host !== undefined || port !== undefined) return fault("serial", "give host or serial, not both");
    return framing === undefined ? [] : fault("framing", "a serial line has RTU framing and no other");
  }
  if (host === undefined) return fault("", "give host (and port), or serial");
  if (/^[A-Za-z0-9.:-]+$/.test(host)) return [];
  return [source.problemAt([...path, "host"], "a host is a name or an IP address, without port or scheme")];
}

/** Off this machine nobody gets in whom the file doesn't name. */
function shareFault({ address, clients }: NonNullable<ModbusInput["share"]>): string | null {
  const wrong = [address, ...clients].find((one) => isIP(one) === 0);
  if (wrong !== undefined) return `"${wrong}" is no IP address`;
  const isLocal = address === "::1" || address.startsWith("127.");
  return isLocal || clients.length > 0 ? null : "an address other than 127.0.0.1 needs clients: who may connect";
}

/** What a booth's `modbus` says once `checkGateway` has refused what says two things or none. */
export function modbusOf({ host, port, framing, serial, ...rest }: ModbusInput): ModbusConfig {
  if (serial !== undefined) return { serial, ...rest };
  return { host: host ?? "", port: port ?? MODBUS_PORT, ...(framing === undefined ? {} : { framing }), ...rest };
}

/** Booths that share a Modbus connection must agree on what it is; every OPC UA booth has a session of its own. */
function checkSharing({ booths }: GatewayInput, source: YamlSource): readonly Problem[] {
  const first = new Map<string, { readonly how: string; readonly id: string }>();
  return booths.flatMap(({ id, modbus }, index) => {
    if (modbus === undefined) return [];
    const { framing, serial } = modbus;
    const link = modbusAddressText(modbusOf(modbus));
    const how = JSON.stringify(serial ?? framing ?? "tcp");
    const earlier = first.get(link);
    if (earlier === undefined) first.set(link, { how, id });
    if (earlier === undefined || earlier.how === how) return [];
    const message = `"${earlier.id}" uses the same connection with other settings`;
    return [source.problemAt(["booths", index, "modbus"], message, { at: "key" })];
  });
}

type Faults = readonly (readonly [key: string, message: string])[];

/** What is wrong with a booth's `opcua`, by key. The rules keep a password from ever leaving unprotected. */
function checkOpcua(input: OpcuaInput): Faults {
  return [...checkEndpoint(input), ...checkSecurity(input), ...checkLogin(input)];
}

function checkEndpoint({ endpoint }: OpcuaInput): Faults {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (url?.protocol !== "opc.tcp:" || url.hostname === "") {
    return [["endpoint", "an endpoint is opc.tcp://HOST:PORT, with or without a path"]];
  }
  return url.username === "" && url.password === ""
    ? []
    : [["endpoint", "no name or password belongs in the endpoint"]];
}

function checkSecurity(input: OpcuaInput): Faults {
  const { security_policy, allow_insecure, server_certificate_fingerprint, server_certificate_file } = input;
  const insecure = security_policy === "None";
  const faults: (readonly [string, string])[] = [];
  if (insecure && !allow_insecure) {
    faults.push(["security_policy", "None protects nothing: it needs allow_insecure: true beside it"]);
  }
  if (!insecure && allow_insecure) faults.push(["allow_insecure", "goes with security_policy: None alone"]);
  if (server_certificate_fingerprint !== undefined && server_certificate_file !== undefined) {
    faults.push(["server_certificate_file", "give the fingerprint or the file, not both"]);
  }
  if (server_certificate_fingerprint !== undefined && normaliseFingerprint(server_certificate_fingerprint) === null) {
    faults.push(["server_certificate_fingerprint", "a SHA-256 fingerprint has 64 hex digits"]);
  }
  return faults;
}

function checkLogin(input: OpcuaInput): Faults {
  const { security_policy, user, password_file, user_certificate_file, user_key_file } = input;
  const faults: (readonly [string, string])[] = [];
  if (user === undefined && password_file !== undefined) {
    faults.push(["password_file", "password_file goes with user"]);
  }
  if ((user_certificate_file === undefined) !== (user_key_file === undefined)) {
    const key = user_key_file === undefined ? "user_certificate_file" : "user_key_file";
    faults.push([key, "user_certificate_file and user_key_file go together"]);
  }
  if (user !== undefined && user_certificate_file !== undefined) {
    faults.push(["user_certificate_file", "log in by name or by certificate, not both"]);
  }
  if (security_policy === "None" && user !== undefined) {
    faults.push(["user", "with security_policy None no password may be sent"]);
  }
  return faults;
}
