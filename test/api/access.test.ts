import { describe, expect, it } from "vitest";
import { type Knock, refusalOf } from "../../src/api/access.ts";
import { createSessions, type Entry } from "../../src/api/sessions.ts";
import { bodyOf } from "../../src/api/answer.ts";
import { leastFor } from "../../src/api/handler.ts";
import { matchOf } from "../../src/api/operations.ts";
import { createRate, senderOf } from "../../src/api/crowd.ts";

interface Asked extends Omit<Knock, "least" | "is_front"> {
  readonly method: string;
  readonly path: string;
  readonly is_page_file: boolean;
}

const KNOCK: Asked = {
  channel: "loopback",
  method: "GET",
  path: "/status",
  host: "127.0.0.1:8470",
  origin: undefined,
  fetch_site: undefined,
  has_session: false,
  is_page_file: false,
  own_names: () => new Set(["192.0.2.7", "booth-box", "booth-box.local"]),
};

describe("access control of the local API", () => {
  it.each<[string, Partial<Asked>, number | null]>([
    ["allows a read over loopback", {}, null],
    ["allows a read through a tunnel that uses the name localhost", { host: "localhost:9000" }, null],
    ["allows a read over IPv6 loopback", { host: "[::1]:8470" }, null],
    ["rejects a foreign host name that resolves to this machine", { host: "evil.example:8470" }, 403],
    ["rejects a host name that only starts like the machine's address", { host: "127.0.0.1.evil.example" }, 403],
    ["rejects a request without a host name", { host: undefined }, 403],
    ["rejects a change over loopback without a session", { method: "POST", path: "/confirm" }, 401],
    ["allows a change with a session", { method: "POST", path: "/confirm", has_session: true }, null],
    [
      "rejects a change with a session if its origin is another site",
      { method: "POST", has_session: true, origin: "http://evil" },
      403,
    ],
    [
      "rejects a change with a session if its origin is null",
      { method: "POST", has_session: true, origin: "null" },
      403,
    ],
    [
      "allows a change with a session from the gateway's own page",
      { method: "POST", has_session: true, origin: "http://127.0.0.1:8470" },
      null,
    ],
    ["rejects an origin at another port of this machine", { origin: "http://127.0.0.1:8080" }, 403],
    ["rejects a read that another site sends", { fetch_site: "cross-site" }, 403],
    [
      "allows opening the page by a link on another site",
      { path: "/", fetch_site: "cross-site", is_page_file: true },
      null,
    ],
    ["allows signing in with the PIN without a session", { method: "POST", path: "/api/authenticate" }, null],
    ["rejects the gateway's network name on loopback", { host: "booth-box" }, 403],
    ["rejects a read from the network without a session", { channel: "lan", host: "192.0.2.7:8443" }, 401],
    [
      "allows a read from the network with a session",
      { channel: "lan", host: "192.0.2.7:8443", has_session: true },
      null,
    ],
    [
      "allows loading the page from the network",
      { channel: "lan", host: "booth-box.local:8443", path: "/", is_page_file: true },
      null,
    ],
    [
      "rejects an origin with plain HTTP on the network",
      { channel: "lan", host: "192.0.2.7:8443", origin: "http://192.0.2.7:8443" },
      403,
    ],
    [
      "rejects another machine's host name on the network",
      { channel: "lan", host: "router.local", is_page_file: true },
      403,
    ],
    [
      "rejects reading metrics from the network without a session",
      { channel: "lan", host: "192.0.2.7", path: "/metrics" },
      401,
    ],
    ["allows the health check from the network", { channel: "lan", host: "192.0.2.7", path: "/healthz" }, null],
    ...(
      [
        ["/metrics", null],
        ["/events", null],
        ["/api/booths", null],
        ["/api/booths/booth-1/duration_by_mode", null],
        ["/api/booths_provisioning/ABCD-1", null],
        ["/api/booths/booth-1/history", 401],
        ["/api/booths/booth-1/latest_values_for", 401],
        ["/api/booths/booth-1/latest_values_at", 401],
        ["/api/booths/booth-1/export_csv", 401],
        ["/api/booths/booth-1/explain", 401],
        ["/readings", 401],
        ["/log", 401],
        ["/support.json", 401],
        ["/booth_fields", 401],
        ["/what/comes/later", 401],
      ] as const
    ).flatMap(([path, status]): [string, Partial<Asked>, number | null][] => [
      [`${status === null ? "allows" : "rejects"} reading ${path} over loopback without a session`, { path }, status],
      [`allows reading ${path} over loopback with a session`, { path, has_session: true }, null],
    ]),
    ["allows a change over root's socket", { channel: "admin", host: undefined, method: "POST" }, null],
    ["allows a change over the agent's socket", { channel: "socket", host: undefined, method: "POST" }, null],
  ])("%s", (_, asked, status) => {
    const { method, path, is_page_file, ...knock } = { ...KNOCK, ...asked };
    const least = is_page_file ? "anyone" : leastFor(matchOf(method, path), method, path);
    expect(refusalOf({ ...knock, least, is_front: path === "/" })?.status ?? null).toBe(status);
  });
});

const ONE = { sender: "192.0.2.20", channel: "lan" } as const;
const OTHER = { sender: "192.0.2.21", channel: "lan" } as const;
const HERE = { sender: "127.0.0.1", channel: "loopback" } as const;

function wrongFor(pin: string): string {
  return pin === "0000 0000" ? "1111 1111" : "0000 0000";
}

function tokenOf(entry: Entry): string {
  if (entry.kind !== "open") throw new Error(entry.kind);
  return entry.token;
}

