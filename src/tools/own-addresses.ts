import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";

/**
 * This machine's addresses, read from the kernel's tables. Node's `networkInterfaces` needs a netlink socket, which the service's unit
 * may not open.
 */

const V4_TABLE = "/proc/net/fib_trie";
const V6_TABLE = "/proc/net/if_inet6";

/** The text of a kernel table; "" if the machine has no such network. */
export function tableOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** Parses /proc/net/fib_trie. The result includes loopback. Pure. */
export function v4In(trie: string): readonly string[] {
  return [...new Set([...trie.matchAll(/\|-- ([\d.]+)\n\s+\/32 host LOCAL/g)].map(([, address = ""]) => address))];
}

/** Parses /proc/net/if_inet6 into the shortest spellings, as browsers use them. Pure. */
export function v6In(table: string): readonly string[] {
  return [...table.matchAll(/^([0-9a-f]{32}) /gm)].map(([, digits = ""]) => {
    const long = digits.match(/.{4}/g)?.join(":") ?? "";
    return new URL(`http://[${long}]/`).hostname.slice(1, -1);
  });
}

/** IPv4 addresses without loopback: those that people can type. */
export function typedAddresses(): readonly string[] {
  return v4In(tableOf(V4_TABLE)).filter((address) => !address.startsWith("127."));
}

/** The name of this machine in multicast DNS (RFC 6762), in lower case. Nothing may answer to it. */
export function nameOnSite(): string {
  return `${hostname().toLowerCase().split(".")[0] ?? ""}.local`;
}

/** All addresses of this machine. */
export function allAddresses(): readonly string[] {
  return [...v4In(tableOf(V4_TABLE)), ...v6In(tableOf(V6_TABLE))];
}
