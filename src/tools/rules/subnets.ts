/** This module finds the box's networks in the kernel's tables, and the addresses to search in them. Pure. */

/** The maximum number of addresses in a search. In a larger network, only the 256 addresses around the box's own address are searched. */
const MOST_HOSTS = 1_024;
const SMALL_PREFIX = 22;
const ROUND_OWN_PREFIX = 24;
const LINK_LOCAL = toNumber("169.254.0.0");

export interface Subnet {
  /** The network in CIDR notation, such as 192.0.2.0/24. */
  readonly cidr: string;
  /** The addresses in order, without the network address, the broadcast address and the box's own address. */
  readonly hosts: readonly string[];
}

/**
 * Returns the box's networks, with at most 1,024 addresses to search.
 * @param route the content of /proc/net/route
 * @param own the box's addresses
 */
export function ownSubnets(route: string, own: readonly string[]): readonly Subnet[] {
  const numbers = own.map(toNumber);
  const networks = route
    .split("\n")
    .slice(1)
    .flatMap((line) => connected(line.split(/\s+/)));
  const found: Subnet[] = [];
  let remaining = MOST_HOSTS;
  for (const { network, prefix } of networks) {
    const here = numbers.filter((address) => within(address, network, prefix));
    const part = prefix >= SMALL_PREFIX ? { network, prefix } : roundOwn(here[0]);
    if (part === null || found.some(({ cidr }) => cidr === text(part))) continue;
    const hosts = hostsOf(part, here).slice(0, remaining);
    remaining -= hosts.length;
    if (hosts.length > 0) found.push({ cidr: text(part), hosts });
  }
  return found;
}

interface Part {
  readonly network: number;
  readonly prefix: number;
}

/**
 * Parses a row (Iface, destination, gateway, flags, ..., mask). Returns only a network without a gateway, to which the box is connected
 * directly.
 */
function connected(fields: readonly string[]): readonly Part[] {
  const [iface = "", destination = "", gateway = "", , , , , mask = ""] = fields;
  if (iface === "lo" || destination === "" || mask === "" || Number.parseInt(gateway, 16) !== 0) return [];
  const network = little(destination);
  const prefix = little(mask).toString(2).replaceAll("0", "").length;
  return prefix === 0 || prefix > 30 || network === LINK_LOCAL ? [] : [{ network, prefix }];
}

function roundOwn(own: number | undefined): Part | null {
  return own === undefined ? null : { network: (own & ~0xff) >>> 0, prefix: ROUND_OWN_PREFIX };
}

function hostsOf({ network, prefix }: Part, own: readonly number[]): readonly string[] {
  const size = 2 ** (32 - prefix);
  const all = Array.from({ length: size - 2 }, (_, i) => network + i + 1);
  return all.filter((address) => !own.includes(address)).map(toText);
}

function within(address: number, network: number, prefix: number): boolean {
  return address >= network && address < network + 2 ** (32 - prefix);
}

function text({ network, prefix }: Part): string {
  return `${toText(network)}/${prefix}`;
}

/** Parses a hexadecimal number of the kernel, lowest byte first. */
function little(hex: string): number {
  return (hex.match(/../g) ?? []).reduceRight((sum, byte) => sum * 256 + Number.parseInt(byte, 16), 0);
}

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function toText(address: number): string {
  return [24, 16, 8, 0].map((bits) => String((address >>> bits) & 0xff)).join(".");
}
