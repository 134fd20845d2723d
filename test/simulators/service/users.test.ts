import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashOf } from "../../../simulators/service/accounts/keys.ts";
import { rows } from "../../../simulators/service/storage/db.ts";
import { outbox } from "../../../simulators/service/accounts/mail.ts";
import { lastToken, type Reply, type Running, startBench } from "./service-http.ts";
import { tablesOf } from "./store-under-test.ts";
import { HOUR } from "./service-log.ts";

const PASSWORD = "long enough to be one";
const WEEK = 7 * 24 * HOUR;

describe("users of the reference service", () => {
  let bench: Running;
  let people = 0;
  beforeAll(async () => void (bench = await startBench()));
  afterAll(() => bench.running.stop());

  const invited = async (): Promise<{ id: string; email: string; token: string }> => {
    const email = `user${(people += 1)}@example.com`;
    const made = await bench.call("POST", "/api/users", { body: { user_name: "Ann", email } });
    expect(made.status).toBe(201);
    return { id: String(made.body["id"]), email, token: lastToken(bench) };
  };
  const change = (body: Record<string, unknown>, key = "admin"): Promise<Reply> =>
    bench.call("POST", "/api/users/change_password", { body, key });
  const verify = async (token: string): Promise<number> =>
    (await bench.call("POST", "/api/login/verify", { body: { token } })).status;
  const signIn = (email: string, password: string): Promise<Reply> =>
    bench.call("POST", "/api/authenticate", { body: { email, password } });
  const bearerOf = (reply: Reply): string => `Bearer ${String(reply.body["session_token"])}`;

  it("get a sign-up link that works only once, even for two simultaneous requests", async () => {
    const { token, email } = await invited();
    const passwords = [PASSWORD, `${PASSWORD} too`];
    const answers = await Promise.all(passwords.map((new_password) => change({ token, new_password })));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 401]);
    const opened = await Promise.all(passwords.map(async (password) => (await signIn(email, password)).status));
    expect(opened).toEqual(answers.map(({ status }) => (status === 204 ? 200 : 401)));
    expect(await verify(token)).toBe(401);
    expect((await change({ token, new_password: PASSWORD })).status).toBe(401);
  });

  it("get a sign-up link that expires after a week, after another invitation, or once a password is set", async () => {
    const user = await invited();
    const path = `/api/users/${user.id}/resend_invitation`;
    expect((await bench.call("POST", path)).status).toBe(204);
    const second = lastToken(bench);
    expect([second === user.token, await verify(user.token), await verify(second)]).toEqual([false, 401, 200]);
    bench.clock.now += WEEK - 1;
    expect(await verify(second)).toBe(200);
    bench.clock.now += 1;
    expect(await verify(second)).toBe(401);
    expect((await change({ token: second, new_password: PASSWORD })).status).toBe(401);
    expect((await bench.call("POST", path, { key: "user" })).status).toBe(403);
    expect((await bench.call("POST", "/api/users/none/resend_invitation")).status).toBe(404);
  });

  it("can have their invitation changed until they accept the invitation", async () => {
    const user = await invited();
    const path = `/api/users/${user.id}/update_invitation`;
    const email = `other${people}@example.com`;
    const changed = await bench.call("PUT", path, { body: { email, user_name: "Anna" } });
    expect(changed.body).toMatchObject({ id: user.id, email, user_name: "Anna" });
    expect(outbox(bench.running.db).at(-1)?.to).toBe(email);
    expect(await verify(user.token)).toBe(401);
    expect((await change({ token: lastToken(bench), new_password: PASSWORD })).status).toBe(204);
    expect((await bench.call("PUT", path, { body: { user_name: "Late" } })).status).toBe(409);
  });

  it("can change their password if they give the present one, which ends all of their sessions", async () => {
    const { token, email } = await invited();
    await change({ token, new_password: PASSWORD });
    const one = bearerOf(await signIn(email, PASSWORD));
    const two = bearerOf(await signIn(email, PASSWORD));
    const wanted = "another that is long enough";
    expect((await change({ current_password: "wrong", new_password: wanted }, one)).status).toBe(401);
    expect((await change({ current_password: PASSWORD, new_password: "short" }, one)).status).toBe(400);
    expect((await change({ current_password: PASSWORD, new_password: wanted }, "user")).status).toBe(400);
    expect((await change({ current_password: PASSWORD, new_password: wanted }, one)).status).toBe(204);
    for (const key of [one, two]) expect((await bench.call("GET", "/api/users", { key })).status).toBe(401);
    expect((await signIn(email, PASSWORD)).status).toBe(401);
    const session = await signIn(email.toUpperCase(), wanted);
    expect(session.status).toBe(200);
    bench.clock.now += 2 * HOUR;
    expect((await bench.call("GET", "/api/users", { key: bearerOf(session) })).status).toBe(401);
  });

  it("without a password get the same sign-in answer as unknown users, and keep their e-mail address reserved", async () => {
    const { email } = await invited();
    const pending = await signIn(email, PASSWORD);
    const nobody = await signIn("nobody@example.com", PASSWORD);
    expect([pending.status, pending.body]).toEqual([nobody.status, nobody.body]);
    expect(nobody.status).toBe(401);
    const body = { user_name: "Again", email: email.toUpperCase() };
    expect((await bench.call("POST", "/api/users", { body })).status).toBe(409);
  });

  it("leave no secret in plain text in the database", async () => {
    const { token, email } = await invited();
    await change({ token, new_password: PASSWORD });
    const opened = await signIn(email, PASSWORD);
    const { db } = bench.running;
    const made = await bench.call("POST", "/api/api_keys", { key: "admin", body: { name: "k", scope: "user" } });
    const secrets = [token, PASSWORD, String(opened.body["session_token"]), String(made.body["key"])];
    const dump = tablesOf(db)
      .map((name) => JSON.stringify(rows(db, `SELECT * FROM "${name}"`)))
      .join("\n");
    for (const secret of secrets) expect(dump).not.toContain(secret);
    expect(dump).toContain(hashOf(token));
  });

  it("do not delay other requests while their password is hashed", async () => {
    const { token, email } = await invited();
    await change({ token, new_password: PASSWORD });
    const done: string[] = [];
    const slow = Promise.all(Array.from({ length: 12 }, () => signIn(email, PASSWORD))).then(() =>
      done.push("sign-ins"),
    );
    await bench.call("GET", "/api/users").then(() => done.push("list"));
    await slow;
    expect(done).toEqual(["list", "sign-ins"]);
  });
});
