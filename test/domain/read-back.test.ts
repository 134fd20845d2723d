import { expect, it } from "vitest";
import { differencesOf, differencesText } from "../../src/domain/read-back.ts";
import type { DeviceFields, Reported } from "../../src/domain/service.ts";

const AT = Date.UTC(2026, 2, 2, 15);
const REPORTED: Reported = {
  firmware_version: "2.1",
  last_firmware_update: AT + 420,
  plc_program: "BOOTH-24",
  plc_program_revision: "7",
  last_program_update: null,
  connectivity_status: "Active",
  last_active_mode: "Spray Mode",
  plc: { protocol: "modbus-tcp", address: "plc:502", vendor: "generic", serial_number: null },
  seq: 1,
  sent_at: AT,
};
const SHOWN: DeviceFields = {
  serial_number: "ABCD-1",
  firmware_version: "2.1",
  last_firmware_update: AT,
  plc_program: "BOOTH-24",
  plc_program_revision: "7",
  last_program_update: null,
  last_active_mode: "Spray Mode",
};
const UNREAD = { firmware_version: null, last_firmware_update: null, plc_program: null, plc_program_revision: null };

it.each([
  ["the same, times in whole seconds", {}, {}, ""],
  ["another version", {}, { firmware_version: "2.0" }, "firmware_version 2.0 instead of 2.1"],
  ["nothing", {}, { plc_program_revision: null }, "plc_program_revision nothing instead of 7"],
  [
    "an update where none is known",
    {},
    { last_program_update: AT },
    `last_program_update ${String(AT)} instead of null`,
  ],
  ["another booth", {}, { serial_number: "WXYZ-1" }, "serial_number WXYZ-1 instead of ABCD-1"],
  ["no serial number", {}, { serial_number: null }, ""],
  ["more than was read here", UNREAD, { last_program_update: AT }, ""],
] as const)("read back after a report: %s", (...row) => {
  const [, reported, shown, text] = row;
  const found = differencesOf({ reported: { ...REPORTED, ...reported }, serial: "ABCD-1" }, { ...SHOWN, ...shown });
  expect(differencesText(found)).toBe(text);
});
