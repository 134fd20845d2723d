import { message } from "../../../src/domain/message.ts";
import { describe, expect, it } from "vitest";
import { isBound, speaksFor, WRONG_SERIAL } from "../../../src/domain/provisioning.ts";
import { stepOf, transition } from "../../../src/provisioning/rules/provisioning.ts";
import { boothFromSeq, labelOf } from "../../../src/domain/stream-label.ts";
import type { ServiceRecord } from "../../../src/domain/service.ts";
import { after, around, away, by, entered, looking, lookedUp, ok, record } from "./provisioning-events.ts";

describe("a booth", () => {
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
  ])(
    "bound at generation 4 is, if its record names another gateway at generation %i, in the state %s",
    (generation, state) => {
      expect(seen({ ...other, generation })).toMatchObject({ state });
    },
  );

  it.each([
    ["taken over", { ...other, generation: 5 }],
    ["released", { ...record, generation: 4, status: "released" as const }],
    ["decommissioned", { ...record, generation: 4, status: "decommissioned" as const }],
  ])("becomes active again after a wrong record (%s) once its record names this gateway", (_, wrong) => {
    const ended = seen(wrong);
    expect(isBound(ended)).toBe(false);
    const ours = { ...other, generation: 4, gateway: { id: "gw-1", last_seen_at: null } };
    const others = [
      { ...ours, generation: 5 },
      { ...ours, gateway: other.gateway },
      { ...ours, gateway: null },
    ];
    for (const said of [wrong, ...others]) expect(isBound(seen(said, ended))).toBe(false);
    const again = seen(ours, ended);
    expect(again).toMatchObject({ state: "active", serial: bound.serial, generation: 4, last_seq: null, reason: "" });
    expect(again.ended).toBeUndefined();
    expect(seen(ours, after([entered], ended)).state).toBe("serial_entered");
  });

  describe("whose record at the service shows the status decommissioned", () => {
    const over = { ...record, generation: 4, status: "decommissioned" as const };
    const again = (said: ServiceRecord, ended_for_ms: number, row = seen(over)) =>
      after([{ kind: "record_seen", record: said, newest_seq: 99, ended_for_ms }], row);

    it("counts how long successive records show this status, and remembers the newest sequence number", () => {
      expect(seen(over).wipe).toEqual({ by: "record", for_ms: 0, last_seq: 70 });
      expect(again(over, 5_000, again(over, 1_000)).wipe).toEqual({ by: "record", for_ms: 6_000, last_seq: 70 });
    });

    it.each([
      ["released", { ...over, status: "released" as const }],
      ["unprovisioned", record],
      ["decommissioned under another generation", { ...over, generation: 5 }],
    ])("restarts the count after a record with the status %s", (_, other) => {
      expect(again(other, 0, again(over, 1_000)).wipe?.for_ms).toBe(0);
    });

    it("is no longer due for a wipe once its serial number is entered again or its record names the gateway again", () => {
      expect(after([entered], again(over, 1_000)).wipe).toBeUndefined();
      const gateway = { id: "gw-1", last_seen_at: null };
      const ours = { ...over, status: "provisioned" as const, gateway };
      expect(again(ours, 0, again(over, 1_000)).wipe).toBeUndefined();
    });
  });

  it.each([
    [true, { by: "root", for_ms: 0, last_seq: 70 }],
    [undefined, undefined],
  ])("decommissioned on the gateway may be wiped only if root decommissioned it (by root: %s)", (by_root, wipe) => {
    const leave = { kind: "leave", leaving: { to: "decommissioned", reason: "", last_seq: 70, by_root } } as const;
    const left = after([leave, { kind: "left", answer: ok(), name }], bound);
    expect(left).toMatchObject({ state: "decommissioned" });
    expect(left.wipe).toEqual(wipe);
    expect(after([leave]).wipe).toEqual(wipe);
  });

  it.each([
    [true, message("bind.lost_todo")],
    [undefined, message("bind.key_refused_todo")],
  ])("shows advice that depends on the cause if its key is denied (gateway identity lost: %s)", (is_lost, advice) => {
    const looked = after([entered, looking]);
    const answer = { kind: "denied", reason: "401" } as const;
    expect(transition(looked, lookedUp(answer), { ...around, is_lost })).toMatchObject({ state: "denied", advice });
  });

  it("is looked up again 15 min after a conflict", () => {
    const refused = after([entered, looking, lookedUp({ kind: "conflict", reason: "no" })]);
    expect(refused).toMatchObject({ state: "conflict", wait_ms: 900_000 });
    expect(stepOf(refused)).toBe("look_up");
  });

  it("delivers records from before a take-over, but no later records", () => {
    const suspended = seen({ ...other, generation: 5 });
    expect(suspended).toMatchObject({ last_seq: 70, generation: 4 });
    expect(isBound(suspended)).toBe(false);
    expect([69, 70, 71].map((acked) => speaksFor(suspended, acked))).toEqual([true, false, false]);
  });

  it("stays bound while it is being released, and gets a new stream once the service has ended the binding", () => {
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

  it("is released immediately if it is not bound", () => {
    const leaving = { to: "released" as const, reason: "", last_seq: 0 };
    expect(after([entered, { kind: "leave", leaving }])).toMatchObject({ state: "released", serial: null });
  });

  it("delivers no more records while it is being released because of a mistyped serial number", () => {
    const leaving = { to: "released" as const, reason: WRONG_SERIAL, last_seq: 70 };
    expect(speaksFor(after([{ kind: "leave", leaving }], bound), 3)).toBe(false);
  });

  it("reports a denied key once, reports the recovery, and stays bound", () => {
    const active = after([{ kind: "configuring" }, { kind: "configured", answer: ok() }, { kind: "verified" }], bound);
    const refused = after([{ kind: "key_refused", reason: "revoked" }], active);
    expect(refused).toMatchObject({ state: "active", reason: message("bind.key_refused", { reason: "revoked" }) });
    expect(after([{ kind: "key_refused", reason: "revoked" }], refused)).toBe(refused);
    expect(seen({ ...record, generation: 4, gateway: { id: "gw-1", last_seen_at: null } }, refused)).toMatchObject({
      state: "active",
      reason: "",
      advice: "",
    });
  });

  it("ignores a record without a generation, unless the service has no generations", () => {
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

  it("ends its binding when the service's record ends the same generation", () => {
    expect(seen({ ...record, generation: 4, status: "released" })).toMatchObject({ state: "released", serial: null });
    expect(seen({ ...record, generation: 3, status: "released" })).toBe(bound);
  });

  it("gets a new stream name that starts at the first record that differs at the service", () => {
    const once = after([{ kind: "renamed", name }], bound);
    const before = { stream_id: "log-1", last_seq: 70 };
    expect(once.stream).toEqual({ id: "name-2", from_seq: 71, predecessor: before, booth_from_seq: 1 });
    const forked = { at: 5, seqs: { from: 90, to: 120 } };
    const twice = after([{ kind: "renamed", name: { ...name, from_seq: 90, id: "name-3", forked } }], once);
    expect(twice.stream).toMatchObject({
      id: "name-3",
      from_seq: 90,
      predecessor: { stream_id: "name-2", last_seq: 89 },
    });
    // A later salvage doesn't change what is known of the fork.
    const thrice = after([{ kind: "renamed", name: { ...name, from_seq: 200, id: "name-4" } }], twice);
    expect(thrice.stream).toMatchObject({ id: "name-4", forked_at: 5, forked_seqs: forked.seqs });
    expect(labelOf(once, { stream: "log-1", oldest_seq: 5 })).toMatchObject({ stream: "name-2", oldest_seq: 71 });
    expect(labelOf(bound, { stream: "log-1", oldest_seq: 5 })).toEqual({
      stream: "log-1",
      oldest_seq: 5,
      predecessor: null,
    });
  });

  it("keeps its first sequence number across stream names, and uses 1 if an older row has no such number", () => {
    const leaving = { to: "released" as const, reason: "moved", last_seq: 70 };
    const gone = after(
      [
        { kind: "leave", leaving },
        { kind: "left", answer: ok(), name },
      ],
      bound,
    );
    expect(boothFromSeq(bound.stream)).toBe(1);
    expect(boothFromSeq(gone.stream)).toBe(71);
    const renamed = after([{ kind: "renamed", name: { ...name, from_seq: 90, id: "name-3" } }], gone);
    expect(boothFromSeq(renamed.stream)).toBe(71);
    expect(boothFromSeq({ id: "n", from_seq: 90, predecessor: { stream_id: "m", last_seq: 89 } })).toBe(1);
  });

  it("starts provisioning with the corrected serial number once the mistyped number is released", () => {
    const then = { serial: "ABCD-123-124", confirmed: by };
    const leaving = { to: "released" as const, reason: WRONG_SERIAL, last_seq: 70, then };
    const gone = after(
      [
        { kind: "leave", leaving },
        { kind: "left", answer: ok(), name },
      ],
      bound,
    );
    expect(gone).toMatchObject({ state: "serial_entered", ...then, generation: null, stream: { id: "name-2" } });
  });

  it("tries a new configuration, and restores the previous configuration if the trial fails", () => {
    const tried = { ...record, generation: 4, config: { revision: 2, filters: {} } };
    const trying = after([{ kind: "config_tried", record: tried, revision: 2 }], bound);
    expect(trying).toMatchObject({ state: "claimed", record: tried, trial: { revision: 2 } });
    expect(after([{ kind: "config_proved" }], trying)).toMatchObject({ record: tried, trial: null });
    const back = after([{ kind: "config_refused", revision: 2 }], trying);
    expect(back).toMatchObject({ record: bound.record, trial: null, refused_revision: 2 });
  });
});
