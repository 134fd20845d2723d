import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { hashingQueue } from "../../../simulators/service/http/hashing.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { type Reply, type Running, signedIn, startBench } from "./service-http.ts";
import { freshStore } from "./store-under-test.ts";

const MINUTE = 60_000;
const PASSWORD = "long enough to be one";

async function start(options: Parameters<typeof startBench>[0] = {}): Promise<Running> {
  const bench = await startBench(options);
  onTestFinished(() => bench.running.stop());
  return bench;
}

/** Sends a request through a proxy on loopback for a client at an address. */
function from(bench: Running, address: string) {
  const headers = { "x-forwarded-for": address };
  return {
    use: (key: string) => bench.call("GET", "/api/accounts", { key, headers }),
    signIn: (email: string, password: string) =>
      bench.call("POST", "/owner/session", { key: null, headers, body: { email, password } }),
  };
}

async function wrongKeys(use: (key: string) => Promise<Reply>, count: number): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < count; i += 1) found.push((await use(`wrong ${i}`)).status);
  return found;
}

const PROXY = { trustedProxies: ["127.0.0.0/8"] };

describe("the service's limit of wrong keys", () => {
  it("counts each client behind a trusted proxy by its own address", async () => {
    const bench = await start(PROXY);
    const attacker = from(bench, "203.0.113.7");
    const statuses = await wrongKeys(attacker.use, 105);
    expect([statuses.filter((one) => one === 401).length, statuses.at(-1)]).toEqual([100, 429]);
    const refused = await attacker.use("user");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("60");
    expect((await from(bench, "203.0.113.8").use("user")).status).toBe(200);
    bench.clock.now += MINUTE;
    expect((await attacker.use("wrong")).status).toBe(401);
  });

  it("does not believe a client's own X-Forwarded-For", async () => {
    const bench = await start();
    let nth = 0;
    const statuses = await wrongKeys((key) => from(bench, `203.0.113.${(nth += 1)}`).use(key), 105);
    expect(statuses.at(-1)).toBe(429);
    const behind = await start(PROXY);
    nth = 0;
    const forged = await wrongKeys((key) => from(behind, `198.51.100.${(nth += 1)}, 203.0.113.7`).use(key), 105);
    expect(forged.at(-1)).toBe(429);
  });

  it("counts all addresses of an IPv6 network as one client", async () => {
    const bench = await start(PROXY);
    let nth = 0;
    const statuses = await wrongKeys((key) => from(bench, `2001:db8:1:2::${(nth += 1)}`).use(key), 105);
    expect(statuses.at(-1)).toBe(429);
    expect((await from(bench, "2001:db8:1:3::1").use("user")).status).toBe(200);
  });

  it("holds in all processes of a store, and never blocks a key or session that was good before", async () => {
    const fresh = freshStore();
    const shared = { ...PROXY, dataDir: fresh === ":memory:" ? temporaryFolder() : fresh };
    const one = await start(shared);
    const other = await start(shared);
    const { bearer } = await signedIn(one);
    expect((await from(one, "192.0.2.1").use("user")).status).toBe(200);
    await wrongKeys(from(one, "203.0.113.7").use, 100);
    const there = from(other, "203.0.113.7");
    expect((await there.use("wrong")).status).toBe(429);
    const made = await other.call("POST", "/api/api_keys", { body: { name: "new", scope: "user" } });
    expect((await there.use(String(made.body["key"]))).status).toBe(429);
    expect([(await there.use("user")).status, (await there.use(bearer)).status]).toEqual([200, 200]);
  });
});

