import { message, type Text } from "../../domain/message.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, rootCertificates, type TLSSocket } from "node:tls";
import { setTimeout as delay } from "node:timers/promises";
import type { PlcTools, ToolConnection } from "../../acquisition/port.ts";
import type { ReadyBooth } from "../../config/usable.ts";
import { hasIntermediate } from "../../credential-files.ts";
import { adviceFor, LinkError, tlsSentence } from "../../domain/link-error.ts";
import { plcAddress } from "../../domain/plc-address.ts";
import { DAY_MS } from "../../domain/time.ts";
import { connectedTo } from "../plc-tools.ts";
import { OPCUA_PORT } from "../rules/usual.ts";
import { serialTrouble } from "./box.ts";
import { bad, type Finding, ok, warn } from "./finding.ts";

/** Node's HTTP client, loaded without `import`: an import would also load WebSocket and undici, which cost 14 MB and 40 ms of CPU. */
const { request: httpRequest } = process.getBuiltinModule("node:http");

/** The time limit of each step. */
const STEP_MS = 5_000;

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** True to send an HTTP request as well. */
  readonly http: boolean;
  /** Certificates of authorities, in PEM, in addition to the public authorities. */
  readonly ca?: string | undefined;
  /** The HTTP proxy to connect through. */
  readonly proxy?: { readonly host: string; readonly port: number } | undefined;
}

export type Step = "DNS" | "TCP" | "proxy" | "TLS" | "HTTP";

/**
 * The result of connecting to a server step by step: the step that failed, or success. `code` is the error code of the system or of the TLS
 * library.
 */
export type Reached =
  | { readonly kind: "failed"; readonly step: Step; readonly code: string; readonly reason: Text }
  | {
      readonly kind: "reached";
      readonly address: string;
      /** The time when the certificate expires; null without TLS. */
      readonly certificate_ends: number | null;
      /** The server's clock, from the answer's Date header; null without that header. */
      readonly server_time: number | null;
    };

/** Checks name, connection, certificate and answer in turn. Sends only a GET, without a key. Never rejects. */
export async function reach(target: Target): Promise<Reached> {
  let step: Step = "DNS";
  const open: Socket[] = [];
  try {
    const first = target.proxy ?? target;
    const { address } = await within(lookup(first.host));
    step = "TCP";
    const plain = await connected(connect({ host: address, port: first.port }), "connect", open);
    step = "proxy";
    if (target.proxy !== undefined) await within(tunnel(plain, target));
    step = "TLS";
    const secure = target.tls ? await secured(plain, target, open) : null;
    step = "HTTP";
    const server_time = target.http ? await within(askedTime(secure ?? plain, target)) : null;
    const ends = secure?.getPeerCertificate().valid_to;
    return { kind: "reached", address, certificate_ends: ends === undefined ? null : Date.parse(ends), server_time };
  } catch (error) {
    const reason = tlsSentence(error, new Date().toISOString().slice(0, 10)) ?? errorText(error);
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return { kind: "failed", step, code, reason };
  } finally {
    for (const socket of open) socket.destroy();
  }
}

function secured(socket: Socket, { host, ca }: Target, open: Socket[]): Promise<TLSSocket> {
  const roots = ca === undefined ? {} : { ca: [...rootCertificates, ca], allowPartialTrustChain: hasIntermediate(ca) };
  // Leaves out the server name for an IP address, which is not allowed as a server name (RFC 6066, 3). The certificate must be for `host`.
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connected(connectTls({ socket, host, ...name, minVersion: "TLSv1.2", ...roots }), "secureConnect", open);
}

function connected<S extends Socket>(socket: S, event: string, open: Socket[]): Promise<S> {
  open.push(socket);
  return within(
    new Promise((resolve, reject) => {
      socket.once(event, () => resolve(socket));
      socket.on("error", reject);
    }),
  );
}

/** Asks the proxy for a tunnel to the target (CONNECT, RFC 9110, 9.3.6). Afterwards the socket leads to the target. */
function tunnel(socket: Socket, { host, port }: Target): Promise<void> {
  const path = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    const call = httpRequest({ createConnection: () => socket, method: "CONNECT", path, headers: { Host: path } });
    call.on("error", reject);
    call.on("connect", ({ statusCode = 0 }) => {
      if (statusCode >= 200 && statusCode < 300) resolve();
      else reject(new Error(`the proxy refuses the way to ${path} (${statusCode})`));
    });
    call.end();
  });
}

function askedTime(socket: Socket, { host }: Target): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const call = httpRequest({ createConnection: () => socket, host, path: "/api" }, (answer) => {
      answer.resume();
      const time = Date.parse(answer.headers.date ?? "");
      resolve(Number.isNaN(time) ? null : time);
    });
    call.on("error", reject);
    call.end();
  });
}

function within<T>(work: Promise<T>): Promise<T> {
  const late = delay(STEP_MS, undefined, { ref: false }).then(() => Promise.reject(new Error("no answer in time")));
  return Promise.race([work, late]);
}

const TIMES = { connect_ms: 3_000, answer_ms: 1_000 } as const;

