import { networkInterfaces } from "node:os";
import { expect, it } from "vitest";
import { allAddresses, typedAddresses, v4In, v6In } from "../../src/tools/own-addresses.ts";

it("allAddresses and typedAddresses return the machine's addresses that Node.js knows", () => {
  const known = Object.values(networkInterfaces()).flatMap((entries = []) => entries);
  expect(allAddresses()).toEqual(expect.arrayContaining(known.map(({ address }) => address)));
  const typed = known.filter(({ family, internal }) => family === "IPv4" && !internal).map(({ address }) => address);
  expect(typedAddresses()).toEqual(expect.arrayContaining(typed));
  expect(typedAddresses().filter((address) => address.startsWith("127."))).toEqual([]);
});

it("v4In and v6In return each address once, IPv6 in its shortest form, but no network or broadcast address", () => {
  const trie = [
    "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 192.0.2.0\n        /24 link UNICAST\n     |-- 192.0.2.7\n        /32 host LOCAL\n",
    "Local:\n     |-- 192.0.2.7\n        /32 host LOCAL\n     |-- 192.0.2.255\n        /32 link BROADCAST\n",
  ];
  expect(v4In(trie.join(""))).toEqual(["192.0.2.7"]);
  expect(
    v6In("00000000000000000000000000000001 01 80 10 80       lo\nfe80000000000000025056fffe000001 02 40 20 80 eth0\n"),
  ).toEqual(["::1", "fe80::250:56ff:fe00:1"]);
  expect([v4In(""), v6In("")]).toEqual([[], []]);
});
