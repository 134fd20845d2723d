import { describe, expect, it } from "vitest";
import {
  emptyRow,
  isBound,
  speaksFor,
  stepOf,
  transition,
  WRONG_SERIAL,
  type ProvisioningEvent,
} from "../../src/core/provisioning.ts";
import { labelOf } from "../../src/core/stream-label.ts";
import type { ProvisioningRow } from "../../src/core/types/provisioning.ts";
import type { ServiceAnswer, ServiceRecord } from "../../src/core/types/service.ts";
import { serviceRecord } from "../support/service-record.ts";

const around = { now: 1_000, gateway_id: "gw-1", random: () => 0.5 };
const record = serviceRecord({ status: "unprovisioned" });
const ok = (value: ServiceRecord = record): ServiceAnswer<ServiceRecord> => ({ kind: "ok", value });
const away: ServiceAnswer<ServiceRecord> = { kind: "keep", reason: "no route", after_ms: null };
const by = { by: "tech", note: "" };

function after(events: readonly ProvisioningEvent[], row: ProvisioningRow = emptyRow(0)): ProvisioningRow {
  return events.reduce((now, event) => transition(now, event, around), row);
}

const entered: ProvisioningEvent = { kind: "serial_entered", serial: "ABCD-123-123", confirmed: by };
const looking: ProvisioningEvent = { kind: "looking_up" };
const lookedUp = (answer: ServiceAnswer<ServiceRecord>, claim_id = "claim-1"): ProvisioningEvent => ({
  kind: "looked_up",
  answer,
  claim_id,
});

