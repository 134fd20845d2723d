import { say } from "../domain/sentences.ts";

/** Schemes that protect what they carry, and those that don't and are therefore good for this machine alone. */
interface UrlSchemes {
  readonly secure: readonly string[];
  readonly plain: readonly string[];
}

const HTTP_SCHEMES: UrlSchemes = { secure: ["https:"], plain: ["http:"] };
const MQTT_SCHEMES: UrlSchemes = { secure: ["mqtts:", "wss:"], plain: ["mqtt:", "ws:"] };

/** Names this machine by address; a name other than localhost could be made to point elsewhere. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** What is wrong with the service's URL, as a sentence; null: nothing. */
export function serviceUrlFault(text: string): string | null {
  return urlFault(text, HTTP_SCHEMES);
}

/** What is wrong with a webhook's URL, as a sentence; null: nothing. A query may be its secret. */
export function webhookUrlFault(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null) url.search = "";
  return urlFault(url?.href ?? text, HTTP_SCHEMES);
}

/** What is wrong with a broker's URL, as a sentence; null: nothing. */
export function brokerUrlFault(text: string): string | null {
  return urlFault(text, MQTT_SCHEMES);
}

/** What is wrong with a proxy's URL, as a sentence; null: nothing. What goes through it is TLS with the service itself. */
export function proxyUrlFault(text: string): string | null {
  return urlFault(text, { secure: ["http:"], plain: [] });
}

/** What is wrong with a URL of the configuration, as a sentence that doesn't repeat it (it might hold a secret); null: nothing. */
function urlFault(text: string, schemes: UrlSchemes): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const all = [...schemes.secure, ...schemes.plain].map((scheme) => `${scheme}//`).join(", ");
  if (url === null) return say("config.no_url", { schemes: all });
  if (url.username !== "" || url.password !== "") return say("config.url_login");
  if (url.search !== "" || url.hash !== "") return say("config.url_query");
  if (schemes.secure.includes(url.protocol)) return null;
  if (!schemes.plain.includes(url.protocol)) return say("config.url_begin", { schemes: all });
  return isLoopback(url.hostname) ? null : say("config.url_open", { scheme: `${url.protocol}//` });
}
