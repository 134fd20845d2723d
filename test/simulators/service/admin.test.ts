import { fork } from "node:child_process";
import { once } from "node:events";
import { gzipSync } from "node:zlib";
import mqtt from "mqtt";
import { describe, expect, it } from "vitest";
import { drifted } from "../../../simulators/service/faults/drift.ts";
import { oracle } from "../../../simulators/service/admin/oracle.ts";
import { openDb } from "../../../simulators/service/storage/open.ts";
import { claim, type Running, startBench } from "./service-http.ts";
import { batchOf, script } from "./service-log.ts";
import { prepareService } from "./service-kills.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const JSON_TYPE = { "content-type": "application/json" };
const CHILD = new URL("./service-child.ts", import.meta.url);

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

describe("a service that is killed at a planned instant", () => {
  it.each([
    ["before", 0],
    ["after", 4],
  ])("%s the commit of a batch has so many records: %i", async (when, count) => {
    const folder = temporaryFolder();
    prepareService(folder);
    const child = fork(CHILD, [folder], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    child.send("open");
    const [{ mqttUrl, adminUrl }] = (await once(child, "message")) as [{ mqttUrl: string; adminUrl: string }];
    expect(await plan(adminUrl, { topic: "up/batch", when, kill: true })).toBe(204);
    const auth = { clientId: "gw-1", username: "gw-1", password: "secret of gw-1", reconnectPeriod: 0 };
    const client = await mqtt.connectAsync(mqttUrl, auth);
    client.on("error", () => undefined);
    const dead = once(child, "exit");
    const batch = gzipSync(JSON.stringify(batchOf(script().stage("spray", 60_000).records())));
    client.publish("bg/v1/gw-1/up/batch", batch, { qos: 1 });
    expect(await dead).toEqual([null, "SIGKILL"]);
    await client.endAsync(true);
    const db = openDb(folder);
    expect(oracle(db)).toMatchObject([{ count, acked_seq: count }]);
    db.close();
  });
});
