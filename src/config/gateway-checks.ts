import { message, type Text } from "../domain/message.ts";
import { isIP } from "node:net";
import { normalizeSerial } from "../domain/booth.ts";
import { MODBUS_PORT, modbusAddressText } from "../domain/plc-address.ts";
import { OUTPUT_KINDS } from "../domain/status.ts";
import { isKnownZone } from "../domain/time-zone.ts";
import type { BoothId } from "../domain/units.ts";
import type { Problem } from "./config-error.ts";
import {
  type BoothInput,
  type GatewayInput,
  type ModbusInput,
  normalizeFingerprint,
  type OpcuaInput,
} from "./gateway-schema.ts";
import { didYouMean } from "./nearest.ts";
import type { NoticeInput } from "./notices-schema.ts";
import type { OutputInput } from "./outputs-schema.ts";
import type { ModbusConfig } from "./port.ts";
import { brokerUrlFault, isLoopback, proxyUrlFault, serviceUrlFault, webhookUrlFault } from "./urls.ts";
import { AT_KEY, type Fault, problemsFrom, within, type YamlSource } from "./yaml-source.ts";

/**
 * Returns the faults of a gateway's configuration that a schema can't find: those of URLs and time zones, and those between several values.
 */
export function checkGateway(input: GatewayInput, source: YamlSource): readonly Problem[] {
  const { service, booths, outputs, notices } = input;
  return problemsFrom(source, [
    ...within(["service"], checkService(service)),
    ...checkUnique(booths),
    ...checkSharing(booths),
    ...booths.flatMap((booth, index) => within(["booths", index], checkBooth(booth))),
    ...outputs.flatMap((output, index) =>
      within(["outputs", index], [...checkNames(output, outputs, booths), ...checkOutput(output)]),
    ),
    ...notices.flatMap((notice, index) =>
      within(["notices", index], [...checkNames(notice, notices, booths), ...checkNotice(notice)]),
    ),
  ]);
}

/** Returns the fault of a URL; empty if the URL is absent or valid. */
function checkUrl(path: Fault[0], url: string | undefined, faultOf: (url: string) => Text | null): readonly Fault[] {
  const fault = url === undefined ? null : faultOf(url);
  return fault === null ? [] : [[path, fault]];
}

/** Returns a fault if only one of a certificate and its private key is given. */
function checkPair(of: object, prefix: "client" | "user"): readonly Fault[] {
  const keys = [`${prefix}_key_file`, `${prefix}_certificate_file`];
  const [given, second] = keys.filter((key) => key in of);
  if (given === undefined || second !== undefined) return [];
  return [[given, message(`config.${prefix}_pair`), AT_KEY]];
}

function checkService(service: GatewayInput["service"]): readonly Fault[] {
  const faults: Fault[] = [
    ...checkUrl("url", service.url, serviceUrlFault),
    ...checkUrl("proxy_url", service.proxy_url, proxyUrlFault),
    ...checkUrl("mqtt_url", service.mqtt_url, brokerUrlFault),
    ...checkPair(service, "client"),
  ];
  if (service.api_key_file !== undefined && service.api_key_credential !== undefined) {
    faults.push(["api_key_credential", message("config.one_key"), AT_KEY]);
  }
  return faults;
}

function checkUnique(booths: readonly BoothInput[]): readonly Fault[] {
  const serials = booths.map(({ serial }) => (serial === undefined ? null : normalizeSerial(serial)));
  return booths.flatMap(({ id }, index) => {
    const faults: Fault[] = [];
    const serial = serials[index] ?? null;
    if (booths.findIndex((other) => other.id === id) < index) faults.push(["id", message("config.id_taken", { id })]);
    if (serial !== null && serials.indexOf(serial) < index) {
      faults.push(["serial", message("config.serial_taken", { serial })]);
    }
    return within(["booths", index], faults);
  });
}

function checkBooth(booth: BoothInput): readonly Fault[] {
  const { serial, modbus, opcua, tz } = booth;
  const faults: Fault[] = [];
  if (serial !== undefined && normalizeSerial(serial) === null) faults.push(["serial", message("config.serial")]);
  if ((modbus === undefined) === (opcua === undefined)) {
    faults.push([modbus === undefined ? [] : "opcua", message("config.one_link"), AT_KEY]);
  }
  if (modbus !== undefined) faults.push(...within(["modbus"], checkModbus(modbus)));
  if (opcua !== undefined) faults.push(...within(["opcua"], checkOpcua(opcua)));
  if (!isKnownZone(tz)) {
    faults.push(["tz", message("config.zone", { tz }), { hint: didYouMean(tz, Intl.supportedValuesOf("timeZone")) }]);
  }
  return faults;
}

