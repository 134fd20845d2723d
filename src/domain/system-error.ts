import { message, type Text } from "./message.ts";
import { errorText } from "./messages/message-error.ts";

/** Failed connects that have a text of their own, by Node's code. */
const CONNECT_FAULTS = {
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "no_network",
  ETIMEDOUT: "timeout",
} as const;

/** Returns an error of a connection as a message if its words are Node's usual ones, else its own text. */
export function systemErrorText(error: Error): Text {
  const { code, hostname, address, port } = error as Error & Readonly<Record<string, unknown>>;
  const words = error.message;
  const host = String(hostname);
  if (words === `getaddrinfo ENOTFOUND ${host}`) return message("service.unknown_name", { host });
  if (words === `getaddrinfo EAI_AGAIN ${host}`) return message("service.name_later", { host });
  if (words === "read ECONNRESET") return message("plc.connect.broken");
  const at = `${String(address)}:${String(port)}`;
  const known = Object.entries(CONNECT_FAULTS).find(([name]) => name === code && words === `connect ${name} ${at}`);
  return known === undefined ? errorText(error) : message(`plc.connect.${known[1]}`, { at });
}
