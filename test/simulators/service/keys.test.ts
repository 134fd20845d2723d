import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../../../simulators/service/storage/db.ts";
import { claim, lastToken, type Reply, type Running, startBench } from "./service-http.ts";
import { HOUR } from "./service-log.ts";

const PASSWORD = "long enough to be one";

describe("API keys of the reference service", () => {
  let bench: Running;
  let people = 0;
  beforeAll(async () => void (bench = await startBench()));
  afterAll(() => bench.running.stop());

  const ask = (route: string, key: string, body?: unknown): Promise<Reply> => {
    const [method = "", path = ""] = route.split(" ");
    return bench.call(method, path, body === undefined ? { key } : { key, body });
  };
  const admin = async (user_name: string): Promise<{ readonly id: string; readonly bearer: string }> => {
    const email = `admin${(people += 1)}@example.com`;
    const { body } = await ask("POST /api/users", "admin", { user_name, email, role: "admin" });
    await ask("POST /api/users/change_password", "admin", { token: lastToken(bench), new_password: PASSWORD });
    const session = await ask("POST /api/authenticate", "admin", { email, password: PASSWORD });
    return { id: String(body["id"]), bearer: `Bearer ${String(session.body["session_token"])}` };
  };
  const made = async (key: string, more: Record<string, unknown> = {}): Promise<{ id: string; key: string }> => {
    const { status, body } = await ask("POST /api/api_keys", key, { name: "made", scope: "admin", ...more });
    expect(status).toBe(201);
    return { id: String(body["id"]), key: String(body["key"]) };
  };
  const listed = async (key: string): Promise<Record<string, unknown>[]> =>
    (await ask("GET /api/api_keys?limit=-1", key)).body["data"] as Record<string, unknown>[];

  it("lose the rights that their creator has lost, and regain them with the creator", async () => {
    const { id, bearer } = await admin("Ann");
    const adminKey = (await made(bearer)).key;
    const chained = (await made(adminKey)).key;
    const first = (await made(bearer, { scope: "provision" })).key;
    const opened = await ask("POST /api/authenticate", "admin", { api_key: adminKey });
    const session = `Bearer ${String(opened.body["session_token"])}`;
    const mayMakeUsers = async (key: string): Promise<number> => (await ask("POST /api/users", key, {})).status;
    const mayClaim = async (key: string): Promise<number> =>
      (await ask("POST /api/booths_provisioning", key, {})).status;
    const rights = async (): Promise<number[]> =>
      Promise.all([...[adminKey, chained, session].map(mayMakeUsers), mayClaim(first)]);
    expect(await rights()).toEqual([400, 400, 400, 400]);
    await ask(`PUT /api/users/${id}`, "admin", { role: "user" });
    expect(await rights()).toEqual([403, 403, 403, 403]);
    for (const key of [adminKey, chained, session, first]) expect((await ask("GET /api/booths", key)).status).toBe(200);
    await ask(`PUT /api/users/${id}`, "admin", { role: "admin" });
    expect(await rights()).toEqual([400, 400, 400, 400]);
  });

  it("do not show the PLC's passwords if their creator is a demoted admin", async () => {
    const { id, bearer } = await admin("Paul");
    const keys = [(await made(bearer)).key, (await made(bearer, { scope: "provision" })).key];
    run(bench.running.db, "UPDATE booths SET new_password = 'plc secret' WHERE id = 'b1'");
    const passwords = (): Promise<unknown[]> =>
      Promise.all(
        keys.map(async (key) => (await ask("GET /api/booths_provisioning/ABCD1234", key)).body["new_password"]),
      );
    expect(await passwords()).toEqual(["plc secret", "plc secret"]);
    await ask(`PUT /api/users/${id}`, "admin", { role: "user" });
    expect(await passwords()).toEqual([null, null]);
  });

  it("are listed with the name of the user or the key that made them", async () => {
    const { bearer } = await admin("Berta");
    const one = await made(bearer, { name: "by Berta" });
    const two = await made(one.key, { name: "by her key" });
    const three = await made("admin", { name: "by a seeded key" });
    const found = new Map((await listed("admin")).map((key) => [key["id"], key["created_by"]]));
    expect([one, two, three].map(({ id }) => found.get(id))).toEqual(["Berta", "Berta", "seeded admin"]);
  });

  it("can be listed and revoked by their account and by the parent account that made them, but not by others", async () => {
    const account = async (): Promise<string> =>
      String((await ask("POST /api/accounts", "admin", { name: "A shop" })).body["id"]);
    const [account_id, other_id] = [await account(), await account()];
    const theirs = await made("admin", { account_id });
    const second = await made("admin", { account_id });
    const stranger = await made("admin", { account_id: other_id });
    const own = await made(theirs.key, { name: "their own" });
    const ids = (await listed("admin")).filter((key) => key["account_id"] === account_id).map(({ id }) => id);
    expect(ids.sort()).toEqual([theirs.id, second.id].sort());
    expect((await listed(theirs.key)).map(({ id }) => id).sort()).toEqual([theirs.id, second.id, own.id].sort());
    expect((await ask(`DELETE /api/api_keys/${theirs.id}`, stranger.key)).status).toBe(404);
    expect((await ask(`DELETE /api/api_keys/${own.id}`, "admin")).status).toBe(404);
    expect((await ask(`DELETE /api/api_keys/${second.id}`, theirs.key)).status).toBe(204);
    expect((await ask(`DELETE /api/api_keys/${theirs.id}`, "admin")).status).toBe(204);
    expect((await ask("GET /api/accounts", theirs.key)).status).toBe(401);
  });

  it("never end in the past, and never after the key that makes them", async () => {
    const asked = (expires_at: string, key = "admin"): Promise<Reply> =>
      ask("POST /api/api_keys", key, { name: "k", scope: "admin", expires_at });
    const at = (ms: number): string => new Date(bench.clock.now + ms).toISOString();
    expect((await asked(at(-1000))).status).toBe(400);
    expect((await asked(at(0))).status).toBe(400);
    const hour = String((await asked(at(HOUR))).body["key"]);
    expect((await asked(at(2 * HOUR), hour)).status).toBe(400);
    const chained = await made(hour);
    bench.clock.now += 2 * HOUR;
    expect((await ask("GET /api/booths", chained.key)).status).toBe(401);
    bench.clock.now -= 2 * HOUR;
  });

  it("let a gateway see the passwords and change the fields only of booths that it holds", async () => {
    await claim(bench, "gw-1");
    const { db } = bench.running;
    run(db, "UPDATE booths SET old_password = 'old', new_password = 'plc secret' WHERE id = 'b1'");
    const sql = `INSERT INTO booths (id, account_id, facility_id, serial_number, name, new_password, config, created_at, updated_at)
      SELECT 'b2', account_id, facility_id, 'EFGH5678', 'Other', 'other secret', config, created_at, updated_at FROM booths WHERE id = 'b1'`;
    run(db, sql);
    const key = "secret of gw-1";
    const secretOf = async (serial: string): Promise<unknown> =>
      (await ask(`GET /api/booths_provisioning/${serial}`, key)).body["new_password"];
    expect([await secretOf("ABCD1234"), await secretOf("EFGH5678")]).toEqual(["plc secret", null]);
    expect((await ask("PUT /api/booths/b1", key, { width: 14 })).status).toBe(200);
    expect((await ask("PUT /api/booths/b2", key, { width: 15 })).status).toBe(403);
    expect((await ask("GET /api/booths/b2", "admin")).body["width"]).toBe(null);
    const gone = { status: "released", gateway_id: "gw-1", generation: 1 };
    expect((await ask("PUT /api/booths_provisioning/ABCD1234", key, gone)).status).toBe(200);
    expect(await secretOf("ABCD1234")).toBe(null);
    expect((await ask("PUT /api/booths/b1", key, { width: 16 })).status).toBe(403);
  });
});
