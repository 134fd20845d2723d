import { describe, expect, it } from "vitest";
import { ownSubnets } from "../../../src/tools/rules/subnets.ts";

const HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";

/** As the kernel prints one: the lowest byte first. */
const hex = (address: string): string =>
  address
    .split(".")
    .toReversed()
    .map((part) => Number(part).toString(16).padStart(2, "0").toUpperCase())
    .join("");
const route = (iface: string, network: string, [mask, gateway = "0.0.0.0"]: readonly [string, string?]): string =>
  [iface, hex(network), hex(gateway), "0001", "0", "0", "0", hex(mask), "0", "0", "0"].join("\t");
describe("ownSubnets", () => {
  it("returns the addresses of directly connected networks, without the gateway's own addresses", () => {
    const text = `${HEAD}${route("eth0", "0.0.0.0", ["0.0.0.0", "192.168.1.1"])}\n${route("eth0", "192.168.1.0", ["255.255.255.0"])}\n${route("eth1", "10.0.0.8", ["255.255.255.248"])}\n`;
    const [first, second, ...others] = ownSubnets(text, ["192.168.1.20", "10.0.0.9", "127.0.0.1"]);
    expect(others).toEqual([]);
    expect(first?.cidr).toBe("192.168.1.0/24");
    expect([first?.hosts.length, first?.hosts[0], first?.hosts.at(-1)]).toEqual([253, "192.168.1.1", "192.168.1.254"]);
    expect(first?.hosts).not.toContain("192.168.1.20");
    expect(second).toEqual({
      cidr: "10.0.0.8/29",
      hosts: ["10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.14"],
    });
  });

  it("returns only the /24 around the gateway in a large network, and at most 1,024 addresses in total", () => {
    const large = `${HEAD}${route("eth0", "10.0.0.0", ["255.0.0.0"])}\n`;
    expect(ownSubnets(large, ["10.7.8.9"]).map(({ cidr, hosts }) => [cidr, hosts.length])).toEqual([
      ["10.7.8.0/24", 253],
    ]);
    const many = Array.from({ length: 9 }, (_, i) => route(`eth${i}`, `192.168.${i}.0`, ["255.255.255.0"]));
    const found = ownSubnets(`${HEAD}${many.join("\n")}\n`, []);
    expect(found.flatMap(({ hosts }) => hosts)).toHaveLength(1_024);
    expect(new Set(found.flatMap(({ hosts }) => hosts)).size).toBe(1_024);
  });

  it.each([
    ["an empty routing table", ""],
    ["the loopback network", `${HEAD}${route("lo", "127.0.0.0", ["255.0.0.0"])}\n`],
    ["a link-local network", `${HEAD}${route("eth0", "169.254.0.0", ["255.255.0.0"])}\n`],
    ["a point-to-point link", `${HEAD}${route("tun0", "10.9.9.1", ["255.255.255.255"])}\n`],
    ["a network behind a router", `${HEAD}${route("eth0", "172.16.0.0", ["255.255.0.0", "192.168.1.1"])}\n`],
    ["a truncated line", `${HEAD}eth0\t0001A8C0`],
  ])("returns no addresses for %s", (_, text) => {
    expect(ownSubnets(text, ["169.254.3.4"])).toEqual([]);
  });
});
