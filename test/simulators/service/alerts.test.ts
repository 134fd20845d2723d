import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claim, feed, type Running, startBench } from "./service-http.ts";
import { EPOCH, HOUR, MINUTE, PARAMETERS, script, type Script } from "./service-log.ts";

type Body = Record<string, unknown>;
const plain = { bay: 0, unit: "", factor: 1, group: "fast", deadband: 0, heartbeat_ms: 900_000 };
const starts = { ...plain, counter: { step: 1, max_rate_per_h: 1000, retained: true } };
const parameters = {
  ...PARAMETERS,
  tags: { ...PARAMETERS.tags, door_open: plain, pressure: plain, limit: plain, starts },
};

describe("alerts", () => {
  let bench: Running;
  beforeEach(async () => {
    bench = await startBench();
    await claim(bench);
  });
  afterEach(() => bench.running.stop());

  const put = async (body: Body) => bench.call("PUT", "/api/alert_types", { body: { name: "a", ...body } });
  /** Alerts as [start, end, value], oldest first; start and end in minutes after the log's start. */
  const alerts = async (query = ""): Promise<unknown[]> => {
    const { body } = await bench.call("GET", `/api/alerts?sort=started_at${query}`);
    const minute = (text: unknown) => (Date.parse(String(text).replace(" ", "T")) - EPOCH) / MINUTE;
    return (body["data"] as Body[]).map((one) => [
      minute(one["started_at"]),
      one["ended_at"] === null ? null : minute(one["ended_at"]),
      one["value"],
    ]);
  };
  const begun = (): Script => script(parameters).set("mode", 3);

  it("based on a tag (types tag and time) last while the tag is true, and stay open until the tag turns false", async () => {
    await put({ type: "tag", base_tag: "door_open" });
    await put({ name: "long", type: "time", base_tag: "door_open", threshold: 10 });
    const log = begun()
      .set("door_open", false)
      .wait(HOUR)
      .set("door_open", true)
      .wait(10 * MINUTE);
    log
      .set("door_open", false)
      .wait(MINUTE)
      .set("door_open", true)
      .wait(11 * MINUTE);
    feed(bench, log);
    expect(await alerts("&filter=name:eq:a")).toEqual([
      [60, 70, 1],
      [71, null, 1],
    ]);
    expect(await alerts("&filter=name:eq:long")).toEqual([[81, null, 10]]);
    const history = await bench.call("GET", "/api/booths/b1/alert_history?limit=1&page=2");
    expect(history.body).toMatchObject({ page: 2, limit: 1, pages: 3, total: 3 });
    expect(Object.keys((history.body["data"] as Body[])[0] ?? {})).toEqual([
      "id",
      "booth_id",
      "alert_type_id",
      "name",
      "started_at",
      "ended_at",
      "value",
    ]);
  });

  it("compare two tags (tag_threshold), or check a tag's value or a counter's rise (value_threshold)", async () => {
    await put({ name: "ratio", type: "tag_threshold", base_tag: "pressure", extra_tag: "limit", threshold: 0.5 });
    await put({ name: "value", type: "value_threshold", base_tag: "pressure", threshold: 60 });
    await put({ name: "starts", type: "value_threshold", base_tag: "starts", threshold: 3, condition_over: 10 });
    const log = begun()
      .set("pressure", 49)
      .set("limit", 100)
      .set("starts", 10)
      .wait(10 * MINUTE);
    log
      .set("pressure", 50)
      .set("starts", 11)
      .wait(5 * MINUTE)
      .set("limit", 200)
      .set("starts", 12)
      .wait(3 * MINUTE);
    log
      .set("starts", 13)
      .wait(MINUTE)
      .set("pressure", 60)
      .wait(20 * MINUTE)
      .set("pressure", 1)
      .wait(HOUR);
    feed(bench, log);
    expect(await alerts("&filter=name:eq:ratio")).toEqual([[10, 15, 50]]);
    expect(await alerts("&filter=name:eq:value")).toEqual([[19, 39, 60]]);
    // Three starts between 10 and 18; the first of them leaves the ten minutes at 20.
    expect(await alerts("&filter=name:eq:starts")).toEqual([[18, 20, 3]]);
  });

  it("end when their alert type changes, and the changed type applies only to later data", async () => {
    const { body } = await put({ type: "tag", base_tag: "door_open" });
    feed(bench, begun().set("door_open", true).wait(HOUR));
    expect(await alerts()).toEqual([[0, null, 1]]);
    expect((await put({ id: body["id"], enabled: false })).body).toEqual({ ...body, enabled: false });
    expect(await alerts()).toEqual([[0, 60, 1]]);
  });

  it("can't be defined with missing or impossible fields", async () => {
    const full = await put({ type: "tag", base_tag: "x", severity: "high", nonsense: 1 });
    expect(full.body).toEqual({
      id: expect.any(String) as string,
      name: "a",
      type: "tag",
      base_tag: "x",
      extra_tag: null,
      threshold: null,
      condition_over: null,
      category: null,
      severity: "high",
      enabled: true,
    });
    expect((await put({ id: "none", type: "tag", base_tag: "x" })).status).toBe(404);
    for (const bad of [{ type: "tag" }, { type: "x", base_tag: "x" }, { type: "time", base_tag: "x" }]) {
      expect((await put(bad)).status).toBe(400);
    }
    expect((await put({ type: "tag_threshold", base_tag: "x", threshold: 1 })).status).toBe(400);
    expect((await bench.call("GET", "/api/alert_types")).body).toMatchObject({ total: 1 });
  });
});

describe("the service's outbox", () => {
  it("is a folder of e-mail files that only the owner can read", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "outbox-"));
    const bench = await startBench({ dataDir });
    const body = { user_name: "Änn", email: "ann@example.com" };
    expect((await bench.call("POST", "/api/users", { body })).status).toBe(201);
    const folder = join(dataDir, "outbox");
    const [file = "", ...more] = readdirSync(folder);
    expect(more).toEqual([]);
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    const text = readFileSync(join(folder, file), "utf8");
    expect(text).toMatch(/^To: ann@example\.com\r\nSubject: Invitation\r$/m);
    expect(text).toMatch(/\/owner\/#token=[\w-]{43}\r\n/);
    await bench.running.stop();
    rmSync(dataDir, { recursive: true });
  });
});
