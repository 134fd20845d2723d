import { say } from "../../domain/sentences.ts";
import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, rootCertificates, type TLSSocket } from "node:tls";
import type { ModbusConfig } from "../../config/port.ts";
import type { ReadyBooth } from "../../config/usable.ts";
import { hasIntermediate } from "../../credential-files.ts";
import { adviceFor, LinkError, tlsSentence } from "../../domain/link-error.ts";
import { plcAddress } from "../../domain/plc-address.ts";
import type { PlcTools, ToolConnection } from "../../acquisition/port.ts";
import { serialTrouble } from "./box.ts";
import { bad, type Finding, ok, warn } from "./finding.ts";
import { errorMessage } from "../../domain/error-message.ts";
import { DAY_MS } from "../../domain/time.ts";

/** An import of node:http would load its WebSocket, and with it undici: 14 MB and 40 ms of CPU. */
const { request: httpRequest } = process.getBuiltinModule("node:http");

/** Each step has this long. */
const STEP_MS = 5_000;

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Ask for something by HTTP as well. */
  readonly http: boolean;
  /** Authorities beside the public ones, PEM. */
  readonly ca?: string | undefined;
  /** An HTTP proxy on the way. */
  readonly proxy?: { readonly host: string; readonly port: number } | undefined;
}

export type Step = "DNS" | "TCP" | "proxy" | "TLS" | "HTTP";

/** How far one gets towards a server; `code` is the system's or the TLS library's name of what went wrong. */
export type Reached =
  | { readonly kind: "failed"; readonly step: Step; readonly code: string; readonly reason: string }
  | {
      readonly kind: "reached";
      readonly address: string;
      /** End of the certificate; null without TLS. */
      readonly certificate_ends: number | null;
      /** The server's own clock, from its answer; null where it doesn't tell. */
      readonly server_time: number | null;
    };

/** Name, connection, certificate, answer, one after the other; nothing is sent but a GET without a key. Never rejects. */
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
    const message = errorMessage(error);
    const reason = tlsSentence(error, new Date().toISOString().slice(0, 10)) ?? message;
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return { kind: "failed", step, code, reason };
  } finally {
    for (const socket of open) socket.destroy();
  }
}

function secured(socket: Socket, { host, ca }: Target, open: Socket[]): Promise<TLSSocket> {
  const roots = ca === undefined ? {} : { ca: [...rootCertificates, ca], allowPartialTrustChain: hasIntermediate(ca) };
  // An address is no server name (RFC 6066, 3); `host` is what the certificate must be for.
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

/** Asks the proxy for the way to the target (CONNECT, RFC 9110, 9.3.6); the socket is that way then. */
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
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" })), STEP_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

const TIMES = { connect_ms: 3_000, answer_ms: 1_000 } as const;

/** Whether the booth's PLC can be reached. For when no agent holds its connection: many PLCs allow one alone. */
export async function examinePlc({ config: booth, profile }: ReadyBooth, tools: PlcTools): Promise<Finding> {
  const what = `PLC of ${booth.id}`;
  const at = plcAddress(booth);
  if (booth.opcua !== undefined) {
    const { hostname, port } = new URL(booth.opcua.endpoint);
    const answers = await tools.greetsOpcua({ host: hostname, port: Number(port || 4840) }, TIMES.connect_ms);
    return answers
      ? ok(what, say("doctor.opcua_answers", { at }))
      : bad(what, say("doctor.opcua_silent", { at }), `${at}: ${adviceFor({ kind: "timeout", advice: null }, at)}`);
  }
  if ("serial" in booth.modbus) {
    const unit = booth.modbus.unit_id ?? (profile.protocol === "modbus" ? profile.quirks.unit_id : 1);
    return examineLine(what, { modbus: booth.modbus, unit }, tools);
  }
  const failure = await failureOf(tools.connect(booth.modbus, TIMES));
  if (failure === null) return ok(what, say("doctor.takes_connections", { at }));
  return bad(what, failure.message, `${at}: ${adviceFor(failure, at)}`);
}

/** That a line can be opened says nothing: the device is asked for a register, and a refusal is an answer. */
async function examineLine(
  what: string,
  { modbus, unit }: { readonly modbus: Extract<ModbusConfig, { readonly serial: unknown }>; readonly unit: number },
  tools: PlcTools,
): Promise<Finding> {
  const { path, baud_rate, parity } = modbus.serial;
  const trouble = serialTrouble(path);
  if (trouble !== null) {
    const todo = say("doctor.adapter", { path });
    return bad(what, `${path}: ${trouble}`, todo);
  }
  const failure = await failureOf(tools.connect(modbus, TIMES), unit);
  if (failure === null) return ok(what, say("doctor.unit_answers", { unit, path }));
  const todo = `${path}: check the PLC's power, the two wires (swapped they are silent), and in the PLC unit id ${unit}, ${baud_rate} baud, parity ${parity}`;
  return bad(what, `${path}: ${failure.message}`, todo);
}

/** Why it can't be opened, or the unit, where one is given, doesn't answer; null: all is well. */
async function failureOf(connection: ToolConnection, unit?: number): Promise<LinkError | null> {
  try {
    await connection.open();
    if (unit !== undefined) await connection.registers(unit, { table: "holding", address: 0, count: 1 });
    return null;
  } catch (error) {
    if (error instanceof LinkError) return error;
    throw error;
  } finally {
    connection.close();
  }
}

/** More than that between the box's clock and the server's: certificates and time stamps suffer. */
const MAX_CLOCK_OFF_MS = 120_000;
const SOON_MS = 30 * 86_400_000;

const PORTS: Readonly<Record<string, number>> = {
  "https:": 443,
  "http:": 80,
  "mqtts:": 8883,
  "mqtt:": 1883,
  "wss:": 443,
  "ws:": 80,
};

/** Where a URL of the configuration leads; http: whether to ask for something there. */
export function targetOf(url: string, ca: string | undefined): Target {
  const { protocol, hostname, port } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (PORTS[protocol] ?? 443) : Number(port),
    tls: protocol === "https:" || protocol === "mqtts:" || protocol === "wss:",
    http: protocol === "https:" || protocol === "http:",
    ca,
  };
}

