import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sendDueMails, makeNotifications } from "../../../simulators/service/events/notify.ts";
import { ingestBatch } from "../../../simulators/service/ingest/store.ts";
import { outbox } from "../../../simulators/service/accounts/mail.ts";
import { claim, type Running, signedIn, startBench } from "./service-http.ts";
import { batchOf, HOUR, MINUTE, PARAMETERS, script, type Script } from "./service-log.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

/** Midnight in Chicago after the Monday on which the log starts. */
const TUESDAY = Date.UTC(2026, 2, 3, 6);

type Body = Record<string, unknown>;

describe("event definitions", () => {
  let bench: Running;
  let user = "";
  let bearer = "";
  beforeEach(async () => {
    bench = await startBench();
    await claim(bench);
    ({ id: user, bearer } = await signedIn(bench));
  });
  afterEach(() => bench.running.stop());

  const feed = (log: Script, s0 = 1, from = 0): number => {
    const records = log.records().filter(({ mono }) => mono >= from);
    for (let i = 0; i < records.length; i += 500) {
      const batch = batchOf(records.slice(i, i + 500), { s0: s0 + i });
      ingestBatch(bench.running.db, { gatewayId: "gw-1", nowMs: bench.clock.now }, batch);
    }
    return s0 + records.length;
  };
  const define = async (more: Body): Promise<string> => {
    const body = { name: "door", rules: [{ tag: "door_open", op: "==", value: true }], user_ids: [user], ...more };
    const made = await bench.call("POST", "/api/event_definitions", { body });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return String(made.body["id"]);
  };
  /** Most tests pass a key that the user made, because the bearer's session has ended by then. */
  const notifications = async (key = bearer): Promise<Body[]> =>
    (await bench.call("GET", "/api/notifications?limit=-1", { key })).body["data"] as Body[];
  const keyOfUser = async (): Promise<string> => {
    await bench.call("PUT", `/api/users/${user}`, { body: { role: "admin" } });
    const made = await bench.call("POST", "/api/api_keys", { key: bearer, body: { name: "mine", scope: "user" } });
    return String(made.body["key"]);
  };
  const parameters = {
    ...PARAMETERS,
    tags: {
      ...PARAMETERS.tags,
      door_open: { bay: 0, unit: "", factor: 1, group: "fast", deadband: 0, heartbeat_ms: 900_000 },
    },
  };
  const door = (): Script => script(parameters).set("mode", 3).set("door_open", false);
  const open = (log: Script, ms: number): Script => log.set("door_open", true).wait(ms).set("door_open", false);

  it("match if the condition holds for min_duration without a gap, and are reported after the local day ends", async () => {
    const key = await keyOfUser();
    await define({ min_duration: 5, description: "left open" });
    const log = door().wait(HOUR);
    open(log, 4 * MINUTE).wait(HOUR);
    open(log, 5 * MINUTE).wait(HOUR);
    log
      .set("door_open", true)
      .wait(3 * MINUTE)
      .silence(MINUTE)
      .wait(3 * MINUTE)
      .set("door_open", false)
      .wait(MINUTE);
    log
      .set("door_open", true)
      .wait(3 * MINUTE)
      .silence(15_000)
      .wait(2 * MINUTE)
      .set("door_open", false)
      .wait(MINUTE);
    feed(log);
    bench.clock.now = TUESDAY + 10 * MINUTE - 1;
    expect(await notifications(key)).toEqual([]);
    bench.clock.now = TUESDAY + 10 * MINUTE;
    const [told, ...more] = await notifications(key);
    expect(more).toEqual([]);
    expect(told).toMatchObject({
      user_id: user,
      definition_name: "door",
      definition_description: "left open",
      booth_count: 1,
      event_count: 2,
      period_start: "2026-03-02 06:00:00",
      period_end: "2026-03-03 06:00:00",
      seen_in_app: false,
      email_sent_at: null,
      created_at: "2026-03-03 06:10:00Z",
    });
    const detail = await bench.call("GET", `/api/notifications/${String(told?.["id"])}/detail`, { key });
    expect(detail.body["events"]).toEqual([
      {
        booth_id: "b1",
        booth_name: "Booth ABCD1234",
        start: "2026-03-02 16:04:00Z",
        end: "2026-03-02 16:09:00Z",
        duration: 5,
      },
      {
        booth_id: "b1",
        booth_name: "Booth ABCD1234",
        start: "2026-03-02 17:17:00Z",
        end: "2026-03-02 17:22:15Z",
        duration: 5.25,
      },
    ]);
    expect(await notifications("admin")).toEqual([]);
  });

  it("are evaluated again when late data arrives, and still report each event once", async () => {
    const key = await keyOfUser();
    await define({});
    const log = door().wait(HOUR);
    const early = open(log, MINUTE).wait(HOUR).now();
    const next = feed(log);
    bench.clock.now = TUESDAY + HOUR;
    const [before] = await notifications(key);
    const { id } = before as { id: string };
    const seen = await bench.call("PATCH", `/api/notifications/${id}`, { key, body: { seen_in_app: true } });
    expect(seen.body).toMatchObject({ id, event_count: 1, seen_in_app: true });
    bench.clock.now += HOUR;
    open(log.silence(1000), MINUTE).wait(MINUTE);
    feed(log, next, early);
    feed(log, next, early);
    const after = await notifications(key);
    expect(after).toEqual([{ ...seen.body, event_count: 2, updated_at: "2026-03-03 08:00:00Z" }]);
  });

  it("for aggregates match periods whose figures fulfill the rules, but never periods without data", async () => {
    const key = await keyOfUser();
    const rules = [
      { tag: "spray_minutes", op: "<", value: 20 },
      { tag: "utilization_pct", op: ">", value: 0 },
    ];
    await define({ event_type: "aggregate", rules, name: "little" });
    await define({
      event_type: "aggregate",
      evaluation_period: "weekly",
      rules: [{ tag: "spray_minutes", op: ">=", value: 40 }],
      name: "week",
    });
    const log = script()
      .stage("spray", 10 * MINUTE)
      .stage("idle", DAY_MS - 10 * MINUTE);
    log
      .stage("spray", 20 * MINUTE)
      .stage("idle", DAY_MS - 20 * MINUTE)
      .stage("spray", 10 * MINUTE)
      .stage("idle", HOUR);
    feed(log);
    bench.clock.now = TUESDAY + 5 * DAY_MS;
    expect(
      (await notifications(key)).map((one) => [one["definition_name"], one["period_start"], one["event_count"]]),
    ).toEqual([
      ["little", "2026-03-04 06:00:00", 1],
      ["little", "2026-03-02 06:00:00", 1],
    ]);
    // Sunday 2026-03-08 has 23 hours in Chicago: the week ends at 05:00 UTC.
    bench.clock.now = Date.UTC(2026, 2, 9, 5, 10);
    const week = (await notifications(key)).filter((one) => one["definition_name"] === "week");
    expect(week).toMatchObject([
      { period_start: "2026-03-02 06:00:00", period_end: "2026-03-09 05:00:00", event_count: 1 },
    ]);
    const figure = { name: "x", event_type: "aggregate", rules: [{ tag: "door_open", op: "==", value: 1 }] };
    expect((await bench.call("POST", "/api/event_definitions", { body: figure })).status).toBe(400);
  });

  it("send one e-mail at the configured time of day (UTC)", async () => {
    const { db } = bench.running;
    await define({ send_email: true, send_notification_at: "13:30:00", name: "door\r\nBcc: x" });
    feed(open(door().wait(HOUR), MINUTE).wait(HOUR));
    const key = await keyOfUser();
    const round = async (now: number): Promise<number> => {
      bench.clock.now = now;
      await notifications(key);
      makeNotifications(db, now);
      sendDueMails(db, now);
      return outbox(db).filter(({ id }) => id.startsWith("notification-")).length;
    };
    const due = Date.UTC(2026, 2, 3, 13, 30);
    expect(await round(TUESDAY + HOUR)).toBe(0);
    expect(await round(due - 1)).toBe(0);
    expect(await round(due)).toBe(1);
    expect(await round(due + DAY_MS)).toBe(1);
    expect(outbox(db).at(-1)).toMatchObject({ to: "ann@example.com" });
    expect(outbox(db).at(-1)?.text).toContain("Booth ABCD1234: 1 event");
    expect(await notifications(key)).toMatchObject([{ email_sent_at: "2026-03-03 13:30:00Z" }]);
    const shown = await fetch(`${bench.running.adminUrl}/outbox`).then((answer) => answer.json());
    expect(shown).toMatchObject({ mails: [{ subject: "Invitation" }, { to: "ann@example.com" }] });
  });

  it("apply changed rules only to later data, and keep their notifications even after the definition is deleted", async () => {
    const key = await keyOfUser();
    const id = await define({});
    const log = open(door().wait(HOUR), MINUTE).wait(DAY_MS);
    const early = open(log, MINUTE).wait(MINUTE).now();
    const next = feed(log);
    bench.clock.now = TUESDAY + 12 * HOUR;
    expect(await notifications(key)).toHaveLength(1);
    const rules = [{ tag: "door_open", op: "==", value: "never" }];
    const changed = await bench.call("PUT", `/api/event_definitions/${id}`, { body: { rules } });
    expect(changed.body).toMatchObject({ rules, name: "door", updated_at: "2026-03-03 18:00:00Z", user_ids: [user] });
    feed(open(log.silence(1000), MINUTE).wait(MINUTE), next, early);
    bench.clock.now += 2 * DAY_MS;
    expect(await notifications(key)).toMatchObject([{ event_count: 1, period_start: "2026-03-02 06:00:00" }]);
    expect((await bench.call("DELETE", `/api/event_definitions/${id}`)).status).toBe(204);
    expect(await notifications(key)).toMatchObject([{ event_count: 1, definition_name: "door" }]);
    const all = await bench.call("POST", "/api/notifications/mark_all_as_read", { key });
    expect(all.body).toEqual({ updated: 1 });
    expect((await bench.call("POST", "/api/notifications/mark_all_as_read", { key })).body).toEqual({ updated: 0 });
  });

  it("are rejected if they have ids of another account or impossible values", async () => {
    const rules = [{ tag: "t", op: "==", value: 1 }];
    const bad: Body[] = [
      { rules },
      { name: "x", rules: [] },
      { name: "x", rules: [{ tag: "t", op: "=~", value: 1 }] },
      { name: "x", rules, booth_ids: ["b2"] },
      { name: "x", rules, user_ids: ["nobody"] },
      { name: "x", rules, category: "Else" },
      { name: "x", rules, send_notification_at: "25:00:00" },
      { name: "x", rules, min_duration: -1 },
      { name: "x", rules, evaluation_period: "hourly" },
    ];
    for (const body of bad) {
      expect((await bench.call("POST", "/api/event_definitions", { body })).status, JSON.stringify(body)).toBe(400);
    }
  });
});