/** Checks whether the booth's PLC answers. Called only if no agent is running, because many PLCs allow a single connection. */
export async function examinePlc({ config: booth, profile }: ReadyBooth, tools: PlcTools): Promise<Finding> {
  const what = `PLC of ${booth.id}`;
  const at = plcAddress(booth);
  if (booth.opcua !== undefined) {
    const { hostname: host, port } = new URL(booth.opcua.endpoint);
    const answers = await tools.greetsOpcua({ host, port: Number(port || OPCUA_PORT) }, TIMES.connect_ms);
    return answers
      ? ok(what, message("doctor.opcua_answers", { at }))
      : bad(what, message("doctor.opcua_silent", { at }), adviceAtPlc(at, { kind: "timeout", advice: null }));
  }
  const { modbus } = booth;
  if (!("serial" in modbus)) {
    const failure = await failureOf(tools.connect(modbus, TIMES));
    if (failure === null) return ok(what, message("doctor.takes_connections", { at }));
    return bad(what, failure.text, adviceAtPlc(at, failure));
  }
  const { path, baud_rate, parity } = modbus.serial;
  const trouble = serialTrouble(path);
  if (trouble !== null)
    return bad(what, message("text.at", { place: path, text: trouble }), message("doctor.adapter", { path }));
  const unit = modbus.unit_id ?? (profile.protocol === "modbus" ? profile.quirks.unit_id : 1);
  const failure = await failureOf(tools.connect(modbus, TIMES), unit);
  if (failure === null) return ok(what, message("doctor.unit_answers", { unit, path }));
  const todo = `${path}: check the PLC's power, the two wires (they may be swapped), and in the PLC unit ID ${unit}, ${baud_rate} baud, parity ${parity}`;
  return bad(what, message("text.at", { place: path, text: failure.text }), todo);
}

function adviceAtPlc(place: string, failure: Pick<LinkError, "kind" | "advice">): Text {
  return message("text.at", { place, text: adviceFor(failure, place) });
}

/**
 * Returns the error that opening the connection causes; null if it opens. If a unit is given, also reads from it, because a serial line
 * always opens. A refusal by the unit counts as an answer.
 */
function failureOf(connection: ToolConnection, unit?: number): Promise<LinkError | null> {
  const use = async (): Promise<null> => {
    if (unit !== undefined) await connection.registers(unit, { table: "holding", address: 0, count: 1 });
    return null;
  };
  return connectedTo(connection, use).catch((error: unknown) => {
    if (error instanceof LinkError) return error;
    throw error;
  });
}

/**
 * The largest harmless difference between the clocks of the box and of the server. A larger difference breaks certificates and time stamps.
 */
const MAX_CLOCK_OFF_MS = 120_000;
const SOON_MS = 30 * DAY_MS;

const PORTS: Readonly<Record<string, number>> = {
  "https:": 443,
  "http:": 80,
  "mqtts:": 8883,
  "mqtt:": 1883,
  "wss:": 443,
  "ws:": 80,
};

/** Returns the server that a URL of the configuration names. */
export function targetOf(url: string, ca: string | undefined): Target {
  const { protocol, hostname, port } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (PORTS[protocol] ?? 443) : Number(port),
    tls: /^(https|mqtts|wss):/.test(protocol),
    http: /^https?:/.test(protocol),
    ca,
  };
}

/** Turns the result of `reach` into findings with advice. Pure. `checks_clock`: true if the box's clock shows real time. */
export function serverFindings(
  what: string,
  { target, reached }: { readonly target: Target; readonly reached: Reached },
  { now, checks_clock }: { readonly now: number; readonly checks_clock: boolean },
): readonly Finding[] {
  const at = `${target.host}:${target.port}`;
  if (reached.kind === "failed") {
    const { step, reason } = reached;
    return [bad(what, message("doctor.fails", { step, reason }), adviceAt(reached, target))];
  }
  const { address, certificate_ends: ends, server_time } = reached;
  const steps = ["DNS", "TCP", ...(target.tls ? ["TLS"] : []), ...(target.http ? ["HTTP"] : [])].join(", ");
  const findings: Finding[] = [ok(what, `${at} (${address}): ${steps} work`)];
  if (ends !== null) findings.push(certificateFinding(`certificate of ${target.host}`, ends, now));
  if (checks_clock && server_time !== null && Math.abs(server_time - now) > MAX_CLOCK_OFF_MS) {
    const text = `${at} reports ${new Date(server_time).toISOString()}, this gateway ${new Date(now).toISOString()}`;
    findings.push(warn("clock of the box", text, message("doctor.ntp")));
  }
  return findings;
}

function certificateFinding(what: string, ends: number, now: number): Finding {
  const days = Math.floor((ends - now) / DAY_MS);
  const text = message("doctor.ends", { days, day: new Date(ends).toISOString().slice(0, 10) });
  if (ends - now > SOON_MS) return ok(what, text);
  return warn(what, text, message("doctor.ends_soon", { what }));
}

function adviceAt({ step, code }: Extract<Reached, { readonly kind: "failed" }>, target: Target): Text {
  // Names the proxy for the steps DNS and TCP, which lead to the proxy if there is one.
  const { host, port } = step === "DNS" || step === "TCP" ? (target.proxy ?? target) : target;
  const at = `${host}:${port}`;
  switch (step) {
    case "DNS":
      return code === "ENOTFOUND" ? message("doctor.dns_name", { host }) : message("doctor.dns_uplink", { host });
    case "TCP":
      return code === "ECONNREFUSED" ? message("doctor.tcp_refused", { at }) : message("doctor.tcp_firewall", { at });
    case "proxy":
      return message("doctor.proxy", { at });
    case "TLS":
      if (code === "CERT_HAS_EXPIRED") return message("doctor.clock_ended", { at });
      if (code === "CERT_NOT_YET_VALID") return message("doctor.clock_before", { at });
      if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return message("doctor.other_name", { at });
      if (/SELF_SIGNED|UNABLE_TO|ISSUER/.test(code)) return message("doctor.authority", { at });
      return message("doctor.tls_version", { at });
    case "HTTP":
      return message("doctor.no_answer", { at });
  }
}
