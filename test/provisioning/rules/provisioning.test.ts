import { render } from "../../../src/domain/messages/render.ts";
import { describe, expect, it } from "vitest";
import { emptyRow, isBound, type ProvisioningRow } from "../../../src/domain/provisioning.ts";
import { stepOf, type ProvisioningEvent } from "../../../src/provisioning/rules/provisioning.ts";
import type { ServiceAnswer, ServiceRecord } from "../../../src/domain/service.ts";
import { after, around, away, by, entered, looking, lookedUp, ok, record } from "./provisioning-events.ts";

describe("provisioning", () => {
  it("leads from an entered serial number to an active booth", () => {
    const claiming = after([entered, looking, lookedUp(ok())]);
    expect(claiming).toMatchObject({ state: "claiming", claim: { id: "claim-1", expected_generation: 3 } });
    expect(isBound(claiming)).toBe(false);
    const claimed = after(
      [{ kind: "claimed", answer: ok({ ...record, generation: 4, status: "provisioned" }) }],
      claiming,
    );
    expect(claimed).toMatchObject({ state: "claimed", generation: 4 });
    expect(isBound(claimed)).toBe(true);
    const active = after(
      [{ kind: "configuring" }, { kind: "configured", answer: ok() }, { kind: "verified" }],
      claimed,
    );
    expect(active).toMatchObject({ state: "active", reason: "", advice: "" });
    expect(stepOf(active)).toBe("wait");
  });

  it("waits for a confirmation if no person has confirmed the serial number", () => {
    const waiting = after([{ ...entered, confirmed: null }, looking, lookedUp(ok())]);
    expect(waiting).toMatchObject({ state: "awaiting_confirm", record: { facility_name: "Denver" } });
    expect(stepOf(waiting)).toBe("wait");
    expect(after([{ kind: "confirmed", confirmation: by, claim_id: "claim-2" }], waiting)).toMatchObject({
      state: "claiming",
      confirmed: by,
    });
  });

  it("keeps the claim id in every retry, so that the service sees a single claim", () => {
    const once = after([entered, looking, lookedUp(ok(), "claim-1"), { kind: "claimed", answer: away }]);
    expect(once).toMatchObject({ state: "claiming", attempt: 1, claim: { id: "claim-1" } });
    const again = after(
      [
        { kind: "claimed", answer: away },
        { kind: "claimed", answer: ok() },
      ],
      once,
    );
    expect(again).toMatchObject({ state: "claimed", claim: { id: "claim-1" } });
  });

  it("waits in the state queued after a network error, because the serial number may be right", () => {
    const queued = after([entered, looking, lookedUp(away)]);
    expect(queued).toMatchObject({ state: "queued", reason: "no route", attempt: 1 });
    expect(stepOf(queued)).toBe("look_up");
    expect(queued.wait_ms).toBeLessThanOrEqual(1_000);
  });

  it("waits as long as the service's Retry-After requires", () => {
    expect(after([entered, looking, lookedUp({ ...away, after_ms: 90_000 })]).wait_ms).toBe(90_000);
  });

  it("looks up an unknown serial number again after 15 min, and accepts a corrected number at any time", () => {
    const unknown = after([entered, looking, lookedUp({ kind: "not_found" })]);
    expect(unknown).toMatchObject({ state: "not_found", wait_ms: 900_000 });
    expect(render(unknown.reason)).toContain("ABCD-123-123");
    expect(after([{ ...entered, serial: "ABCD-123-124" }], unknown)).toMatchObject({
      state: "serial_entered",
      serial: "ABCD-123-124",
      claim: null,
    });
  });

  it("reports a conflict if another gateway holds the booth, and claims the booth again if this gateway holds it", () => {
    const held = (id: string) =>
      ok({ ...record, status: "provisioned", gateway: { id, last_seen_at: "2026-03-02 08:00:00Z" } });
    expect(after([entered, looking, lookedUp(held("gw-2"))])).toMatchObject({ state: "conflict" });
    expect(after([entered, looking, lookedUp(held("gw-1"))])).toMatchObject({ state: "claiming" });
  });

  it("returns to the state claimed and keeps its claim if the verification fails", () => {
    const verifying = after([
      entered,
      looking,
      lookedUp(ok()),
      { kind: "claimed", answer: ok() },
      { kind: "configuring" },
      { kind: "configured", answer: ok() },
    ]);
    const back = after([{ kind: "not_verified", reason: "no batch was acked" }], verifying);
    expect(back).toMatchObject({ state: "claimed", reason: "no batch was acked", claim: { id: "claim-1" } });
    expect(isBound(back)).toBe(true);
  });

  it("stores a changed record of the present binding, and ignores any other record", () => {
    const bound = after([entered, looking, lookedUp(ok()), { kind: "claimed", answer: ok() }]);
    const own = { ...record, generation: bound.generation, gateway: { id: "gw-1", last_seen_at: "later" } };
    const mqtt = { url: "mqtt://127.0.0.1:2", client_id: null, username: null, topic_prefix: null };
    const seen = (said: ServiceRecord) => after([{ kind: "record_seen", record: said, newest_seq: 0 }], bound);
    expect(seen({ ...own, mqtt })).toMatchObject({ state: "claimed", record: { mqtt } });
    expect(seen({ ...own, mqtt, gateway: { id: "gw-2", last_seen_at: null } })).toBe(bound);
    expect(seen({ ...own, mqtt, generation: (bound.generation ?? 0) + 1 })).toBe(bound);
    expect(seen({ ...own, ...bound.record, gateway: own.gateway })).toBe(bound);
  });

  it.each<ProvisioningEvent>([
    looking,
    lookedUp(ok()),
    { kind: "predecessor_known", predecessor: null },
    { kind: "claimed", answer: ok() },
    { kind: "configuring" },
    { kind: "configured", answer: ok() },
    { kind: "verified" },
    { kind: "not_verified", reason: "" },
    { kind: "record_seen", record, newest_seq: 0 },
    { kind: "key_refused", reason: "" },
    { kind: "left", answer: ok(), name: { from_seq: 1, stream: "log-1", id: "name-2" } },
  ])("ignores the event $kind if the event does not fit the state", (event) => {
    const row = emptyRow(0);
    expect(after([event], row)).toBe(row);
  });

  it("adds the last stream of the booth's previous gateway to its claim", () => {
    const claiming = after([entered, looking, lookedUp(ok())]);
    const predecessor = { stream_id: "log-0", last_seq: 17 };
    const told = after([{ kind: "predecessor_known", predecessor }], claiming);
    expect(told).toMatchObject({ state: "claiming", claim: { id: "claim-1", predecessor } });
  });

  it.each<[ServiceAnswer<ServiceRecord>, Partial<ProvisioningRow>]>([
    [away, { state: "claimed", attempt: 1, reason: "no route" }],
    [
      { kind: "denied", reason: "no right" },
      { state: "denied", wait_ms: 900_000 },
    ],
    [
      { kind: "reject", reason: "malformed" },
      { state: "conflict", reason: "malformed" },
    ],
    [{ kind: "not_found" }, { state: "not_found" }],
  ])("ends, if the configuration request is answered with %j, in %j", (answer, expected) => {
    const claimed = after([entered, looking, lookedUp(ok()), { kind: "claimed", answer: ok() }]);
    expect(after([{ kind: "configuring" }, { kind: "configured", answer }], claimed)).toMatchObject(expected);
  });
});

