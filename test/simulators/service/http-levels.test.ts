import { describe, expect, it } from "vitest";
import { claim, startBench } from "./service-http.ts";

describe("the plain level", () => {
  it("knows no record before the first POST, and only observed fields", async () => {
    const bench = await startBench({ plain: true });
    const path = "/api/booths_provisioning/ABCD1234";
    expect((await bench.call("GET", path)).status).toBe(404);
    const made = await bench.call("POST", "/api/booths_provisioning", { body: { serial_number: "ABCD1234" } });
    expect(made.status).toBe(201);
    expect(made.body).not.toHaveProperty("generation");
    const done = await bench.call("PUT", path, { body: { completion_status: "COMPLETE" } });
    expect(done.body["completion_status"]).toBe("COMPLETE");
    await bench.running.stop();
  });
});

it("a strict service at the plain level takes a booth's record once, and no field that nobody observed", async () => {
  const bench = await startBench({ plain: "strict" });
  const route = "/api/booths_provisioning";
  const body = { serial_number: "ABCD1234" };
  const status = async (method: string, path: string, sent: Record<string, unknown>): Promise<number> =>
    (await bench.call(method, path, { body: sent })).status;
  expect(await status("POST", route, { ...body, stream_id: "s" })).toBe(422);
  expect(await status("POST", route, body)).toBe(201);
  expect(await status("POST", route, body)).toBe(409);
  expect(await status("PUT", `${route}/ABCD1234`, { completion_status: "COMPLETE", generation: 1 })).toBe(422);
  expect(await status("PUT", `${route}/ABCD1234`, { completion_status: "COMPLETE" })).toBe(200);
  await bench.running.stop();
});

describe("planned faults", () => {
  it("strike a route so often, before or after it was carried out", async () => {
    const bench = await startBench();
    const plan = (fault: unknown) =>
      fetch(`${bench.running.adminUrl}/fault`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(fault),
      });
    expect((await plan({ times: 0 })).status).toBe(400);
    await plan({ route: "GET /api/booths", status: 429, retry_after: "7", times: 2 });
    const struck = await bench.call("GET", "/api/booths");
    expect([struck.status, struck.headers.get("retry-after")]).toEqual([429, "7"]);
    expect((await bench.call("GET", "/api/booths")).status).toBe(429);
    expect((await bench.call("GET", "/api/booths")).status).toBe(200);
    await plan({ route: "GET /api/booths", truncate: true, when: "after" });
    await expect(bench.call("GET", "/api/booths")).rejects.toThrow();
    await plan({ route: "POST /api/booths_provisioning", reset: true, when: "after" });
    await expect(claim(bench)).rejects.toThrow();
    expect((await claim(bench)).status).toBe(200);
    await bench.running.stop();
  });
});
