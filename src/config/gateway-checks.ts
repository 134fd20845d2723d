import { say } from "../domain/sentences.ts";
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
    const message = say("config.client_pair");
    problems.push(source.problemAt(["service", key], message, { at: "key" }));
  }
  if (service.api_key_file !== undefined && service.api_key_credential !== undefined) {
    const message = say("config.one_key");
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
      problems.push(source.problemAt(["booths", index, "id"], say("config.id_taken", { id })));
    }
    if (serial !== null && serial !== undefined && serials.indexOf(serial) < index) {
      problems.push(source.problemAt(["booths", index, "serial"], say("config.serial_taken", { serial })));
    }
    return problems;
  });
}

function checkBooth(booth: BoothInput, path: DataPath, source: YamlSource): readonly Problem[] {
  const problems: Problem[] = [];
  if (booth.serial !== undefined && normaliseSerial(booth.serial) === null) {
    problems.push(source.problemAt([...path, "serial"], say("config.serial")));
  }
  if ((booth.modbus === undefined) === (booth.opcua === undefined)) {
    const message = say("config.one_link");
    problems.push(source.problemAt(booth.modbus === undefined ? path : [...path, "opcua"], message, { at: "key" }));
  }
  if (booth.modbus !== undefined) problems.push(...checkModbus(booth.modbus, [...path, "modbus"], source));
  if (booth.opcua !== undefined) {
    problems.push(...checkOpcua(booth.opcua).map(([key, fault]) => source.problemAt([...path, "opcua", key], fault)));
  }
  if (!isKnownZone(booth.tz)) {
    const hint = didYouMean(booth.tz, Intl.supportedValuesOf("timeZone"));
    problems.push(source.problemAt([...path, "tz"], say("config.zone", { tz: booth.tz }), { hint }));
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
  const key = TCP_ONLY.find((name) => modbus[name] !== undefined);
  if (key !== undefined && (serial !== undefined || framing === "rtu")) return fault(key, say("config.tcp_only"));
  if (serial !== undefined) {
    if (host !== undefined || port !== undefined) return fault("serial", say("config.host_or_serial"));
    return framing === undefined ? [] : fault("framing", say("config.framing"));
  }
  if (host === undefined) return fault("", say("config.no_host"));
  if (/^[A-Za-z0-9.:-]+$/.test(host)) return [];
  return [source.problemAt([...path, "host"], say("config.host"))];
}

/** RTU frames have no transaction id, and on a line with several devices the unit id alone says which one answers. */
const TCP_ONLY = ["transaction_id_offset", "answer_unit_id"] as const;

/** Off this machine nobody gets in whom the file doesn't name. */
function shareFault({ address, clients }: NonNullable<ModbusInput["share"]>): string | null {
  const wrong = [address, ...clients].find((one) => isIP(one) === 0);
  if (wrong !== undefined) return say("config.no_ip", { text: wrong });
  const isLocal = address === "::1" || address.startsWith("127.");
  return isLocal || clients.length > 0 ? null : say("config.clients");
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
    const { framing, serial, transaction_id_offset: offset = 0, answer_unit_id: unit = null } = modbus;
    const link = modbusAddressText(modbusOf(modbus));
    const how = JSON.stringify(serial ?? [framing ?? "tcp", offset, unit]);
    const earlier = first.get(link);
    if (earlier === undefined) first.set(link, { how, id });
    if (earlier === undefined || earlier.how === how) return [];
    const message = say("config.same_link", { booth: earlier.id });
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
  return url.username === "" && url.password === "" ? [] : [["endpoint", say("config.endpoint")]];
}

function checkSecurity(input: OpcuaInput): Faults {
  const { security_policy, allow_insecure, server_certificate_fingerprint, server_certificate_file } = input;
  const insecure = security_policy === "None";
  const faults: (readonly [string, string])[] = [];
  if (insecure && !allow_insecure) {
    faults.push(["security_policy", say("config.insecure")]);
  }
  if (!insecure && allow_insecure) faults.push(["allow_insecure", say("config.insecure_alone")]);
  if (server_certificate_fingerprint !== undefined && server_certificate_file !== undefined) {
    faults.push(["server_certificate_file", say("config.fingerprint_or_file")]);
  }
  if (server_certificate_fingerprint !== undefined && normaliseFingerprint(server_certificate_fingerprint) === null) {
    faults.push(["server_certificate_fingerprint", say("config.fingerprint")]);
  }
  return faults;
}

function checkLogin(input: OpcuaInput): Faults {
  const { security_policy, user, password_file, user_certificate_file, user_key_file } = input;
  const faults: (readonly [string, string])[] = [];
  if (user === undefined && password_file !== undefined) {
    faults.push(["password_file", say("config.password_user")]);
  }
  if ((user_certificate_file === undefined) !== (user_key_file === undefined)) {
    const key = user_key_file === undefined ? "user_certificate_file" : "user_key_file";
    faults.push([key, say("config.user_pair")]);
  }
  if (user !== undefined && user_certificate_file !== undefined) {
    faults.push(["user_certificate_file", say("config.one_login")]);
  }
  if (security_policy === "None" && user !== undefined) {
    faults.push(["user", say("config.no_password")]);
  }
  return faults;
}
