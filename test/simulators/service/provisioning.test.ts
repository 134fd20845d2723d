import { describe, expect, it } from "vitest";
import { bumpGeneration, revokeKeys } from "../../../simulators/service/admin/actions.ts";
import { inTransaction, rows, run } from "../../../simulators/service/storage/db.ts";
import { HttpError } from "../../../simulators/service/base/errors.ts";
import { callerOfKey, hashOf } from "../../../simulators/service/accounts/keys.ts";
import { provision } from "../../../simulators/service/provisioning/provision.ts";
import { boothBySerial } from "../../../simulators/service/provisioning/rows.ts";
import { updateProvisioning } from "../../../simulators/service/provisioning/update.ts";
import type { Update } from "../../../simulators/service/provisioning/shapes.ts";
import { seedSite } from "../../../simulators/service/accounts/seed.ts";
import { bench, type Bench, boundBench, claimBody, EPOCH, HOUR, MINUTE } from "./service-log.ts";

interface Ask {
  readonly key?: string;
  readonly body?: unknown;
  readonly idem?: string;
  readonly now?: number;
}

const post = (at: Bench, ask: Ask = {}): { status: number; body: Record<string, unknown> } => {
  try {
    const idempotencyKey = ask.idem;
    const request = {
      caller: at.caller(ask.key ?? "prov"),
      body: ask.body ?? claimBody(),
      idempotencyKey,
      now: ask.now ?? EPOCH,
    };
    return provision(at.service, request) as { status: number; body: Record<string, unknown> };
  } catch (error) {
    if (error instanceof HttpError) return { status: error.status, body: { error: error.message } };
    throw error;
  }
};

const put = (at: Bench, body: Update, key = "prov"): number => {
  try {
    const booth = boothBySerial(at.db, "ABCD1234", "acc-demo-body-shop");
    if (booth === undefined) return 404;
    inTransaction(at.db, () => updateProvisioning({ db: at.db, caller: at.caller(key), now: EPOCH }, booth, body));
    return 200;
  } catch (error) {
    if (error instanceof HttpError) return error.status;
    throw error;
  }
};

