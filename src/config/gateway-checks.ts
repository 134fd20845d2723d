import { normaliseSerial } from "../core/serial.ts";
import type { Problem } from "./config-error.ts";
import { didYouMean } from "./explain.ts";
import { checkOpcua } from "./gateway-opcua.ts";
import type { BoothInput, GatewayInput, ModbusInput } from "./gateway-schema.ts";
import { HTTP_SCHEMES, MQTT_SCHEMES, urlFault } from "./url-check.ts";
import type { DataPath, YamlSource } from "./yaml-source.ts";

/** Checks of the gateway's configuration that concern more than one value, or the world (time zones). */
export function checkGateway(input: GatewayInput, source: YamlSource): readonly Problem[] {
  return [
    ...checkService(input, source),
    ...checkUnique(input, source),
    ...checkSharing(input, source),
    ...input.booths.flatMap((booth, index) => checkBooth(booth, ["booths", index], source)),
  ];
}

function checkService({ service }: GatewayInput, source: YamlSource): readonly Problem[] {
  const problems: Problem[] = [];
  const url = urlFault(service.url, HTTP_SCHEMES);
  if (url !== null) problems.push(source.problemAt(["service", "url"], url));
  // What goes through a proxy is TLS with the service itself.
  const proxy = service.proxy_url === undefined ? null : urlFault(service.proxy_url, { secure: ["http:"], plain: [] });
  if (proxy !== null) problems.push(source.problemAt(["service", "proxy_url"], proxy));
  const mqtt = service.mqtt_url === undefined ? null : urlFault(service.mqtt_url, MQTT_SCHEMES);
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
  if (!isTimeZone(booth.tz)) {
    const hint = didYouMean(booth.tz, Intl.supportedValuesOf("timeZone"));
    problems.push(source.problemAt([...path, "tz"], `"${booth.tz}" is no time zone`, { hint }));
  }
  return problems;
}

function checkModbus(modbus: ModbusInput, path: DataPath, source: YamlSource): readonly Problem[] {
  const { host, port, framing, serial } = modbus;
  const fault = (key: string, message: string): readonly Problem[] => [
    source.problemAt(key === "" ? path : [...path, key], message, { at: "key" }),
  ];
  if (serial !== undefined) {
    if (host !== undefined || port !== undefined) return fault("serial", "give host or serial, not both");
    return framing === undefined ? [] : fault("framing", "a serial line has RTU framing and no other");
  }
  if (host === undefined) return fault("", "give host (and port), or serial");
  if (/^[A-Za-z0-9.:-]+$/.test(host)) return [];
  return [source.problemAt([...path, "host"], "a host is a name or an IP address, without port or scheme")];
}

/** Booths that share a Modbus connection must agree on what it is; every OPC UA booth has a session of its own. */
function checkSharing({ booths }: GatewayInput, source: YamlSource): readonly Problem[] {
  const first = new Map<string, { readonly how: string; readonly id: string }>();
  return booths.flatMap(({ id, modbus }, index) => {
    if (modbus === undefined) return [];
    const { host, port, framing, serial } = modbus;
    const link = serial?.path ?? `${host ?? ""}:${port ?? 502}`;
    const how = JSON.stringify(serial ?? framing ?? "tcp");
    const earlier = first.get(link);
    if (earlier === undefined) first.set(link, { how, id });
    if (earlier === undefined || earlier.how === how) return [];
    const message = `"${earlier.id}" uses the same connection with other settings`;
    return [source.problemAt(["booths", index, "modbus"], message, { at: "key" })];
  });
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false; // the only way that Intl has to say no
  }
}
