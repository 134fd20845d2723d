import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";

/**
 * This module reads this machine's addresses from the kernel's tables. Node's `networkInterfaces` is not an option: it needs a netlink
 * socket, which the service's unit may not open.
 */

const V4_TABLE = "/proc/net/fib_trie";
const V6_TABLE = "/proc/net/if_inet6";

/** Returns the text of a kernel table; "" if the table does not exist. */
export function tableOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** Parses /proc/net/fib_trie. The result includes loopback. Pure. */
export function v4In(trie: string): readonly string[] {
  return [...new Set([...trie.matchAll(/\|-- ([\d.]+)\n\s+\/32 host LOCAL/g)].map(([, address = ""]) => address))];
}

/** Parses /proc/net/if_inet6. Returns the addresses in their shortest spelling, as browsers write them. Pure. */
export function v6In(table: string): readonly string[] {
  return [...table.matchAll(/^([0-9a-f]{32}) /gm)].map(([, digits = ""]) => {
    const long = digits.match(/.{4}/g)?.join(":") ?? "";
    return new URL(`http://[${long}]/`).hostname.slice(1, -1);
  });
}

/** Returns this machine's IPv4 addresses without loopback: the addresses that people can type. */
export function typedAddresses(): readonly string[] {
  return v4In(tableOf(V4_TABLE)).filter((address) => !address.startsWith("127."));
}

/**
 * Returns this machine's name in multicast DNS (RFC 6762), in lower case. It is possible that no service on the network answers to this
 * name.
 */
export function nameOnSite(): string {
  return `${hostname().toLowerCase().split(".")[0] ?? ""}.local`;
}

/** Returns all addresses of this machine. */
export function allAddresses(): readonly string[] {
  return [...v4In(tableOf(V4_TABLE)), ...v6In(tableOf(V6_TABLE))];
}
