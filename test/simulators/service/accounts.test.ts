import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { outbox } from "../../../simulators/service/mail.ts";
import { startBench } from "../../support/service-http.ts";
import type { Running } from "../../support/service-http.ts";

const tokenOf = (text = ""): string => /token=(\S+)/.exec(text)?.[1] ?? "";

describe("an account's own things", () => {
  let bench: Running;
  beforeAll(async () => void (bench = await startBench()));
  afterAll(() => bench.running.stop());

  const ask = async (method: string, path: string, { key, body }: { key?: string; body?: unknown } = {}) => {
    const headers: Record<string, string> = { ...(key === undefined ? {} : { authorization: key }) };
    if (body !== undefined) headers["content-type"] = "application/json";
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const answer = await fetch(bench.running.url + path, init);
    const text = await answer.text();
    const isJson = answer.headers.get("content-type")?.startsWith("application/json") === true && text !== "";
    return { status: answer.status, body: (isJson ? JSON.parse(text) : {}) as Record<string, unknown>, text };
  };

  it("takes, changes and gives back what it is given", async () => {
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

  it("guards the default region and regions in use", async () => {
    const [key, path] = ["admin", "/api/accounts/acc-demo-body-shop/regions"];
    expect((await ask("DELETE", `${path}/reg-demo-body-shop`, { key })).status).toBe(409);
    const { body } = await ask("POST", path, { key, body: { name: "West" } });
    expect(Object.keys(body)).toEqual(["id", "name", "is_default", "booth_count", "facility_count"]);
    expect((await ask("DELETE", `${path}/${String(body["id"])}`, { key })).status).toBe(204);
  });

  it("shows a key once, and it works until it is deleted", async () => {
    const { body } = await ask("POST", "/api/api_keys", { key: "admin", body: { name: "k", scope: "user" } });
    const secret = String(body["key"]);
    expect((await ask("GET", "/api/booths", { key: secret })).status).toBe(200);
    expect((await ask("GET", "/api/api_keys", { key: "admin" })).text).not.toContain(secret);
    expect((await ask("DELETE", `/api/api_keys/${String(body["id"])}`, { key: "admin" })).status).toBe(204);
    expect((await ask("GET", "/api/booths", { key: secret })).status).toBe(401);
  });

  it("invites a user, whose link sets a password once", async () => {
    const key = "admin";
    const user = await ask("POST", "/api/users", { key, body: { user_name: "Ann", email: "ann@example.com" } });
    expect(user.status).toBe(201);
    const first = tokenOf(outbox(bench.running.db).at(-1)?.text);
    expect((await ask("POST", `/api/users/${String(user.body["id"])}/resend_invitation`, { key })).status).toBe(204);
    const token = tokenOf(outbox(bench.running.db).at(-1)?.text);
    expect((await ask("POST", "/api/login/verify", { key, body: { token: first } })).status).toBe(401);
    const verified = await ask("POST", "/api/login/verify", { key, body: { token } });
    expect(verified.body).toEqual({ user_id: user.body["id"], user_name: "Ann" });
    const body = { token, new_password: "long enough to be one" };
    expect((await ask("POST", "/api/users/change_password", { key, body })).status).toBe(204);
    expect((await ask("POST", "/api/users/change_password", { key, body })).status).toBe(401);
    const login = { email: "Ann@example.com", password: body.new_password };
    const session = await ask("POST", "/api/authenticate", { key, body: login });
    const bearer = `Bearer ${String(session.body["session_token"])}`;
    expect((await ask("GET", "/api/users", { key: bearer })).status).toBe(200);
    expect((await ask("POST", "/api/users", { key: bearer, body: {} })).status).toBe(403);
    expect((await ask("POST", "/api/authenticate", { key, body: { ...login, password: "wrong" } })).status).toBe(401);
  });
});