describe("provisioning", () => {
  it("goes the main path to active", () => {
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

  it("waits for the technician where nobody has vouched for the serial", () => {
    const waiting = after([{ ...entered, confirmed: null }, looking, lookedUp(ok())]);
    expect(waiting).toMatchObject({ state: "awaiting_confirm", record: { facility_name: "Denver" } });
    expect(stepOf(waiting)).toBe("wait");
    expect(after([{ kind: "confirmed", confirmation: by, claim_id: "claim-2" }], waiting)).toMatchObject({
      state: "claiming",
      confirmed: by,
    });
  });

  it("keeps its claim id through every retry, so that the service sees one claim", () => {
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

  it("a network error is queued, never taken for an unknown serial", () => {
    const queued = after([entered, looking, lookedUp(away)]);
    expect(queued).toMatchObject({ state: "queued", reason: "no route", attempt: 1 });
    expect(stepOf(queued)).toBe("look_up");
    expect(queued.wait_ms).toBeLessThanOrEqual(1_000);
  });

  it("waits as long as the service asks", () => {
    expect(after([entered, looking, lookedUp({ ...away, after_ms: 90_000 })]).wait_ms).toBe(90_000);
  });

  it("an unknown serial is asked for again in about a quarter of an hour, and can be corrected at any time", () => {
    const unknown = after([entered, looking, lookedUp({ kind: "not_found" })]);
    expect(unknown).toMatchObject({ state: "not_found", wait_ms: 900_000 });
    expect(unknown.reason).toContain("ABCD-123-123");
    expect(after([{ ...entered, serial: "ABCD-123-124" }], unknown)).toMatchObject({
      state: "serial_entered",
      serial: "ABCD-123-124",
      claim: null,
    });
  });

  it("a booth bound to another gateway is a conflict; one bound to us is claimed again", () => {
    const held = (id: string) =>
      ok({ ...record, status: "provisioned", gateway: { id, last_seen_at: "2026-03-02 08:00:00Z" } });
    expect(after([entered, looking, lookedUp(held("gw-2"))])).toMatchObject({ state: "conflict" });
    expect(after([entered, looking, lookedUp(held("gw-1"))])).toMatchObject({ state: "claiming" });
  });

  it("verification that fails goes back to claimed with the same claim", () => {
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

  it("a bound booth takes over what its own record says anew, and nobody else's", () => {
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
  ])("$kind changes nothing where it doesn't fit the state", (event) => {
    const row = emptyRow(0);
    expect(after([event], row)).toBe(row);
  });

  it("what the gateway before had delivered is kept with the claim", () => {
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
  ])("a configuration that is answered with %j", (answer, expected) => {
    const claimed = after([entered, looking, lookedUp(ok()), { kind: "claimed", answer: ok() }]);
    expect(after([{ kind: "configuring" }, { kind: "configured", answer }], claimed)).toMatchObject(expected);
  });
});

describe("a booth that another gateway holds", () => {
  const held = ok({ ...record, status: "provisioned", gateway: { id: "gw-2", last_seen_at: null } });
  const replace = { ...by, replace: true };
  const conflict = after([entered, looking, lookedUp(held)]);

  it("is taken over only on somebody's word, and by a claim made of what the service says then", () => {
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

  it("is claimed as usual where it was released meanwhile", () => {
    const again = after([{ kind: "confirmed", confirmation: replace, claim_id: "c" }], conflict);
    expect(after([looking, lookedUp(ok())], again)).toMatchObject({ state: "claiming", claim: { intent: "claim" } });
  });

  it("says what to do where the holder was seen a moment ago", () => {
    const claiming = after([{ ...entered, confirmed: replace }, looking, lookedUp(held)]);
    const denied = after([{ kind: "claimed", answer: { kind: "denied", reason: "seen" } }], claiming);
    expect(denied.advice).toContain("switch it off and wait");
    expect(stepOf(denied)).toBe("look_up");
  });
});

describe("a bound booth", () => {
  const bound = after([
    entered,
    looking,
    lookedUp(ok()),
    { kind: "claimed", answer: ok({ ...record, generation: 4 }) },
  ]);
  const other = { ...record, status: "provisioned" as const, gateway: { id: "gw-2", last_seen_at: null } };
  const seen = (said: ServiceRecord, row = bound) =>
    after([{ kind: "record_seen", record: said, newest_seq: 70 }], row);
  const name = { from_seq: 71, stream: "log-1", id: "name-2" };

  it.each([
    [3, "claimed"],
    [4, "claimed"],
    [5, "suspended"],
  ])("held by another gateway at generation %i, ours being 4: %s", (generation, state) => {
    expect(seen({ ...other, generation })).toMatchObject({ state });
  });

  it("taken over still offers what it recorded before, and nothing after", () => {
    const suspended = seen({ ...other, generation: 5 });
    expect(suspended).toMatchObject({ last_seq: 70, generation: 4 });
    expect(isBound(suspended)).toBe(false);
    expect([69, 70, 71].map((acked) => speaksFor(suspended, acked))).toEqual([true, false, false]);
  });

  it("given up waits for its step, and begins anew under another name once the service has ended the binding", () => {
    const leaving = { to: "released" as const, reason: "", last_seq: 70 };
    const going = after([{ kind: "leave", leaving }], bound);
    expect(stepOf(going)).toBe("leave");
    expect(speaksFor(going, 3)).toBe(true);
    const waiting = after([{ kind: "left", answer: away, name }], going);
    expect(waiting).toMatchObject({ state: "claimed", leaving, attempt: 1, reason: "no route" });
    for (const answer of [ok(), { kind: "conflict" as const, reason: "moved" }, { kind: "not_found" as const }]) {
      const gone = after([{ kind: "left", answer, name }], waiting);
      expect(gone).toMatchObject({ state: "released", serial: null, generation: null, record: null, leaving: null });
      expect(gone.stream).toEqual({ id: "name-2", from_seq: 71, predecessor: null });
    }
    const denied = after([{ kind: "left", answer: { kind: "denied", reason: "no" }, name }], going);
    expect(denied).toMatchObject({ state: "claimed", leaving, wait_ms: 900_000 });
  });

  it("given up for a mistyped serial number sends nothing more there", () => {
    const leaving = { to: "released" as const, reason: WRONG_SERIAL, last_seq: 70 };
    expect(speaksFor(after([{ kind: "leave", leaving }], bound), 3)).toBe(false);
  });

  it("says that its key is refused, once, and that it is taken again, and stays bound", () => {
    const active = after([{ kind: "configuring" }, { kind: "configured", answer: ok() }, { kind: "verified" }], bound);
    const refused = after([{ kind: "key_refused", reason: "revoked" }], active);
    expect(refused).toMatchObject({ state: "active", reason: "the service refuses the key: revoked" });
    expect(after([{ kind: "key_refused", reason: "revoked" }], refused)).toBe(refused);
    expect(seen({ ...record, generation: 4, gateway: { id: "gw-1", last_seen_at: null } }, refused)).toMatchObject({
      state: "active",
      reason: "",
      advice: "",
    });
  });

  it("leaves aside a record that has lost its generation; at a service that knows none it counts", () => {
    expect(seen({ ...record, generation: null, booth_id: "b-2" })).toBe(bound);
    const plain = after([{ kind: "claimed", answer: ok({ ...record, generation: null }) }], {
      ...after([entered, looking, lookedUp(ok({ ...record, generation: null }))]),
    });
    expect(plain.generation).toBe(0);
    expect(seen({ ...record, generation: null, booth_id: "b-2" }, plain)).toMatchObject({
      record: { booth_id: "b-2" },
    });
    expect(seen({ ...record, generation: null, ...plain.record }, plain)).toBe(plain);
  });

  it("ended by the office is over here too, once the service says so of our own binding", () => {
    expect(seen({ ...record, generation: 4, status: "released" })).toMatchObject({ state: "released", serial: null });
    expect(seen({ ...record, generation: 3, status: "released" })).toBe(bound);
  });

  it("goes on under another name from the record on that the service holds otherwise", () => {
    const once = after([{ kind: "renamed", name }], bound);
    expect(once.stream).toEqual({ id: "name-2", from_seq: 71, predecessor: { stream_id: "log-1", last_seq: 70 } });
    const twice = after([{ kind: "renamed", name: { ...name, from_seq: 90, id: "name-3" } }], once);
    expect(twice.stream).toEqual({ id: "name-3", from_seq: 90, predecessor: { stream_id: "name-2", last_seq: 89 } });
    expect(labelOf(once, { stream: "log-1", oldest_seq: 5 })).toMatchObject({ stream: "name-2", oldest_seq: 71 });
    expect(labelOf(bound, { stream: "log-1", oldest_seq: 5 })).toEqual({
      stream: "log-1",
      oldest_seq: 5,
      predecessor: null,
    });
  });

  it("that isn't bound is given up at once", () => {
    const leaving = { to: "released" as const, reason: "", last_seq: 0 };
    expect(after([entered, { kind: "leave", leaving }])).toMatchObject({ state: "released", serial: null });
  });
});
