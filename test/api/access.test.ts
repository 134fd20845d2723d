import { describe, expect, it } from "vitest";
import { refusalOf, type Knock } from "../../src/api/access.ts";
import { createDesk } from "../../src/api/desk.ts";
import { jsonOf } from "../../src/api/json-body.ts";
import { createRate } from "../../src/api/rate.ts";

const KNOCK: Knock = {
  way: "loopback",
  method: "GET",
  path: "/status",
  host: "127.0.0.1:8470",
  origin: undefined,
  fetch_site: undefined,
  has_session: false,
  is_page_file: false,
  own_names: () => new Set(["192.0.2.7", "booth-box", "booth-box.local"]),
};

describe("who may ask", () => {
  it.each<[string, Partial<Knock>, number | null]>([
    ["reads over loopback", {}, null],
    ["reads by the machine's loopback name, through a tunnel", { host: "localhost:9000" }, null],
    ["reads by IPv6 loopback", { host: "[::1]:8470" }, null],
    ["a foreign name that points here", { host: "evil.example:8470" }, 403],
    ["a name that only begins like ours", { host: "127.0.0.1.evil.example" }, 403],
    ["no name", { host: undefined }, 403],
    ["changes over loopback without a session", { method: "POST", path: "/confirm" }, 401],
    ["changes with a session", { method: "POST", path: "/confirm", has_session: true }, null],
    ["changes with a session, from another site", { method: "POST", has_session: true, origin: "http://evil" }, 403],
    ["changes from a page without origin", { method: "POST", has_session: true, origin: "null" }, 403],
    ["changes from our own page", { method: "POST", has_session: true, origin: "http://127.0.0.1:8470" }, null],
    ["another port of this machine", { origin: "http://127.0.0.1:8080" }, 403],
    ["fetched by another site", { fetch_site: "cross-site" }, 403],
    ["a link on another site", { path: "/", fetch_site: "cross-site", is_page_file: true }, null],
    ["the PIN", { method: "POST", path: "/api/authenticate" }, null],
    ["the box's own name on loopback: not served there", { host: "booth-box" }, 403],
    ["reads on the network", { way: "lan", host: "192.0.2.7:8443" }, 401],
    ["reads on the network with a session", { way: "lan", host: "192.0.2.7:8443", has_session: true }, null],
    ["the page on the network", { way: "lan", host: "booth-box.local:8443", path: "/", is_page_file: true }, null],
    ["the page by plain HTTP's origin", { way: "lan", host: "192.0.2.7:8443", origin: "http://192.0.2.7:8443" }, 403],
    ["another's name on the network", { way: "lan", host: "router.local", is_page_file: true }, 403],
    ["figures on the network", { way: "lan", host: "192.0.2.7", path: "/metrics" }, 401],
    ["health on the network", { way: "lan", host: "192.0.2.7", path: "/healthz" }, null],
    ["anything over the socket", { way: "socket", host: undefined, method: "POST" }, null],
  ])("%s", (_, knock, status) => {
    expect(refusalOf({ ...KNOCK, ...knock })?.status ?? null).toBe(status);
  });
});

describe("the PIN", () => {
  it("is new each time, opens sessions as long as it holds, and nothing is open without one", () => {
    let now = 0;
    const desk = createDesk(() => now);
    expect(desk.enter("0000 0000")).toEqual({ kind: "closed" });
    const pin = desk.open(60_000);
    expect(pin).toMatch(/^\d{4} \d{4}$/);
    const entry = desk.enter(pin.replace(" ", ""));
    if (entry.kind !== "open") throw new Error(entry.kind);
    expect(desk.holds(entry.token)).toBe(true);
    expect(desk.holds(`${entry.token}x`)).toBe(false);
    expect(desk.holds(undefined)).toBe(false);
    now = 59_999;
    expect(desk.holds(entry.token)).toBe(true);
    now = 60_000;
    expect(desk.holds(entry.token)).toBe(false);
    expect(desk.enter(pin)).toEqual({ kind: "closed" });
    expect(new Set(Array.from({ length: 50 }, () => desk.open(1))).size).toBe(50);
  });

  it("locks after five wrong ones, for five minutes, for the right one too; a new PIN lifts the lock", () => {
    let now = 0;
    const desk = createDesk(() => now);
    const pin = desk.open(3_600_000);
    const wrong = pin === "0000 0000" ? "1111 1111" : "0000 0000";
    const tries = [1, 2, 3, 4, 5].map(() => desk.enter(wrong).kind);
    expect(tries).toEqual(["wrong", "wrong", "wrong", "wrong", "locked"]);
    expect(desk.enter(pin).kind).toBe("locked");
    now = 299_999;
    expect(desk.enter(pin).kind).toBe("locked");
    now = 300_000;
    expect(desk.enter(pin).kind).toBe("open");
    for (let i = 0; i < 5; i += 1) desk.enter(wrong);
    expect(desk.enter(desk.open(60_000)).kind).toBe("open");
  });

  it("keeps sixteen sessions; the oldest goes", () => {
    const desk = createDesk(() => 0);
    const pin = desk.open(60_000);
    const tokens = Array.from({ length: 17 }, () => desk.enter(pin)).map((entry) =>
      entry.kind === "open" ? entry.token : "",
    );
    expect(tokens.map((token) => desk.holds(token))).toEqual([false, ...Array.from({ length: 16 }, () => true)]);
    desk.close();
    expect(tokens.some((token) => desk.holds(token))).toBe(false);
  });
});

it("an address may ask so much at once, and so much for ever, whatever others do", () => {
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
  ["no JSON", "{"],
  ["a key into JavaScript's own objects", '{"__proto__":{"a":1}}'],
  ["the same further in", '{"a":[{"constructor":{}}]}'],
  ["deeper than anything of ours", `${"[".repeat(17)}${"]".repeat(17)}`],
  ["deep enough for a stack to end", "[".repeat(8_000)],
])("a body that is %s is none", (_, text) => {
  expect(jsonOf(text)).toBeUndefined();
});
