import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, rootCertificates, type TLSSocket } from "node:tls";

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
  readonly ca?: string;
  /** An HTTP proxy on the way. */
  readonly proxy?: { readonly host: string; readonly port: number };
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
    return {
      kind: "reached",
      address,
      certificate_ends: ends === undefined ? null : Date.parse(ends),
      server_time,
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return { kind: "failed", step, code, reason };
  } finally {
    for (const socket of open) socket.destroy();
  }
}

function secured(socket: Socket, { host, ca }: Target, open: Socket[]): Promise<TLSSocket> {
  const roots = ca === undefined ? {} : { ca: [...rootCertificates, ca] };
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
  const path = `${isIP(host) === 6 ? `[${host}]` : host}:${port.toString()}`;
  return new Promise((resolve, reject) => {
    const call = httpRequest({ createConnection: () => socket, method: "CONNECT", path, headers: { Host: path } });
    call.on("error", reject);
    call.on("connect", ({ statusCode = 0 }) => {
      if (statusCode >= 200 && statusCode < 300) resolve();
      else reject(new Error(`the proxy refuses the way to ${path} (${statusCode.toString()})`));
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
