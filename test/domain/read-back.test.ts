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
  ["the reported values with times in whole seconds, finds nothing", {}, {}, ""],
  [
    "another firmware version, names both versions",
    {},
    { firmware_version: "2.0" },
    "firmware_version 2.0 instead of 2.1",
  ],
  [
    "no program revision, names the reported revision",
    {},
    { plc_program_revision: null },
    "plc_program_revision nothing instead of 7",
  ],
  [
    "an update that the booth has not reported, names its time",
    {},
    { last_program_update: AT },
    `last_program_update ${String(AT)} instead of null`,
  ],
  [
    "another booth's serial number, names both serial numbers",
    {},
    { serial_number: "WXYZ-1" },
    "serial_number WXYZ-1 instead of ABCD-1",
  ],
  ["no serial number, finds nothing", {}, { serial_number: null }, ""],
  ["values that the booth could not read, finds nothing", UNREAD, { last_program_update: AT }, ""],
] as const)("differencesOf, if the service returns %s", (...row) => {
  const [, reported, shown, text] = row;
  const found = differencesOf({ reported: { ...REPORTED, ...reported }, serial: "ABCD-1" }, { ...SHOWN, ...shown });
  expect(differencesText(found)).toBe(text);
});