describe("the owner's page", () => {
  it("limits wrong passwords by network address, without locking out a known e-mail address", async () => {
    const bench = await start(PROXY);
    await signedIn(bench);
    const email = "ann@example.com";
    const stranger = from(bench, "203.0.113.7");
    const statuses: number[] = [];
    for (let i = 0; i < 11; i += 1) statuses.push((await stranger.signIn(email, `guess ${i}`)).status);
    expect([statuses.slice(0, 10).every((one) => one === 401), statuses.at(-1)]).toEqual([true, 429]);
    const refused = await stranger.signIn(email, PASSWORD);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, String(15 * 60)]);
    expect((await from(bench, "192.0.2.1").signIn(email, PASSWORD)).status).toBe(200);
    for (let i = 0; i < 20; i += 1) await stranger.signIn(`other${i}@example.com`, "guess");
    expect((await stranger.signIn("one.more@example.com", "guess")).status).toBe(429);
    expect((await from(bench, "192.0.2.1").signIn(email, PASSWORD)).status).toBe(200);
  });

  it("answers 503 with Retry-After if too many sign-ins wait, and other requests without delay", async () => {
    const bench = await start(PROXY);
    await signedIn(bench);
    const answers = Array.from({ length: 300 }, (_, nth) =>
      from(bench, `203.0.${nth >> 8}.${nth & 255}`).signIn("ann@example.com", "guess"),
    );
    const isFirst = await Promise.race([
      bench.call("GET", "/api/accounts").then(({ status }) => status === 200),
      Promise.all(answers).then(() => false),
    ]);
    const found = await Promise.all(answers);
    const refused = found.filter(({ status }) => status === 503);
    expect([isFirst, refused.length > 0, found.every(({ status }) => status === 401 || status === 503)]).toEqual([
      true,
      true,
      true,
    ]);
    expect(new Set(refused.map(({ headers }) => headers.get("retry-after")))).toEqual(new Set(["5"]));
    expect((await from(bench, "192.0.2.1").signIn("ann@example.com", PASSWORD)).status).toBe(200);
  });
});

describe("the queue of password hashes", () => {
  it("runs one at a time, continues after a failure, and rejects more than 20 of an address", async () => {
    const queue = hashingQueue();
    let running = 0;
    let most = 0;
    const work = async (): Promise<number> => {
      most = Math.max(most, (running += 1));
      await turn();
      return (running -= 1);
    };
    const failing = queue("a", () => Promise.reject(new Error("failed")));
    const done = Array.from({ length: 24 }, () => queue("a", work));
    const other = queue("b", work);
    await expect(failing).rejects.toThrow("failed");
    const settled = await Promise.allSettled([...done, other]);
    expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(5);
    expect(most).toBe(1);
    await expect(queue("a", work)).resolves.toBe(0);
  });
});

it("the service rejects a NUL in any text with 400, on a body, a query and a path", async () => {
  const bench = await start();
  const name = "a\0b";
  for (const body of [{ name }, { [name]: 1, name: "x" }, { name: "x", customer_type: name }])
    expect((await bench.call("POST", "/api/accounts", { body })).status).toBe(400);
  expect((await bench.call("POST", "/api/accounts", { body: { name: "a\\u0000b" } })).status).toBe(201);
  expect((await bench.call("GET", "/api/accounts?search=a%00b")).status).toBe(400);
  expect((await bench.call("GET", "/api/booths/b1%00")).status).toBe(400);
});

it("the service answers a method that a path doesn't have with 405 and Allow, and 401 without a key", async () => {
  const { call } = await start();
  const found = await call("DELETE", "/api/accounts");
  expect([found.status, found.headers.get("allow")]).toEqual([405, "GET, POST"]);
  expect(found.body["error"]).toBe("DELETE isn't allowed here, only GET, POST");
  expect((await call("PATCH", "/api/booths/b1")).headers.get("allow")).toBe("GET, PUT");
  expect((await call("PUT", "/api/booths/latest_updates")).headers.get("allow")).toBe("GET");
  expect((await call("POST", "/api/booths/b1/alert_history")).headers.get("allow")).toBe("GET");
  expect((await call("GET", "/api/users/change_password")).headers.get("allow")).toBe("POST");
  expect((await call("DELETE", "/api/accounts", { key: null })).status).toBe(401);
  expect((await call("GET", "/api/nothing")).status).toBe(404);
});
