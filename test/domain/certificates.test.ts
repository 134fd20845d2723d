import { expect, test } from "vitest";
import { certificateStatus } from "../../src/domain/status.ts";
import { DAY_MS } from "../../src/domain/time.ts";

const NOW = Date.UTC(2027, 0, 1);

test.each([
  [30 * DAY_MS + 1, "valid"],
  [30 * DAY_MS, "ends_soon"],
  [1, "ends_soon"],
  [0, "expired"],
  [-DAY_MS, "expired"],
])("a certificate with %i ms left is %s", (left, state) => {
  const known = certificateStatus({ link: "opcua", server: "opc.tcp://plc:4840", expires: NOW + left }, NOW);
  expect(known).toEqual({
    link: "opcua",
    server: "opc.tcp://plc:4840",
    expires: NOW + left,
    state,
    advice: state === "valid" ? "" : "renew it in the PLC and pin the new one",
  });
});

test("the gateway's own is renewed by the gateway, and trusted by people", () => {
  expect(certificateStatus({ link: "opcua", server: null, expires: NOW + DAY_MS }, NOW).advice).toContain(
    "let each PLC trust it",
  );
});

test.each([
  [null, "client_certificate_file"],
  ["mqtts://broker:8883", "whoever runs the service"],
])("of the service's link %s: %s", (server, advice) => {
  expect(certificateStatus({ link: "service", server, expires: NOW + DAY_MS }, NOW).advice).toContain(advice);
});
