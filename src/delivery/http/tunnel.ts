import type { RequestOptions } from "node:http";
import type { Agent, AgentOptions } from "node:https";
import { isIP } from "node:net";
import { PassThrough, type Duplex } from "node:stream";
import { connect as tlsConnect } from "node:tls";

// As in http.ts: the import would load more than is used.
const { request } = process.getBuiltinModule("node:http");
const { Agent: HttpsAgent } = process.getBuiltinModule("node:https");

/** The proxy answers within this, or there is none. */
const TUNNEL_TIMEOUT_MS = 10_000;

type Settle = (error: Error | null, stream: Duplex) => void;

/** Keep-alive connections through an HTTP proxy (CONNECT, RFC 9110, 9.3.6); TLS is with the service itself, verified as always. */
export function tunnelAgent(proxy: URL, options: AgentOptions): Agent {
  const agent = new HttpsAgent(options);
  agent.createConnection = (target, settle) => {
    openTunnel(proxy, target, settle ?? (() => undefined));
    return undefined;
  };
  return agent;
}

function openTunnel(proxy: URL, options: RequestOptions, settle: Settle): void {
  const host = options.host ?? "";
  const target = `${host}:${String(options.port ?? 443)}`;
  const call = request({
    host: proxy.hostname,
    port: proxy.port === "" ? 80 : Number(proxy.port),
    method: "CONNECT",
    path: target,
    headers: { Host: target },
    timeout: TUNNEL_TIMEOUT_MS,
  });
  // The type wants a stream there; nobody looks at it beside an error.
  const fail = (error: Error): void => settle(error, new PassThrough());
  call.on("timeout", () => call.destroy(new Error("the proxy doesn't answer")));
  call.on("error", fail);
  call.on("connect", ({ statusCode = 0 }, socket) => {
    if (statusCode === 200) settle(null, tlsConnect({ ...(options as object), socket, ...nameOf(host) }));
    else {
      socket.destroy();
      fail(new Error(`the proxy refuses the way to ${target} (${statusCode.toString()})`));
    }
  });
  call.end();
}

/** RFC 6066, 3: an address is no server name. */
function nameOf(host: string): { readonly servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}
