import { describe, expect, it } from "vitest";
import { drifted } from "../../../simulators/service/faults/drift.ts";
import { claim, type Running, startBench } from "./service-http.ts";

const JSON_TYPE = { "content-type": "application/json" };

async function plan(adminUrl: string, fault: unknown): Promise<number> {
  const body = JSON.stringify(fault);
  return (await fetch(`${adminUrl}/fault`, { method: "POST", headers: JSON_TYPE, body })).status;
}

/** Runs `act` with a service whose booth is bound, and stops the service. */
async function within(act: (bench: Running) => Promise<void>): Promise<void> {
  const bench = await startBench();
  try {
    await claim(bench);
    await act(bench);
  } finally {
    await bench.running.stop();
  }
}

describe("the service's admin port", () => {
  const paths = ["oracle", "outbox", "fault", "generation", "keys/revoke", "command"];

  it("serves paths that the public port does not have, whatever key and prefix a request has", () =>
    within(async ({ call, running }) => {
      expect(new URL(running.adminUrl).port).not.toBe(new URL(running.url).port);
      for (const path of paths.flatMap((one) => [`/${one}`, `/api/${one}`, `/admin/${one}`])) {
        for (const method of ["GET", "POST", "DELETE"]) {
          expect((await call(method, path, { key: null })).status).toBe(401);
          const found = await call(method, path, method === "POST" ? { body: {} } : {});
          expect([path, found.status, found.body]).toEqual([path, 404, { error: "no such path" }]);
        }
      }
      expect((await fetch(`${running.adminUrl}/api/booths`)).status).toBe(404);
    }));

  it("shows all sent e-mails", () =>
    within(async ({ call, running }) => {
      await call("POST", "/api/users", { body: { user_name: "Ann", email: "ann@example.com" } });
      const answer = (await (await fetch(`${running.adminUrl}/outbox`)).json()) as { mails: { to: string }[] };
      expect(answer.mails.map(({ to }) => to)).toEqual(["ann@example.com"]);
    }));
});

describe("a service with planned faults", () => {
  const path = "/api/booths/b1";
  const route = "GET /api/booths/:id";

  it.each([
    ["added", "surprise", { surprise: "drifted" }],
    ["removed", "name", { name: undefined }],
    ["renamed", "name", { name: undefined, name_2: "Booth ABCD1234" }],
    ["retyped", "total_runtime", { total_runtime: "0" }],
  ])("sends one answer in which a field is %s", (kind, field, fields) =>
    within(async ({ call, running }) => {
      const { body: usual } = await call("GET", path);
      expect(await plan(running.adminUrl, { route, when: "after", drift: { kind, field } })).toBe(204);
      expect((await call("GET", path)).body).toEqual({ ...usual, ...fields });
      expect((await call("GET", path)).body).toEqual(usual);
    }),
  );

  it("answers with a planned status or a wrong date", () =>
    within(async ({ call, running, clock }) => {
      for (const status of [410, 200, 415]) {
        await plan(running.adminUrl, { route, status });
        const found = await call("GET", path);
        expect([found.status, found.body]).toEqual([status, { error: "planned fault" }]);
      }
      await plan(running.adminUrl, { route, date_skew_ms: 7_200_000 });
      const found = await call("GET", path);
      expect(found.status).toBe(200);
      expect(Date.parse(found.headers.get("date") ?? "")).toBe(clock.now + 7_200_000);
    }));

  it("applies a fault as often as planned, before or after the request is executed", () =>
    within(async ({ call, running }) => {
      const list = (): ReturnType<typeof call> => call("GET", "/api/booths");
      const planned = (fault: object): Promise<number> =>
        plan(running.adminUrl, { route: "GET /api/booths", ...fault });
      expect(await planned({ times: 0 })).toBe(400);
      await planned({ status: 429, retry_after: "7", times: 2 });
      const struck = await list();
      expect([struck.status, struck.headers.get("retry-after")]).toEqual([429, "7"]);
      expect([(await list()).status, (await list()).status]).toEqual([429, 200]);
      await planned({ truncate: true, when: "after" });
      await expect(list()).rejects.toThrow();
      const body = { name: "carried out" };
      await planned({ route: "POST /api/accounts", reset: true, when: "after" });
      await expect(call("POST", "/api/accounts", { body })).rejects.toThrow();
      expect((await call("GET", "/api/accounts")).text).toContain(body.name);
    }));

  it("changes a field at any depth of an answer, but not the service's own data", () => {
    const body = { data: [{ id: 1, more: { id: null } }], page: 1 };
    expect(drifted(body, { kind: "retyped", field: "id" })).toEqual({ data: [{ id: "1", more: { id: 0 } }], page: 1 });
    expect(drifted(body, { kind: "removed", field: "data" })).toEqual({ page: 1 });
    expect(drifted(body, { kind: "added", field: "x" })).toEqual({
      data: [{ id: 1, more: { id: null, x: "drifted" }, x: "drifted" }],
      page: 1,
      x: "drifted",
    });
    expect(body).toEqual({ data: [{ id: 1, more: { id: null } }], page: 1 });
  });
});
