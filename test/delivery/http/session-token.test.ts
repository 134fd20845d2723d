import { expect, it, onTestFinished } from "vitest";
import { row, run } from "../../../simulators/service/storage/db.ts";
import { seedSite } from "../../../simulators/service/accounts/seed.ts";
import { startService } from "../../../simulators/service/start.ts";
import { createHttpClient, type HttpClient, type HttpRequest } from "../../../src/delivery/http/client.ts";
import { withSessionTokens } from "../../../src/delivery/http/session-token.ts";
import { PROVISION_KEY, SERIAL } from "../../support/virtual-service.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

const RECORD = `/api/booths_provisioning/${SERIAL}`;

/** Starts the reference service and records the requests with their Authorization. */
async function bed() {
  const clock = { now: Date.UTC(2026, 2, 2, 15) };
  const service = await startService({ dataDir: ":memory:", port: 0, mqttPort: 0, clock: { wall: () => clock.now } });
  onTestFinished(() => service.stop());
  seedSite(service.db, { serial: SERIAL, provisionKey: PROVISION_KEY, now: clock.now });
  const real = createHttpClient({ baseUrl: service.url });
  const sent: HttpRequest[] = [];
  const tap: HttpClient = {
    send: (request) => {
      sent.push(request);
      return real.send(request);
    },
    close: () => real.close(),
  };
  const http = withSessionTokens(tap);
  onTestFinished(() => http.close());
  const read = async (key = PROVISION_KEY): Promise<number> =>
    (await http.send({ method: "GET", path: RECORD, key })).status;
  const sessions = (): number => row<{ n: number }>(service.db, "SELECT count(*) AS n FROM sessions")?.n ?? -1;
  return { clock, service, sent, read, sessions };
}

it("a single session token serves all requests, even concurrent ones, and the API key is sent only to get the token", async () => {
  const { sent, read, sessions } = await bed();
  expect(await Promise.all([read(), read(), read()])).toEqual([200, 200, 200]);
  expect(await read()).toBe(200);
  expect(sessions()).toBe(1);
  const withKey = sent.filter(({ key }) => key === PROVISION_KEY);
  expect(withKey.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /api/authenticate"]);
  expect(sent.filter(({ key }) => key.startsWith("Bearer "))).toHaveLength(4);
});

it("an expired session token is renewed once, and the request is repeated", async () => {
  const { clock, sent, read } = await bed();
  expect(await read()).toBe(200);
  clock.now += 2 * HOUR_MS;
  expect(await read()).toBe(200);
  // The request is refused with the old token, signs in, and is sent again.
  expect(sent).toHaveLength(5);
});

it("a request with a revoked key fails with 401 after one sign-in attempt, and succeeds again with a valid key", async () => {
  const { service, sent, read } = await bed();
  expect(await read()).toBe(200);
  run(service.db, "UPDATE api_keys SET revoked_at = 1");
  const before = sent.length;
  expect(await read()).toBe(401);
  expect(sent.slice(before).map(({ path }) => path)).toEqual([RECORD, "/api/authenticate"]);
  run(service.db, "UPDATE api_keys SET revoked_at = NULL");
  expect(await read()).toBe(200);
  expect(await read("nobody's key")).toBe(401);
});

it("a failed sign-in fails the request, and a missing sign-in route is not reported as an unknown serial number", async () => {
  const { service, sent, read } = await bed();
  const route = "POST /api/authenticate";
  service.faults.add({ route, status: 503 });
  expect(await read()).toBe(503);
  service.faults.add({ route, status: 404 });
  await expect(read()).rejects.toThrow("no session token is given (/api/authenticate: 404)");
  service.faults.add({ route, when: "after", truncate: true });
  await expect(read()).rejects.toThrow();
  expect(sent.every(({ path }) => path === "/api/authenticate")).toBe(true);
  expect(await read()).toBe(200);
});