function checkModbus(modbus: ModbusInput): readonly Fault[] {
  const { host, port, framing, serial, share } = modbus;
  const shareFault = share === undefined ? null : faultOfShare(share);
  if (shareFault !== null) return [["share", shareFault, AT_KEY]];
  const key = TCP_ONLY.find((name) => modbus[name] !== undefined);
  if (key !== undefined && (serial !== undefined || framing === "rtu"))
    return [[key, message("config.tcp_only"), AT_KEY]];
  if (serial !== undefined) {
    if (host !== undefined || port !== undefined) return [["serial", message("config.host_or_serial"), AT_KEY]];
    return framing === undefined ? [] : [["framing", message("config.framing"), AT_KEY]];
  }
  if (host === undefined) return [[[], message("config.no_host"), AT_KEY]];
  return /^[A-Za-z0-9.:-]+$/.test(host) ? [] : [["host", message("config.host")]];
}

/**
 * Settings that only Modbus TCP has. RTU frames have no transaction id, and on a line with several devices only the unit id says which
 * device answers.
 */
const TCP_ONLY = ["transaction_id_offset", "answer_unit_id"] as const;

/** Returns the fault of a shared connection's addresses. Only listed clients may connect from other machines. */
function faultOfShare({ address, clients }: NonNullable<ModbusInput["share"]>): Text | null {
  const wrong = [address, ...clients].find((text) => isIP(text) === 0);
  if (wrong !== undefined) return message("config.no_ip", { text: wrong });
  const isLocal = address === "::1" || address.startsWith("127.");
  return isLocal || clients.length > 0 ? null : message("config.clients");
}

/** Returns the address and settings of a booth's `modbus` section, which must have passed `checkGateway`. */
export function modbusOf({ host, port, framing, serial, ...rest }: ModbusInput): ModbusConfig {
  if (serial !== undefined) return { serial, ...rest };
  return { host: host ?? "", port: port ?? MODBUS_PORT, ...(framing === undefined ? {} : { framing }), ...rest };
}

/** Checks that booths with the same Modbus connection have the same settings for it. Every OPC UA booth has its own session. */
function checkSharing(booths: readonly BoothInput[]): readonly Fault[] {
  const first = new Map<string, { readonly settings: string; readonly id: string }>();
  return booths.flatMap(({ id, modbus }, index): readonly Fault[] => {
    if (modbus === undefined) return [];
    const { framing = "tcp", serial, transaction_id_offset = 0, answer_unit_id = null } = modbus;
    const link = modbusAddressText(modbusOf(modbus));
    const settings = JSON.stringify(serial ?? [framing, transaction_id_offset, answer_unit_id]);
    const earlier = first.get(link);
    if (earlier === undefined) first.set(link, { settings, id });
    if (earlier === undefined || earlier.settings === settings) return [];
    return [[["booths", index, "modbus"], message("config.same_link", { booth: earlier.id }), AT_KEY]];
  });
}

/** Checks the OPC UA settings, mainly that a password is never sent unprotected. */
function checkOpcua(input: OpcuaInput): readonly Fault[] {
  const { endpoint, security_policy, allow_insecure, user, password_file, user_certificate_file } = input;
  const { server_certificate_fingerprint: fingerprint, server_certificate_file } = input;
  const faults: Fault[] = [];
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (url?.protocol !== "opc.tcp:" || url.hostname === "") {
    faults.push(["endpoint", message("config.endpoint_form")]);
  } else if (url.username !== "" || url.password !== "") faults.push(["endpoint", message("config.endpoint")]);
  const isInsecure = security_policy === "None";
  if (isInsecure && !allow_insecure) faults.push(["security_policy", message("config.insecure")]);
  if (!isInsecure && allow_insecure) faults.push(["allow_insecure", message("config.insecure_alone")]);
  if (fingerprint !== undefined && server_certificate_file !== undefined) {
    faults.push(["server_certificate_file", message("config.fingerprint_or_file")]);
  }
  if (fingerprint !== undefined && normalizeFingerprint(fingerprint) === null) {
    faults.push(["server_certificate_fingerprint", message("config.fingerprint")]);
  }
  if (user === undefined && password_file !== undefined)
    faults.push(["password_file", message("config.password_user")]);
  faults.push(...checkPair(input, "user").map(([key, text]): Fault => [key, text]));
  if (user !== undefined && user_certificate_file !== undefined) {
    faults.push(["user_certificate_file", message("config.one_login")]);
  }
  if (isInsecure && user !== undefined) faults.push(["user", message("config.no_password")]);
  return faults;
}

type Named = { readonly name: string; readonly booths?: readonly string[] };

/** Checks an output's or a notice's name, and the booths that it lists. */
function checkNames(entry: Named, entries: readonly Named[], booths: readonly { readonly id: BoothId }[]) {
  const { name } = entry;
  const ids = booths.map(({ id }) => id);
  const isTaken = entries.find((other) => other.name === name) !== entry;
  const unknown = (entry.booths ?? []).flatMap((id, position): readonly Fault[] =>
    ids.includes(id)
      ? []
      : [[["booths", position], message("config.no_booth", { booth: id }), { hint: didYouMean(id, ids) }]],
  );
  const taken: readonly Fault[] = isTaken ? [["name", message("config.name_taken", { name })]] : [];
  return [...taken, ...unknown];
}

