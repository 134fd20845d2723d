import { describe, expect, it } from "vitest";
import { startBench } from "./service-http.ts";

describe("the service at its plain level (only fields observed in the real service)", () => {
  it("has no record of a booth until the first POST, and sends only observed fields", async () => {
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

it("a strict service at the plain level accepts a booth's record once, and rejects fields never observed in the real service", async () => {
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
