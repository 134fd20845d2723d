import { message, type Message } from "../domain/message.ts";

/** URL schemes with TLS, and schemes without TLS, which are allowed only on this machine. */
type UrlSchemes = Readonly<Record<"secure" | "plain", readonly string[]>>;

const HTTP_SCHEMES: UrlSchemes = { secure: ["https:"], plain: ["http:"] };
const MQTT_SCHEMES: UrlSchemes = { secure: ["mqtts:", "wss:"], plain: ["mqtt:", "ws:"] };

/** Returns whether a host is this machine. Accepts only the name localhost, because any other name may resolve to another machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/*
 * The following functions check URLs. Each returns the fault of a URL, or null for a valid URL. The message doesn't repeat the URL, which
 * may contain a secret.
 */

export function serviceUrlFault(text: string): Message | null {
  return urlFault(text, HTTP_SCHEMES);
}

/** Returns the fault of a webhook's URL. Its query is allowed, because it may be the webhook's secret. */
export function webhookUrlFault(text: string): Message | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null) url.search = "";
  return urlFault(url?.href ?? text, HTTP_SCHEMES);
}

export function brokerUrlFault(text: string): Message | null {
  return urlFault(text, MQTT_SCHEMES);
}

/** Returns the fault of a proxy's URL. A proxy needs no TLS of its own, because the connection through it uses TLS with the service. */
export function proxyUrlFault(text: string): Message | null {
  return urlFault(text, { secure: ["http:"], plain: [] });
}

function urlFault(text: string, schemes: UrlSchemes): Message | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const all = [...schemes.secure, ...schemes.plain].map((scheme) => `${scheme}//`).join(", ");
  if (url === null) return message("config.no_url", { schemes: all });
  if (url.username !== "" || url.password !== "") return message("config.url_login");
  if (url.search !== "" || url.hash !== "") return message("config.url_query");
  if (schemes.secure.includes(url.protocol)) return null;
  if (!schemes.plain.includes(url.protocol)) return message("config.url_begin", { schemes: all });
  return isLoopback(url.hostname) ? null : message("config.url_open", { scheme: `${url.protocol}//` });
}
