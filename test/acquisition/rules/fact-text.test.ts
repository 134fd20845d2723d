import { expect, it } from "vitest";
import { factText } from "../../../src/acquisition/rules/fact-text.ts";
import type { Fact } from "../../../src/domain/record.ts";

const BASE = { boot: "b", mono: 0, at: 0, tag: "", quality: "good" } as const;
const cycle = { bay: 1, start: 0, end: 3_600_000, counted: false, gap: false, spray_ms: 600_000, bake_ms: 0 } as const;
const filter = { filter: "pre_filter", installed_at: 0, flagged: false } as const;
const incident = {
  tag_name: "gas",
  check: "monotonic",
  logic: {},
  reason: "it fell",
  severity: "warning",
  first_seen_at: 0,
  last_seen_at: 0,
} as const;

it.each<[Fact, string | null]>([
  [
    { ...BASE, kind: "c", value: { ...cycle, result: "aborted", reason: "plc_restart" } },
    "cycle aborted (plc restart): 60 min, of it spray 10 min, bake 0 min",
  ],
  [
    { ...BASE, kind: "c", value: { ...cycle, result: "short_bake", reason: "" } },
    "cycle short bake: 60 min, of it spray 10 min, bake 0 min",
  ],
  [
    { ...BASE, kind: "v", value: { item: "firmware", firmware_version: "3.41", first_seen_at: 0, initial: true } },
    "firmware 3.41 found",
  ],
  [
    {
      ...BASE,
      kind: "v",
      value: {
        item: "program",
        plc_program: "BOOTH-24",
        plc_program_revision: "14C",
        first_seen_at: 0,
        initial: false,
      },
    },
    "program BOOTH-24 14C: changed",
  ],
  [
    { ...BASE, kind: "v", value: { item: "program", plc_program: "BOOTH-24", first_seen_at: 0, initial: true } },
    "program BOOTH-24 found",
  ],
  [{ ...BASE, kind: "f", value: { ...filter, source: "plc_reset" } }, "pre filter changed (plc reset)"],
  [{ ...BASE, kind: "f", value: { ...filter, source: "assumed" } }, null],
  [{ ...BASE, kind: "i", value: { ...incident, resolved_at: null } }, "incident monotonic at gas: it fell"],
  [{ ...BASE, kind: "i", value: { ...incident, resolved_at: 5 } }, "incident monotonic at gas is over"],
  [{ ...BASE, kind: "d", value: { hour: 0, ms_by_mode: {}, cycles: 0, gas_therm: 0, energy_kwh: 0 } }, null],
])("factText returns the log text of a fact, or null for facts that aren't logged (case %#)", (fact, expected) => {
  expect(factText(fact)).toBe(expected);
});