describe("provisioning in the reference service", () => {
  it("binds a booth at generation 1 and returns its whole record", () => {
    const at = bench();
    const { status, body } = post(at, { body: claimBody("gw-1", { serial_number: " abcd1234 " }) });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      serial_number: "ABCD1234",
      completion_status: "IN PROGRESS",
      hw_configuration: "6-slot",
      status: "provisioned",
      generation: 1,
      booth_id: "b1",
      tz: "America/Chicago",
      gateway: { id: "gw-1", hardware_id: "hw", agent_version: "1.0.0", last_seen_at: "2026-03-02 14:00:00Z" },
      mqtt: { ws_url: null, client_id: "gw-1", username: "gw-1", topic_prefix: "bg/v1/gw-1" },
      config: { revision: 1, profile: "click-booth" },
    });
    expect(at.caller("secret of gw-1")).toMatchObject({ scope: "gateway", gateway_id: "gw-1" });
  });

  it("returns the same answer for a repeated Idempotency-Key, and 422 if the request differs", () => {
    const at = bench();
    const first = post(at, { idem: "k1" });
    expect(post(at, { idem: "k1", now: EPOCH + HOUR })).toEqual(first);
    expect(post(at, { idem: "k1", body: claimBody("gw-2") }).status).toBe(422);
    expect(post(at, { idem: "k2" })).toMatchObject({ status: 200, body: { generation: 1 } });
  });

  it("does not store a failed answer under an Idempotency-Key", () => {
    const at = bench();
    expect(post(at, { idem: "k", body: claimBody("gw-1", { serial_number: "NEW-1" }) }).status).toBe(404);
    seedSite(at.db, { serial: "NEW-1", now: EPOCH });
    expect(post(at, { idem: "k", body: claimBody("gw-1", { serial_number: "NEW-1" }) }).status).toBe(201);
  });

  it("rejects a claim with missing, unknown or conflicting fields", () => {
    const at = boundBench();
    expect(post(at, { body: {} }).status).toBe(400);
    expect(post(at, { body: claimBody("gw-1", { serial_number: "??" }) }).status).toBe(422);
    expect(post(at, { body: claimBody("gw-1", { serial_number: "ZZZZ9999" }) }).status).toBe(404);
    expect(post(at, { body: claimBody("gw-1", { intent: "grab" }) }).status).toBe(422);
    expect(post(at, { body: claimBody("gw-2") }).status).toBe(409);
    expect(post(at, { body: claimBody("gw-1", { expected_generation: 7 }) }).status).toBe(409);
    expect(post(at, { key: "secret of gw-1", body: claimBody("gw-2") }).status).toBe(403);
    expect(post(at, { body: claimBody("gw-1", { gateway: { id: "gw-1", credential_sha256: "short" } }) }).status).toBe(
      422,
    );
  });

  it("accepts exactly one of a hundred competing claims", () => {
    const at = bench();
    const statuses = Array.from(
      { length: 100 },
      (_, i) => post(at, { body: claimBody(`gw-${i}`), idem: `k${i}` }).status,
    );
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(99);
  });

  it("raises the generation at a take-over, which only an admin may do within 10 min after the holder was last seen", () => {
    const at = boundBench();
    const body = claimBody("gw-2", { intent: "take_over", expected_generation: 1 });
    expect(post(at, { body, now: EPOCH + 9 * MINUTE }).status).toBe(403);
    expect(post(at, { body, key: "admin", now: EPOCH + 9 * MINUTE })).toMatchObject({
      status: 200,
      body: { generation: 2, gateway: { id: "gw-2" } },
    });
    expect(
      post(at, { body: claimBody("gw-3", { intent: "take_over", expected_generation: 1 }), now: EPOCH + HOUR }).status,
    ).toBe(409);
    expect(
      post(at, { body: claimBody("gw-3", { intent: "take_over", expected_generation: 2 }), now: EPOCH + HOUR }).status,
    ).toBe(200);
    expect(rows(at.db, "SELECT action, generation FROM provisioning_audit ORDER BY id")).toEqual([
      { action: "claim", generation: 1 },
      { action: "take_over", generation: 2 },
      { action: "take_over", generation: 3 },
    ]);
  });

  it("marks a booth as complete, and rejects an update for another generation", () => {
    const at = boundBench();
    expect(put(at, { completion_status: "COMPLETE", gateway_id: "gw-1", generation: 1 }, "secret of gw-1")).toBe(200);
    expect(post(at).body).toMatchObject({ completion_status: "COMPLETE" });
    expect(put(at, { generation: 2 })).toBe(409);
    expect(put(at, { gateway_id: "gw-2" })).toBe(409);
    expect(bumpGeneration(at.db, "ABCD1234", EPOCH)).toBe(true);
    expect(put(at, { generation: 1 }, "secret of gw-1")).toBe(409);
  });

  it("ignores a device report that is older than the stored report", () => {
    const at = boundBench();
    put(at, { reported: { seq: 5, firmware_version: "2.0" } }, "secret of gw-1");
    put(at, { reported: { seq: 4, firmware_version: "1.0" } }, "secret of gw-1");
    expect(post(at).body).toMatchObject({ reported: { seq: 5, firmware_version: "2.0" } });
  });

  it("accepts a gateway's report after a first key's report with a huge seq, which must name the binding", () => {
    const at = boundBench();
    const huge = { seq: Number.MAX_SAFE_INTEGER, firmware_version: "false" };
    expect(put(at, { reported: huge })).toBe(422);
    expect(put(at, { reported: huge, gateway_id: "gw-1", generation: 1 })).toBe(200);
    expect(put(at, { reported: { seq: 2, firmware_version: "2.0" } }, "secret of gw-1")).toBe(200);
    expect(post(at).body).toMatchObject({ reported: { seq: 2, firmware_version: "2.0" } });
    const claimed = bench();
    post(claimed, { body: claimBody("gw-1", { reported: huge }) });
    put(claimed, { reported: { seq: 1, firmware_version: "2.0" } }, "secret of gw-1");
    expect(post(claimed).body).toMatchObject({ reported: { seq: 1, firmware_version: "2.0" } });
  });

  it("lets a first key change a gateway's credential only with the generation of a booth that the gateway holds", () => {
    const at = boundBench();
    seedSite(at.db, { serial: "FREE-1", now: EPOCH });
    const gateway = { id: "gw-1", credential_sha256: hashOf("stolen") };
    const statusOf = (more: Record<string, unknown>): number =>
      post(at, { body: claimBody("gw-1", { gateway, ...more }) }).status;
    const another = { serial_number: "FREE-1", stream_id: "another" };
    expect([statusOf({}), statusOf({ expected_generation: 0 }), statusOf({ expected_generation: 2 })]).toEqual([
      422, 422, 422,
    ]);
    expect([statusOf(another), statusOf({ ...another, expected_generation: 0 })]).toEqual([422, 422]);
    expect(callerOfKey(at.db, "stolen", EPOCH)).toBeUndefined();
    expect(callerOfKey(at.db, "secret of gw-1", EPOCH + HOUR)).toMatchObject({ gateway_id: "gw-1" });
    expect(statusOf({ expected_generation: 1 })).toBe(200);
    expect(callerOfKey(at.db, "stolen", EPOCH)).toMatchObject({ gateway_id: "gw-1" });
    expect(post(at).status).toBe(422);
  });

  it("accepts the old credential for a limited time after a key rotation", () => {
    const at = boundBench();
    expect(put(at, { credential_sha256: hashOf("new secret") }, "secret of gw-1")).toBe(200);
    expect(callerOfKey(at.db, "new secret", EPOCH)).toMatchObject({ gateway_id: "gw-1" });
    expect(callerOfKey(at.db, "secret of gw-1", EPOCH + MINUTE)).toBeDefined();
    expect(callerOfKey(at.db, "secret of gw-1", EPOCH + HOUR)).toBeUndefined();
  });

  it("revokes the gateway's key when its last booth is released, and raises the generation at the next claim", () => {
    const at = boundBench();
    expect(put(at, { status: "released", generation: 1 }, "secret of gw-1")).toBe(200);
    expect(put(at, { status: "released", generation: 1 }, "secret of gw-1")).toBe(200);
    expect(callerOfKey(at.db, "secret of gw-1", EPOCH + 2 * HOUR)).toBeUndefined();
    expect(post(at, { body: claimBody("gw-2", { expected_generation: 1 }) })).toMatchObject({
      status: 201,
      body: { generation: 2 },
    });
  });

  it("requires gateway and generation if a provisioning key ends a binding or changes a credential", () => {
    const at = boundBench();
    const released = { status: "released" } as const;
    for (const body of [released, { ...released, gateway_id: "gw-1" }, { ...released, generation: 1 }]) {
      expect(put(at, body)).toBe(422);
    }
    expect(put(at, { credential_sha256: hashOf("new secret") })).toBe(422);
    expect(put(at, { ...released, gateway_id: "gw-1", generation: 2 })).toBe(409);
    expect(rows(at.db, "SELECT 1 FROM provisionings WHERE status = 'provisioned'")).toHaveLength(1);
    expect(put(at, { ...released, gateway_id: "gw-1", generation: 1 })).toBe(200);
  });

  it("withdraws the stream of a booth that is released because of a wrong serial number", () => {
    const at = boundBench();
    put(at, { status: "released", reason: "wrong_serial", gateway_id: "gw-1", generation: 1 });
    expect(rows(at.db, "SELECT 1 FROM streams WHERE withdrawn_at IS NOT NULL")).toHaveLength(1);
    expect(post(at).status).toBe(422);
    expect(post(at, { body: claimBody("gw-1", { stream_id: "a new one" }) }).status).toBe(201);
  });

  it("allows only one provisioned gateway per booth, by a unique index in the database", () => {
    const { db } = boundBench();
    const insert =
      "INSERT INTO provisionings (booth_id, generation, status, completion_status, revision, provisioned_at, created_at, updated_at) VALUES ('b1', 9, 'provisioned', '', 1, 0, 0, 0)";
    expect(() => run(db, insert)).toThrow(/unique/i);
  });

  it("revokes an API key by its text, and all keys of a gateway by the gateway's id", () => {
    const at = boundBench();
    expect(revokeKeys(at.db, { gateway_id: "gw-1" }, EPOCH)).toEqual(["gw-1"]);
    expect(revokeKeys(at.db, { key: "user" }, EPOCH)).toEqual([]);
    expect(() => at.caller("user")).toThrow();
  });
});
