import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { lastToken, type Running, startBench } from "./service-http.ts";

describe("the account endpoints of the reference service", () => {
  let bench: Running;
  beforeAll(async () => void (bench = await startBench()));
  afterAll(() => bench.running.stop());

  const ask: Running["call"] = (...asked) => bench.call(...asked);

  it("create, change, list and filter resources", async () => {
    const key = "admin";
    const refused = await ask("POST", "/api/facilities", { key, body: { name: "East" } });
    expect(refused.status).toBe(400);
    expect((await ask("POST", "/api/facilities", { key, body: { name: "East", tz: "Mars/One" } })).status).toBe(400);
    const made = await ask("POST", "/api/facilities", { key, body: { name: "East", tz: "America/Denver", city: "X" } });
    expect([made.status, made.body["city"], made.body["tz"]]).toEqual([201, "X", "America/Denver"]);
    const found = await ask("GET", "/api/facilities?filter=city:eq:X&sort=-name&limit=1", { key });
    expect(found.body).toMatchObject({ page: 1, limit: 1, pages: 1, total: 1 });
    expect((await ask("GET", "/api/facilities?filter=nothing:eq:X", { key })).status).toBe(400);
    expect((await ask("GET", "/api/facilities?format=csv", { key })).text).toContain("America/Denver");
    const booth = await ask("PUT", "/api/booths/b1", { key, body: { width: 14, firmware_version: "9" } });
    expect(booth.body).toMatchObject({ width: "14", firmware_version: null });
  });

  it("give a parent account access to its sub-accounts, but no sub-account access to its parent", async () => {
    const key = "admin";
    const made = await ask("POST", "/api/accounts", { key, body: { name: "A new customer" } });
    const path = `/api/accounts/${String(made.body["id"])}`;
    expect((await ask("GET", "/api/accounts", { key })).body).toMatchObject({ total: 2 });
    expect((await ask("GET", "/api/accounts/entities_summary", { key })).body).toMatchObject({ accounts: 2 });
    expect((await ask("PUT", path, { key, body: { customer_type: "shop" } })).body).toMatchObject({
      customer_type: "shop",
    });
    expect((await ask("POST", `${path}/regions`, { key, body: { name: "West" } })).status).toBe(201);
    const body = { name: "theirs", scope: "admin", account_id: made.body["id"] };
    const theirs = String((await ask("POST", "/api/api_keys", { key, body })).body["key"]);
    expect((await ask("POST", "/api/facilities", { key: theirs, body: { name: "East", tz: "UTC" } })).status).toBe(201);
    expect((await ask("GET", "/api/accounts", { key: theirs })).body).toMatchObject({ total: 1 });
    const above = "/api/accounts/acc-demo-body-shop";
    expect((await ask("GET", above, { key: theirs })).status).toBe(404);
    expect(
      (await ask("POST", "/api/api_keys", { key: theirs, body: { ...body, account_id: "acc-demo-body-shop" } })).status,
    ).toBe(404);
  });

  it("reject a facility list request with an impossible time window", async () => {
    for (const query of [
      "start=yesterday",
      "start=2026-03-02&end=2026-03-01T00:00:00Z",
      "start=1970-01-01T00:00:00Z",
    ]) {
      expect([query, (await ask("GET", `/api/facilities?${query}`, { key: "admin" })).status]).toEqual([query, 400]);
    }
  });

  it("reject even the right password for 15 min after ten wrong passwords", async () => {
    const { clock } = bench;
    const created = await ask("POST", "/api/users", {
      key: "admin",
      body: { user_name: "Eve", email: "eve@example.com" },
    });
    expect(created.status).toBe(201);
    const token = lastToken(bench);
    const password = "a long password";
    const set = { key: "admin", body: { token, new_password: password } };
    expect((await ask("POST", "/api/users/change_password", set)).status).toBe(204);
    const signIn = async (given: string): Promise<number> =>
      (await ask("POST", "/api/authenticate", { key: "user", body: { email: "eve@example.com", password: given } }))
        .status;
    for (let i = 0; i < 10; i += 1) expect(await signIn(`guess ${i}`)).toBe(401);
    expect([await signIn("guess"), await signIn(password)]).toEqual([429, 429]);
    clock.now += 15 * 60_000;
    expect(await signIn(password)).toBe(200);
  });

  it("reject a body that is not UTF-8", async () => {
    const body = Buffer.concat([Buffer.from('{"name":"caf'), Buffer.from([0xe9]), Buffer.from('"}')]);
    const headers = { authorization: "admin", "content-type": "application/json" };
    const answer = await fetch(`${bench.running.url}/api/accounts`, { method: "POST", headers, body });
    expect([answer.status, await answer.json()]).toEqual([400, { error: "the body is not UTF-8" }]);
  });

  it("refuse to delete the default region, and delete an unused region", async () => {
    const key = "admin";
    const path = "/api/accounts/acc-demo-body-shop/regions";
    expect((await ask("DELETE", `${path}/reg-demo-body-shop`, { key })).status).toBe(409);
    const { body } = await ask("POST", path, { key, body: { name: "West" } });
    expect(Object.keys(body)).toEqual(["id", "name", "is_default", "booth_count", "facility_count"]);
    expect((await ask("DELETE", `${path}/${String(body["id"])}`, { key })).status).toBe(204);
  });

  it("show an API key only at its creation, and accept the key until it is deleted", async () => {
    const { body } = await ask("POST", "/api/api_keys", { key: "admin", body: { name: "k", scope: "user" } });
    const secret = String(body["key"]);
    expect((await ask("GET", "/api/booths", { key: secret })).status).toBe(200);
    expect((await ask("GET", "/api/api_keys", { key: "admin" })).text).not.toContain(secret);
    expect((await ask("DELETE", `/api/api_keys/${String(body["id"])}`, { key: "admin" })).status).toBe(204);
    expect((await ask("GET", "/api/booths", { key: secret })).status).toBe(401);
  });
});

it("the service answers 429 to an address that sent 100 wrong keys, except for a key that this address used before", async () => {
  const bench = await startBench();
  onTestFinished(() => bench.running.stop());
  const statusOf = async (key: string): Promise<number> => (await bench.call("GET", "/api/accounts", { key })).status;
  expect(await statusOf("admin")).toBe(200);
  const guesses: number[] = [];
  for (let i = 0; i < 110; i += 1) guesses.push(await statusOf(`guess ${i}`));
  expect([guesses.filter((one) => one === 401).length, guesses.at(-1)]).toEqual([100, 429]);
  // A right key that was not used from there gets 429 too; else the answer would tell it from a wrong guess.
  expect([await statusOf("user"), await statusOf("admin")]).toEqual([429, 200]);
});
