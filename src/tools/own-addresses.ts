import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";

/**
 * This machine's addresses, from the kernel's tables: Node's own way wants a netlink socket, which the service's unit may not
 * open, and then fails as a whole.
 */

const V4_TABLE = "/proc/net/fib_trie";
const V6_TABLE = "/proc/net/if_inet6";

/** A folder of the kernel that this machine hasn't: then it has no such network. */
export function tableOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** Pure; of /proc/net/fib_trie, loopback among them. */
export function v4In(trie: string): readonly string[] {
  return [...new Set([...trie.matchAll(/\|-- ([\d.]+)\n\s+\/32 host LOCAL/g)].map(([, address = ""]) => address))];
}

/** Pure; of /proc/net/if_inet6, in the shortest spelling, as browsers have it. */
export function v6In(table: string): readonly string[] {
  return [...table.matchAll(/^([0-9a-f]{32}) /gm)].map(([, digits = ""]) => {
    const long = digits.match(/.{4}/g)?.join(":") ?? "";
    return new URL(`http://[${long}]/`).hostname.slice(1, -1);
  });
}

/** Of IPv4 without the loopback: what people can type. */
export function typedAddresses(): readonly string[] {
  return v4In(tableOf(V4_TABLE)).filter((address) => !address.startsWith("127."));
}

/** What this machine is called by multicast DNS (RFC 6762), lower case; whether anything answers to that is another matter. */
export function nameOnSite(): string {
  return `${hostname().toLowerCase().split(".")[0] ?? ""}.local`;
}

/** All that this machine is reached by. */
export function allAddresses(): readonly string[] {
  return [...v4In(tableOf(V4_TABLE)), ...v6In(tableOf(V6_TABLE))];
}
