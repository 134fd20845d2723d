import { describe, expect, it } from "vitest";
import {
  configProblems,
  configTrial,
  driftOf,
  offeredRevision,
  sifted,
} from "../../../src/provisioning/rules/trial.ts";
import { emptyRow, type ProvisioningRow } from "../../../src/domain/provisioning.ts";
import type { ServiceRecord } from "../../../src/domain/service.ts";
import { serviceRecord } from "../../support/service-record.ts";

const mqtt = { url: "mqtts://broker.example", client_id: "gw-1", username: "gw-1", topic_prefix: "bg/v1/gw-1" };
const hours = [{ day: "monday", start: "08:00", stop: "17:00", enabled: true }] as const;
const config = (revision: number | null): ServiceRecord["config"] => ({ revision, filters: {} });
const KNOWN = serviceRecord({ mqtt, config: config(1), working_hours: hours, status: "provisioned" });
const row = (change: Partial<ProvisioningRow> = {}): ProvisioningRow => ({
  ...emptyRow(0),
  record: KNOWN,
  generation: 3,
  ...change,
});

describe("configTrial", () => {
  const tried = serviceRecord({ config: config(2) });
  const begun = configTrial(row({ refused_revision: 9 }), { kind: "config_tried", record: tried, revision: 2 });

  it("applies a new configuration, and keeps the previous one", () => {
    expect(begun).toMatchObject({ record: tried, trial: { revision: 2, before: KNOWN }, refused_revision: null });
  });

  it("keeps the original configuration for the restore if a second trial starts during the first", () => {
    const record = serviceRecord({ config: config(3) });
    const second = configTrial(begun, { kind: "config_tried", record, revision: 3 });
    expect(second.trial).toEqual({ revision: 3, before: KNOWN });
  });

  it("ends a successful trial, and ignores a success if no trial runs", () => {
    expect(configTrial(begun, { kind: "config_proved" })).toMatchObject({ record: tried, trial: null });
    const calm = row();
    expect(configTrial(calm, { kind: "config_proved" })).toBe(calm);
  });

  it("restores the previous configuration after a failed trial, and changes nothing if no trial runs", () => {
    const back = configTrial(begun, { kind: "config_refused", revision: 2 });
    expect(back).toMatchObject({ record: KNOWN, trial: null, refused_revision: 2 });
    const never = configTrial(row(), { kind: "config_refused", revision: 2 });
    expect(never).toMatchObject({ record: KNOWN, trial: null, refused_revision: 2 });
  });

  it("starts no trial for a booth whose record is unknown", () => {
    const none = row({ record: null });
    expect(configTrial(none, { kind: "config_tried", record: tried, revision: 2 })).toBe(none);
  });
});

describe("sifted", () => {
  it.each<[string, Partial<ProvisioningRow>, Partial<ServiceRecord>, Partial<ServiceRecord>]>([
    ["the whole first record", { record: null }, { config: config(2) }, { config: config(2) }],
    ["the known configuration before a trial of another revision", {}, { config: config(2) }, { config: KNOWN.config }],
    [
      "changed fields of a record with the same revision",
      {},
      { config: config(1), booth_id: "b-2" },
      { booth_id: "b-2" },
    ],
    [
      "neither the filters nor the time zone and hours of a rejected revision",
      { refused_revision: 2 },
      { config: config(2), tz: "Europe/Berlin", working_hours: [] },
      { config: KNOWN.config, tz: "America/Denver", working_hours: hours },
    ],
    [
      "the known time zone instead of an unknown one",
      {},
      { config: config(1), tz: "Mars/Base" },
      { tz: "America/Denver" },
    ],
    ["the known time zone if the record has none", {}, { config: config(1), tz: null }, { tz: "America/Denver" }],
    [
      "an unknown time zone if none was known",
      { record: serviceRecord({ tz: null, config: config(1) }) },
      { config: config(1), tz: "Mars/Base" },
      { tz: "Mars/Base" },
    ],
    [
      "the known hours if the new ones can't be read",
      {},
      { config: config(1), working_hours: [], unread: ["working_hours.0.start"] },
      { working_hours: hours },
    ],
    ["the known configuration if the record has none", {}, { config: null }, { config: KNOWN.config }],
    ["the known broker if the record names none", {}, { config: config(1), mqtt: null }, { mqtt }],
    [
      "the known broker if the new one can't be read",
      {},
      { mqtt: { ...mqtt, url: null }, unread: ["mqtt.url"] },
      { mqtt },
    ],
  ])("returns %s", (...[, change, record, expected]) => {
    expect(sifted(row(change), serviceRecord({ mqtt, ...record }))).toMatchObject(expected);
  });
});