/** What came of the way to a server, in words, with what to do. Pure. `checks_clock`: the box's clock is real time. */
export function serverFindings(
  what: string,
  { target, reached }: { readonly target: Target; readonly reached: Reached },
  { now, checks_clock }: { readonly now: number; readonly checks_clock: boolean },
): readonly Finding[] {
  const at = `${target.host}:${target.port}`;
  if (reached.kind === "failed") {
    const { step, code, reason } = reached;
    // Up to the proxy, where there is one, the way is the proxy's.
    const { host, port } = step === "DNS" || step === "TCP" ? (target.proxy ?? target) : target;
    const todo = adviceAt({ step, code }, host, `${host}:${port}`);
    return [bad(what, say("doctor.fails", { step, reason }), todo)];
  }
  const steps = ["DNS", "TCP", ...(target.tls ? ["TLS"] : []), ...(target.http ? ["HTTP"] : [])].join(", ");
  const findings: Finding[] = [ok(what, `${at} (${reached.address}): ${steps} are well`)];
  if (reached.certificate_ends !== null) {
    findings.push(certificateFinding(`certificate of ${target.host}`, reached.certificate_ends, now));
  }
  const off = reached.server_time === null ? 0 : reached.server_time - now;
  if (checks_clock && Math.abs(off) > MAX_CLOCK_OFF_MS) {
    const said = `${at} says it is ${new Date(now + off).toISOString()}, this box ${new Date(now).toISOString()}`;
    findings.push(warn("clock of the box", said, say("doctor.ntp")));
  }
  return findings;
}

function certificateFinding(what: string, ends: number, now: number): Finding {
  const days = Math.floor((ends - now) / DAY_MS);
  const said = say("doctor.ends", { days, day: new Date(ends).toISOString().slice(0, 10) });
  if (ends - now > SOON_MS) return ok(what, said);
  return warn(what, said, say("doctor.ends_soon", { what }));
}

function adviceAt({ step, code }: { step: string; code: string }, host: string, at: string): string {
  switch (step) {
    case "DNS":
      return code === "ENOTFOUND" ? say("doctor.dns_name", { host }) : say("doctor.dns_uplink", { host });
    case "TCP":
      return code === "ECONNREFUSED" ? say("doctor.tcp_refused", { at }) : say("doctor.tcp_firewall", { at });
    case "proxy":
      return say("doctor.proxy", { at });
    case "TLS":
      return tlsAdvice(code, at);
    default:
      return say("doctor.no_answer", { at });
  }
}

function tlsAdvice(code: string, at: string): string {
  if (code === "CERT_HAS_EXPIRED") return say("doctor.clock_ended", { at });
  if (code === "CERT_NOT_YET_VALID") return say("doctor.clock_before", { at });
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return say("doctor.other_name", { at });
  if (/SELF_SIGNED|UNABLE_TO|ISSUER/.test(code)) {
    return say("doctor.authority", { at });
  }
  return say("doctor.tls_version", { at });
}
