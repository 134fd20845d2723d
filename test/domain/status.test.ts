import { render } from "../../src/domain/messages/render.ts";
import { message } from "../../src/domain/message.ts";
import { expect, it } from "vitest";
import { certificateStatus, connectivityOf, type LinkStatus } from "../../src/domain/status.ts";
import type { BoothSummary } from "../../src/domain/summary.ts";
import { DAY_MS, MINUTE_MS } from "../../src/domain/time.ts";
import { summaryOf } from "../../src/reports/summary.ts";
import { run, script, stay, T0 } from "../support/booth.ts";
import { PLAIN } from "../support/parameters.ts";

const NOW = Date.UTC(2027, 0, 1);

it.each([
  [30 * DAY_MS + 1, "valid"],
  [30 * DAY_MS, "ends_soon"],
  [1, "ends_soon"],
  [0, "expired"],
  [-DAY_MS, "expired"],
])("a certificate with %i ms until expiry has the state %s", (left, state) => {
  const known = certificateStatus({ link: "opcua", server: "opc.tcp://plc:4840", expires: NOW + left }, NOW);
  expect(known).toEqual({
    link: "opcua",
    server: "opc.tcp://plc:4840",
    expires: NOW + left,
    state,
    advice: state === "valid" ? "" : message("certificate.opcua"),
  });
});

it("an expiring OPC UA certificate of the gateway has the advice to mark the certificate as trusted in each PLC", () => {
  expect(render(certificateStatus({ link: "opcua", server: null, expires: NOW + DAY_MS }, NOW).advice)).toContain(
    "mark it as trusted in each PLC",
  );
});

it.each([
  [null, "client_certificate_file"],
  ["mqtts://broker:8883", "the operator of the service"],
])("an expiring certificate of the service link (server: %s) has advice that names %s", (server, advice) => {
  expect(render(certificateStatus({ link: "service", server, expires: NOW + DAY_MS }, NOW).advice)).toContain(advice);
});

const PLC: LinkStatus = { kind: "up", since: T0 };

function summary(mode: number): BoothSummary {
  const booth = script(PLAIN);
  stay(booth, MINUTE_MS, { mode });
  return { ...summaryOf(run(booth, PLAIN).state, T0 + MINUTE_MS), last_good_at: T0 };
}

/** Active: a reading younger than max(60 s, 3 x commit time) in a mode other than off and idle. */
it.each([
  [3, 10_000, 59_999, "Active"],
  [3, 10_000, 60_000, "Idle"],
  [3, 10_000, 60_001, "Idle"],
  [3, 20_001, 60_002, "Active"],
  [3, 20_001, 60_003, "Idle"],
  [3, 20_001, 60_004, "Idle"],
  [2, 10_000, 1000, "Active"],
  [20, 10_000, 1000, "Active"],
  [1, 10_000, 1000, "Idle"],
  [0, 10_000, 1000, "Idle"],
])(
  "connectivity in mode code %i, with a commit interval of %i ms and a last reading %i ms ago, is %s",
  (...[mode, commit_ms, age, expected]) => {
    expect(connectivityOf({ summary: summary(mode), plc: PLC }, T0 + age, commit_ms)).toBe(expected);
  },
);

it("connectivity is Idle in a gap and before the first reading", () => {
  expect(connectivityOf({ summary: { ...summary(3), in_gap: true }, plc: PLC }, T0, 10_000)).toBe("Idle");
  expect(connectivityOf({ summary: { ...summary(3), last_good_at: null }, plc: PLC }, T0, 10_000)).toBe("Idle");
  expect(connectivityOf({ summary: null, plc: PLC }, T0, 10_000)).toBe("Idle");
});
