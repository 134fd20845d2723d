import { describe, expect, it } from "vitest";
import { drifted } from "../../../simulators/service/faults/drift.ts";
import { claim, type Running, startBench } from "./service-http.ts";

const JSON_TYPE = { "content-type": "application/json" };

async function plan(adminUrl: string, fault: unknown): Promise<number> {
  const body = JSON.stringify(fault);
  return (await fetch(`${adminUrl}/fault`, { method: "POST", headers: JSON_TYPE, body })).status;
}

/** A service with its booth bound, stopped once the act is over. */
async function within(act: (bench: Running) => Promise<void>): Promise<void> {
  const bench = await startBench();
  try {
    await claim(bench);
    await act(bench);
  } finally {
    await bench.running.stop();
  }
}

describe("the admin port", () => {
  const paths = ["oracle", "outbox", "fault", "generation", "keys/revoke", "command"];

  it("is a port of its own: the public one knows none of its paths, with any key and below any prefix", () =>
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

  it("shows mails that went out", () =>
    within(async ({ call, running }) => {
      await call("POST", "/api/users", { body: { user_name: "Ann", email: "ann@example.com" } });
      const answer = (await (await fetch(`${running.adminUrl}/outbox`)).json()) as { mails: { to: string }[] };
      expect(answer.mails.map(({ to }) => to)).toEqual(["ann@example.com"]);
    }));
});

describe("a service that departs from its contract", () => {
  const path = "/api/booths/b1";
  const route = "GET /api/booths/:id";

  it.each([
    ["added", "surprise", { surprise: "drifted" }],
    ["removed", "name", { name: undefined }],
    ["renamed", "name", { name: undefined, name_2: "Booth ABCD1234" }],
    ["retyped", "total_runtime", { total_runtime: "0" }],
  ])("has a field %s, once", (kind, field, fields) =>
    within(async ({ call, running }) => {
      const { body: usual } = await call("GET", path);
      expect(await plan(running.adminUrl, { route, when: "after", drift: { kind, field } })).toBe(204);
      expect((await call("GET", path)).body).toEqual({ ...usual, ...fields });
      expect((await call("GET", path)).body).toEqual(usual);
    }),
  );

  it("has an endpoint gone, a success that is an error, a type it won't take, and a clock that is wrong", () =>
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

  it("drifts at any depth, and leaves its own data as they are", () => {
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
