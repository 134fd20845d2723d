import { message, type Text } from "./message.ts";
import { errorText } from "./messages/message-error.ts";

/** Errors of failed connections for which the agent has its own text, by Node's error code. */
const CONNECT_FAULTS = {
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "no_network",
  ETIMEDOUT: "timeout",
} as const;

/** Returns a connection's error as a message if it has Node's usual wording, else its own text. */
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