/** Keys that an output of this kind may not have, because they belong to another kind. */
const STRANGE = { mqtt: ["token_file"], sparkplug: ["token_file"], otlp: ["client_id", "since"] } as const;

function checkOutput(output: OutputInput): readonly Fault[] {
  const { url, mqtt, sparkplug, otlp, user, token_file, password_file, since } = output;
  const faults: Fault[] = [
    ...checkUrl("url", url, otlp === undefined ? brokerUrlFault : serviceUrlFault),
    ...(sparkplug?.more_urls ?? []).flatMap((more, at) =>
      checkUrl(["sparkplug", "more_urls", at], more, brokerUrlFault),
    ),
  ];
  const [kind, second] = OUTPUT_KINDS.filter((name) => output[name] !== undefined);
  if (kind === undefined || second !== undefined) {
    faults.push([second ?? [], message("config.one_kind", { kinds: OUTPUT_KINDS.join(", ") })]);
  }
  const strange = kind && STRANGE[kind].find((name) => output[name] !== undefined);
  if (strange !== undefined) faults.push([strange, message("config.strange_key", { key: strange, kind: kind ?? "" })]);
  if (token_file !== undefined && user !== undefined) faults.push(["token_file", message("config.token_or_user")]);
  if (password_file !== undefined && user === undefined)
    faults.push(["password_file", message("config.password_user")]);
  faults.push(...checkPair(output, "client"));
  if (since !== undefined && Number.isNaN(Date.parse(since))) faults.push(["since", message("config.instant")]);
  if (mqtt !== undefined) faults.push(...within(["mqtt", "topics"], checkTopics(mqtt.topics)));
  return faults.map(([path, text]) => [path, text, AT_KEY]);
}

/** The placeholders that each kind of topic template may contain. */
const PLACES = {
  tag: ["gateway", "booth", "serial", "tag"],
  figure: ["gateway", "booth", "serial", "figure"],
  status: ["gateway"],
} as const;

function checkTopics(topics: NonNullable<OutputInput["mqtt"]>["topics"]): readonly Fault[] {
  return Object.entries(PLACES).flatMap(([name, places]: [string, readonly string[]]): readonly Fault[] => {
    const text = topics[name as keyof typeof PLACES];
    const named = [...text.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? "");
    const unknown = named.find((place) => !places.includes(place));
    if (unknown !== undefined) {
      const known = places.map(placeholder);
      return [[name, message("config.unknown_place", { place: placeholder(unknown), known })]];
    }
    if (/[+#\p{Cc}]/u.test(text) || text.startsWith("$")) return [[name, message("config.topic")]];
    if (/[{}]/.test(text.replaceAll(/\{[^{}]*\}/g, ""))) return [[name, message("config.brace")]];
    const last = places.at(-1) ?? "";
    const isOfOne = named.includes(last) && (named.includes("booth") || named.includes("serial"));
    if (name === "status" || isOfOne) return [];
    const booth = placeholder("booth");
    const serial = placeholder("serial");
    return [[name, message("config.shared_topic", { place: placeholder(last), booth, serial })]];
  });
}

const placeholder = (name: string): string => `{${name}}`;

function checkNotice({ mail, webhook, mqtt, quiet }: NoticeInput): readonly Fault[] {
  const faults: Fault[] = [];
  const tz = quiet?.tz;
  if ([mail, webhook, mqtt].filter((channel) => channel !== undefined).length !== 1) {
    faults.push([[], message("notice.one_way")]);
  }
  if (quiet !== undefined && quiet.from === quiet.to) faults.push([["quiet", "to"], message("notice.quiet_length")]);
  if (tz !== undefined && !isKnownZone(tz)) faults.push([["quiet", "tz"], message("notice.zone", { tz })]);
  if (mail?.tls === "none" && !isLoopback(mail.host)) faults.push([["mail", "tls"], message("notice.tls_none")]);
  return [
    ...faults,
    ...within(["mail"], checkLogin(mail)),
    ...checkUrl(["webhook", "url"], webhook?.url, webhookUrlFault),
    ...checkUrl(["mqtt", "url"], mqtt?.url, brokerUrlFault),
    ...within(["mqtt"], checkLogin(mqtt)),
  ];
}

/** Checks that a user name and a password file are both given or both absent. */
function checkLogin(login: NoticeInput["mail"] | NoticeInput["mqtt"]): readonly Fault[] {
  if ((login?.user === undefined) === (login?.password_file === undefined)) return [];
  return [[login?.user === undefined ? "password_file" : "user", message("notice.login_pair")]];
}
