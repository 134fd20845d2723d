import { render } from "../../../src/domain/messages/render.ts";
import { describe, expect, it } from "vitest";
import { stepOf } from "../../../src/provisioning/rules/provisioning.ts";
import type { BoothCard, ServiceRecord } from "../../../src/domain/service.ts";
import { after, by, entered, looking, lookedUp, ok, record } from "./provisioning-events.ts";

/** A booth of a service without generations, which doesn't show the serial number. */
const card = (booth_id: string | null, facility_id: string): BoothCard => ({
  booth_id,
  account_name: "Acme",
  facility_id,
  facility_name: `Facility ${facility_id}`,
  tz: "America/Denver",
  working_hours: [],
  brand_name: null,
  model_number: null,
});
const found = (...cards: readonly BoothCard[]): ServiceRecord => ({
  ...record,
  generation: null,
  gateway: null,
  booth_id: null,
  choices: { show_serial: false, cards },
});
const confirmed = (service_booth?: string) =>
  ({ kind: "confirmed", confirmation: { ...by, service_booth }, claim_id: "claim-1" }) as const;
const said = (service_booth?: string) => ({ ...entered, confirmed: { ...by, service_booth } });

describe("a single booth that the service finds without returning its serial number", () => {
  const one = found(card("b-1", "f-1"));

  it("is not claimed on a confirmation from before the booth was found", () => {
    const row = after([entered, looking, lookedUp(ok(one))]);
    expect(row).toMatchObject({ state: "awaiting_confirm", confirmed: null });
    expect(render(row.reason)).toBe(
      "the service's answer does not contain the serial number; its search found one booth: b-1",
    );
  });

  it("is claimed once a person confirms the booth card", () => {
    const row = after([entered, looking, lookedUp(ok(one)), confirmed()]);
    expect(row).toMatchObject({ state: "claiming", record: { booth_id: "b-1", facility_name: "Facility f-1" } });
    expect(row.record?.choices).toBeUndefined();
  });

  it("is claimed if a person names the booth's id, and not if a person names another id", () => {
    expect(after([said("b-1"), looking, lookedUp(ok(one))])).toMatchObject({
      state: "claiming",
      record: { booth_id: "b-1" },
    });
    expect(after([said("b-2"), looking, lookedUp(ok(one))]).state).toBe("awaiting_confirm");
  });
});

describe("several booths that the service finds without returning a serial number", () => {
  const several = found(card("b-1", "f-1"), card(null, "f-2"));

  it("require a choice: a confirmation that names no booth claims none of them", () => {
    const row = after([entered, looking, lookedUp(ok(several)), confirmed()]);
    expect(row.state).toBe("awaiting_confirm");
    expect(render(row.reason)).toBe(
      "the service's answer does not contain the serial number; its search found 2 booths: b-1, #2",
    );
    expect(render(row.advice)).toBe("choose the booth where this gateway is installed (--booth ID)");
  });

  it.each([
    ["b-1", "b-1", "Facility f-1"],
    ["#2", null, "Facility f-2"],
  ])("are reduced by the choice %s to the booth with the id %s at %s", (name, booth_id, facility_name) => {
    const row = after([entered, looking, lookedUp(ok(several)), confirmed(name)]);
    expect(row).toMatchObject({ state: "claiming", record: { booth_id, facility_name } });
  });

  it("do not replace the chosen booth if they are later returned in another order", () => {
    const bound = after([
      said("#2"),
      looking,
      lookedUp(ok(several)),
      { kind: "claimed", answer: ok({ ...several, completion_status: "COMPLETE" }) },
    ]);
    const seen = (list: ServiceRecord) => after([{ kind: "record_seen", record: list, newest_seq: 0 }], bound);
    expect(seen(found(card(null, "f-2"), card("b-1", "f-1"))).record).toMatchObject({ facility_id: "f-2" });
    expect(seen(found(card("b-1", "f-1"), card("b-3", "f-3"))).record).toMatchObject({ facility_id: "f-2" });
    expect(seen(found(card(null, "f-2"))).record?.choices).toBeUndefined();
  });
});

it("a booth id that a person gives must belong to the booth that has the serial number", () => {
  const row = after([said("b-9"), looking, lookedUp(ok({ ...record, booth_id: "b-1" }))]);
  expect(row).toMatchObject({ state: "awaiting_confirm" });
  expect(render(row.reason)).toBe("in the service, serial number ABCD-123-123 belongs to booth b-1, not to b-9");
});

describe("a rejection by a service without generations (binding numbers)", () => {
  const plain = { ...record, generation: null, gateway: null };
  const refusal = { kind: "conflict", reason: "exists already (409)" } as const;

  it("leads to another look-up after 15 min, so that no conflict is permanent", () => {
    const row = after([entered, looking, lookedUp(ok(plain)), { kind: "claimed", answer: refusal }]);
    expect(row).toMatchObject({ state: "conflict", wait_ms: 900_000 });
    expect(stepOf(row)).toBe("look_up");
    expect(after([looking, lookedUp(ok(plain))], row).state).toBe("claiming");
  });

  it("does not end a binding", () => {
    const row = after([
      entered,
      looking,
      lookedUp(ok(plain)),
      { kind: "claimed", answer: ok(plain) },
      { kind: "configuring" },
      { kind: "configured", answer: refusal },
    ]);
    expect(row).toMatchObject({ state: "claimed", generation: 0, wait_ms: 900_000 });
    expect(render(row.reason)).toContain(
      "does not allow this gateway to mark the booth as complete: exists already (409)",
    );
  });

  it("counts as a conflict only if the booth's record names another gateway", () => {
    const held = { ...plain, completion_status: "COMPLETE", gateway: { id: "gw-2", last_seen_at: null } };
    expect(after([entered, looking, lookedUp(ok(held))])).toMatchObject({ state: "conflict" });
    expect(
      after([entered, looking, lookedUp(ok({ ...held, gateway: { ...held.gateway, id: "gw-1" } }))]),
    ).toMatchObject({ state: "claiming" });
  });
});
