import { describe, expect, it, onTestFinished } from "vitest";
import { changesIn, startControl } from "../../../simulators/plc/control.ts";
import { modbusDriver } from "../../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../../src/acquisition/modbus/wire.ts";
import { failure, never, readGroup } from "../../acquisition/driver-calls.ts";
import { plcSite } from "../../cli/plc-site.ts";

describe("the control interface of the PLC simulator", () => {
  it("changes the misbehavior settings over HTTP, with effect from the next request on", async () => {
    const { plc, profile } = await plcSite();
    const control = await startControl(plc, 0);
    onTestFinished(() => control.close());
    const url = `http://127.0.0.1:${control.port}`;
    const post = async (body: unknown) => fetch(`${url}/manners`, { method: "POST", body: JSON.stringify(body) });
    const driver = modbusDriver({ line: modbusLine({ host: "127.0.0.1", port: plc.port }), profile });
    onTestFinished(() => driver.close());
    await driver.open(never);
    await readGroup(driver, "fast");
    expect((await post({ exception: 6 })).status).toBe(200);
    expect((await failure(readGroup(driver, "fast"))).kind).toBe("busy");
    const counts = (await (await fetch(`${url}/counts`)).json()) as { requests: number; exceptions: number };
    expect(counts).toMatchObject({ requests: plc.counts.requests, exceptions: 1 });
    await fetch(`${url}/manners`, { method: "DELETE" });
    const again = modbusDriver({ line: modbusLine({ host: "127.0.0.1", port: plc.port }), profile });
    onTestFinished(() => again.close());
    await again.open(never);
    expect((await readGroup(again, "fast")).every(({ quality }) => quality === "good")).toBe(true);
    const refused = await post({ max_connections: 1, exception: "six" });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('exception can\'t be \\"six\\"');
    expect(plc.manners.max_connections).toBe(Infinity);
  });

  it.each([
    ['{"max_connections":null}', { max_connections: Infinity }],
    ['{"idle_close_ms":3000,"min_gap_ms":50}', { idle_close_ms: 3000, min_gap_ms: 50 }],
    ['{"late_answers":true}', { late_answers: true }],
    ['{"identification_bytes":null}', { identification_bytes: null }],
    [
      '{"bad_ranges":[{"table":"coil","first":1,"last":2,"code":2}]}',
      { bad_ranges: [{ table: "coil", first: 1, last: 2, code: 2 }] },
    ],
  ])("accepts the settings %s", (text, changes) => {
    expect(changesIn(text)).toEqual(changes);
  });

  it.each([
    ["[]", "send an object of manners"],
    ['{"lateness":1}', "lateness is none of max_connections, drop_answers"],
    ['{"min_gap_ms":null}', "min_gap_ms can't be null"],
    ['{"drop_answers":1}', "drop_answers can't be 1"],
    ['{"bad_ranges":[{"table":"desk","first":1,"last":2,"code":2}]}', "bad_ranges can't be"],
  ])("rejects the settings %s with the message: %s", (text, message) => {
    expect(() => changesIn(text)).toThrow(message);
  });
});