describe("driftOf", () => {
  it.each<[string, Partial<ServiceRecord>, string]>([
    ["no field of an unchanged record", {}, ""],
    ["a missing generation", { generation: null }, "generation"],
    ["a missing broker", { mqtt: null }, "mqtt"],
    ["no broker of a booth that isn't provisioned", { mqtt: null, status: "released" }, ""],
    ["a missing time zone", { tz: null }, "tz"],
    ["a time zone that only the facility has", { place_from: "facility" }, "tz"],
    ["a missing configuration", { config: null }, "config"],
    ["an unreadable field once", { config: null, unread: ["config", "brand_name"] }, "config, brand_name"],
  ])("reports %s", (_, change, expected) => {
    expect(driftOf(row(), { ...KNOWN, ...change })).toBe(expected);
  });

  it("reports no field that was already missing in the previous record", () => {
    const bare = serviceRecord({ generation: null, tz: null });
    expect(driftOf(row({ record: bare, generation: 0 }), bare)).toBe("");
    expect(driftOf(row({ record: null, generation: null }), bare)).toBe("");
    const placed = serviceRecord({ place_from: "facility" });
    expect(driftOf(row({ record: placed }), serviceRecord({ tz: null }))).toBe("");
  });
});

it.each<[string, Partial<ProvisioningRow>, ServiceRecord["config"], number | null]>([
  ["the number of a revision that is not in force", {}, config(2), 2],
  ["null for the revision in force", {}, config(1), null],
  ["null for a rejected revision", { refused_revision: 2 }, config(2), null],
  ["null without a configuration", {}, null, null],
  ["null for a configuration without a number", {}, config(null), null],
  ["null for the first record, which is applied at once", { record: null }, config(2), null],
])("offeredRevision returns %s", (...[, change, offered, expected]) => {
  expect(offeredRevision(row(change), serviceRecord({ config: offered }))).toBe(expected);
});

it.each<[string, Partial<ServiceRecord>, readonly string[]]>([
  [
    "no problem of a valid configuration",
    { working_hours: hours, config: { revision: 1, filters: { pre_filter: { limits: { minutes: 5_256_000 } } } } },
    [],
  ],
  ["no problem of a record without a time zone", { tz: null }, []],
  ["an unknown time zone", { tz: "Mars/Base" }, ["there is no time zone Mars/Base"]],
  [
    "invalid working hours",
    {
      working_hours: [
        { day: "monday", start: "24:00", stop: "17:00", enabled: true },
        { day: "tuesday", start: "08:00:30", stop: "8", enabled: true },
      ],
    },
    ["working hours of monday: 24:00 to 17:00", "working hours of tuesday: 08:00:30 to 8"],
  ],
  [
    "a limit above the longest life of a filter",
    {
      config: {
        revision: 1,
        filters: { pre_filter: { limits: { minutes: 5_256_001, days: 3_650 } }, intake_filter: null },
      },
    },
    ["pre_filter: 5256001 minutes are more than 5256000"],
  ],
])("configProblems reports %s", (_, change, expected) => {
  expect(configProblems(serviceRecord(change))).toEqual(expected);
});

it("configProblems reports fields that can't be read", () => {
  expect(configProblems(serviceRecord({ unread: ["config.filters"] }))).toEqual(["config.filters can't be read"]);
});