describe("a booth of another gateway", () => {
  const held = ok({ ...record, status: "provisioned", gateway: { id: "gw-2", last_seen_at: null } });
  const replace = { ...by, replace: true };
  const conflict = after([entered, looking, lookedUp(held)]);

  it("is taken over only after a confirmation, with a claim based on the record read after the confirmation", () => {
    expect(after([{ kind: "confirmed", confirmation: by, claim_id: "c" }], conflict)).toBe(conflict);
    const again = after([{ kind: "confirmed", confirmation: replace, claim_id: "c" }], conflict);
    expect(again).toMatchObject({ state: "serial_entered", claim: null, confirmed: replace });
    const claiming = after([looking, lookedUp(held, "claim-9")], again);
    expect(claiming).toMatchObject({
      state: "claiming",
      claim: { id: "claim-9", expected_generation: 3, intent: "take_over" },
    });
    const retried = after([{ kind: "claimed", answer: away }], claiming);
    expect(retried).toMatchObject({ state: "claiming", claim: claiming.claim });
  });

  it("can be claimed if the record does not name the gateway", () => {
    const nameless = ok({ ...record, status: "provisioned", gateway: { id: null, last_seen_at: null } });
    expect(after([entered, looking, lookedUp(nameless)])).toMatchObject({ claim: { intent: "claim" } });
  });

  it("is claimed without a take-over if it was released in the meantime", () => {
    const again = after([{ kind: "confirmed", confirmation: replace, claim_id: "c" }], conflict);
    expect(after([looking, lookedUp(ok())], again)).toMatchObject({ state: "claiming", claim: { intent: "claim" } });
  });

  it("is claimed again once the other gateway has been silent for long enough", () => {
    const seen = (last_seen_at: string) =>
      ok({ ...record, status: "provisioned", gateway: { id: "gw-2", last_seen_at } });
    const deniedAfter = (before_ms: number): ProvisioningRow =>
      after([
        { ...entered, confirmed: replace },
        looking,
        lookedUp(seen(new Date(around.now - before_ms).toISOString())),
        { kind: "claimed", answer: { kind: "denied", reason: "seen" } },
      ]);
    const waiting = deniedAfter(240_000);
    expect(waiting).toMatchObject({
      state: "conflict",
      wait_ms: 362_000,
      possible_at: around.now + 362_000,
      confirmed: replace,
    });
    expect(stepOf(waiting)).toBe("look_up");
    const again = after([looking, lookedUp(seen(new Date(around.now).toISOString()))], waiting);
    expect(again).toMatchObject({ state: "claiming", claim: waiting.claim });
    expect(again.possible_at).toBeUndefined();
    // A slow clock doesn't prolong the wait. After a long silence of the holder, the denial has another reason.
    expect(deniedAfter(-3_600_000)).toMatchObject({ state: "conflict", wait_ms: 602_000 });
    expect(deniedAfter(601_000)).toMatchObject({ state: "denied", possible_at: undefined });
  });

  it("shows advice to enter another key if the service denies the key", () => {
    const claiming = after([{ ...entered, confirmed: replace }, looking, lookedUp(held)]);
    const denied = after([{ kind: "claimed", answer: { kind: "denied", reason: "seen" } }], claiming);
    expect(render(denied.advice)).toContain("enter a key that may provision");
    expect(stepOf(denied)).toBe("look_up");
  });
});