describe("the PIN of the gateway's page", () => {
  it("is different each time, and opens sessions only while it is valid", () => {
    let now = 0;
    const desk = createSessions(() => now);
    expect(desk.enter("0000 0000", ONE)).toEqual({ kind: "closed" });
    const pin = desk.open(60_000);
    expect(pin).toMatch(/^\d{4} \d{4}$/);
    const token = tokenOf(desk.enter(pin.replace(" ", ""), ONE));
    expect(desk.isOpen(token)).toBe(true);
    expect(desk.isOpen(`${token}x`)).toBe(false);
    expect(desk.isOpen(undefined)).toBe(false);
    now = 59_999;
    expect(desk.isOpen(token)).toBe(true);
    now = 60_000;
    expect(desk.isOpen(token)).toBe(false);
    expect(desk.enter(pin, ONE)).toEqual({ kind: "closed" });
    expect(new Set(Array.from({ length: 50 }, () => desk.open(1))).size).toBe(50);
  });

  it("is rejected from an address for five minutes after five wrong entries, unless a new PIN is created", () => {
    let now = 0;
    const desk = createSessions(() => now);
    const pin = desk.open(3_600_000);
    const wrong = wrongFor(pin);
    const tries = [1, 2, 3, 4, 5].map(() => desk.enter(wrong, ONE).kind);
    expect(tries).toEqual(["wrong", "wrong", "wrong", "wrong", "locked"]);
    expect(desk.enter(pin, ONE).kind).toBe("locked");
    now = 299_999;
    expect(desk.enter(pin, ONE).kind).toBe("locked");
    now = 300_000;
    expect(desk.enter(pin, ONE).kind).toBe("open");
    for (let i = 0; i < 5; i += 1) desk.enter(wrong, ONE);
    expect(desk.enter(desk.open(60_000), ONE).kind).toBe("open");
  });

  it("is still accepted from other addresses while one address is locked after wrong entries", () => {
    const desk = createSessions(() => 0);
    const pin = desk.open(3_600_000);
    for (let i = 0; i < 50; i += 1) desk.enter(wrongFor(pin), ONE);
    expect(desk.enter(pin, ONE).kind).toBe("locked");
    expect(desk.enter(pin, OTHER).kind).toBe("open");
    expect(desk.enter(pin, HERE).kind).toBe("open");
  });

  it("locks an address for twice as long after each further series of wrong entries", () => {
    let now = 0;
    const desk = createSessions(() => now);
    const wrong = wrongFor(desk.open(12 * 3_600_000));
    const locks = [1, 2, 3].map(() => {
      const last = [1, 2, 3, 4, 5].map(() => desk.enter(wrong, ONE)).at(-1);
      const for_ms = last?.kind === "locked" ? last.for_ms : 0;
      now += for_ms;
      return for_ms;
    });
    expect(locks).toEqual([300_000, 600_000, 1_200_000]);
  });

  it("is checked at most once a second while thousands of addresses guess it, but without delay on the gateway itself", () => {
    let now = 0;
    const desk = createSessions(() => now);
    const pin = desk.open(12 * 3_600_000);
    const wrong = wrongFor(pin);
    let looked_at = 0;
    for (let i = 0; i < 30_000; i += 1) {
      now += 10;
      if (desk.enter(wrong, { sender: `10.${i >> 8}.${i & 255}.1`, channel: "lan" }).kind !== "busy") looked_at += 1;
    }
    expect(looked_at).toBeLessThanOrEqual(300 + 120);
    expect(desk.enter(pin, HERE).kind).toBe("open");
    now += 1_000;
    expect(desk.enter(pin, OTHER).kind).toBe("open");
  });

  it("ends the sessions of the previous PIN when a new PIN replaces it", () => {
    const desk = createSessions(() => 0);
    const token = tokenOf(desk.enter(desk.open(60_000), ONE));
    const next = tokenOf(desk.enter(desk.open(60_000), ONE));
    expect([desk.isOpen(token), desk.isOpen(next)]).toEqual([false, true]);
  });

  it("allows sixteen sessions, and a further session ends the oldest one", () => {
    const desk = createSessions(() => 0);
    const pin = desk.open(60_000);
    const tokens = Array.from({ length: 17 }, () => tokenOf(desk.enter(pin, ONE)));
    expect(tokens.map((token) => desk.isOpen(token))).toEqual([false, ...Array.from({ length: 16 }, () => true)]);
    desk.close();
    expect(tokens.some((token) => desk.isOpen(token))).toBe(false);
  });
});

it.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  [undefined, ""],
])("senderOf counts the address %s as the sender %s", (address, sender) => {
  expect(senderOf(address)).toBe(sender);
});

it("the rate limit gives each address its own burst and its own rate", () => {
  let now = 0;
  const allow = createRate({ per_s: 2, burst: 3 }, () => now);
  const times = (address: string, count: number): number =>
    Array.from({ length: count }, () => allow(address)).filter(Boolean).length;
  expect(times("a", 10)).toBe(3);
  expect(times("b", 10)).toBe(3);
  now = 1_000;
  expect(times("a", 10)).toBe(2);
  now = 100_000;
  expect(times("a", 10)).toBe(3);
});

it.each([
  ["text that is not JSON", "{"],
  ["the key __proto__", '{"__proto__":{"a":1}}'],
  ["the key constructor in a nested object", '{"a":[{"constructor":{}}]}'],
  ["nesting deeper than any valid body", `${"[".repeat(17)}${"]".repeat(17)}`],
  ["nesting deep enough to overflow the stack", "[".repeat(8_000)],
])("bodyOf rejects a request body with %s", (_, text) => {
  expect(bodyOf(text)).toBeUndefined();
});
