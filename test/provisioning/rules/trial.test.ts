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

describe("a configuration on trial", () => {
  const tried = serviceRecord({ config: config(2) });
  const begun = configTrial(row({ refused_revision: 9 }), { kind: "config_tried", record: tried, revision: 2 });

  it("is in force while what it replaced stands by", () => {
    expect(begun).toMatchObject({ record: tried, trial: { revision: 2, before: KNOWN }, refused_revision: null });
  });

  it("a second one has the same to go back to as the first", () => {
    const record = serviceRecord({ config: config(3) });
    const second = configTrial(begun, { kind: "config_tried", record, revision: 3 });
    expect(second.trial).toEqual({ revision: 3, before: KNOWN });
  });

  it("stays once it has proved itself, and what was not tried needs no proof", () => {
    expect(configTrial(begun, { kind: "config_proved" })).toMatchObject({ record: tried, trial: null });
    const calm = row();
    expect(configTrial(calm, { kind: "config_proved" })).toBe(calm);
  });

  it("goes back to what was in force where it is refused, and nothing changes where it never was", () => {
    const back = configTrial(begun, { kind: "config_refused", revision: 2 });
    expect(back).toMatchObject({ record: KNOWN, trial: null, refused_revision: 2 });
    const never = configTrial(row(), { kind: "config_refused", revision: 2 });
    expect(never).toMatchObject({ record: KNOWN, trial: null, refused_revision: 2 });
  });

  it("isn't begun for a booth without a record", () => {
    const none = row({ record: null });
    expect(configTrial(none, { kind: "config_tried", record: tried, revision: 2 })).toBe(none);
  });
});

describe("what of the service's record counts here", () => {
  it.each<[string, Partial<ProvisioningRow>, Partial<ServiceRecord>, Partial<ServiceRecord>]>([
    ["all of the first one", { record: null }, { config: config(2) }, { config: config(2) }],
    ["not another revision before it was tried", {}, { config: config(2) }, { config: KNOWN.config }],
    ["the same revision, whatever else is new", {}, { config: config(1), booth_id: "b-2" }, { booth_id: "b-2" }],
    [
      "of a refused revision neither filters nor place",
      { refused_revision: 2 },
      { config: config(2), tz: "Europe/Berlin", working_hours: [] },
      { config: KNOWN.config, tz: "America/Denver", working_hours: hours },
    ],
    ["no zone that there isn't", {}, { config: config(1), tz: "Mars/Base" }, { tz: "America/Denver" }],
    ["the zone that was, where it has none", {}, { config: config(1), tz: null }, { tz: "America/Denver" }],
    [
      "an unknown zone where none was known",
      { record: serviceRecord({ tz: null, config: config(1) }) },
      { config: config(1), tz: "Mars/Base" },
      { tz: "Mars/Base" },
    ],
    [
      "the hours that were, where the new ones can't be read",
      {},
      { config: config(1), working_hours: [], unread: ["working_hours.0.start"] },
      { working_hours: hours },
    ],
    ["the configuration that was, where it has none", {}, { config: null }, { config: KNOWN.config }],
    ["the broker that was, where it names none", {}, { config: config(1), mqtt: null }, { mqtt }],
    [
      "the broker that was, where its name can't be read",
      {},
      { mqtt: { ...mqtt, url: null }, unread: ["mqtt.url"] },
      { mqtt },
    ],
  ])("%s", (...[, change, record, expected]) => {
    expect(sifted(row(change), serviceRecord({ mqtt, ...record }))).toMatchObject(expected);
  });
});

describe("how a record departs from the contract", () => {
  it.each<[string, Partial<ServiceRecord>, string]>([
    ["not at all", {}, ""],
    ["its generation is gone", { generation: null }, "generation"],
    ["its broker is gone", { mqtt: null }, "mqtt"],
    ["a booth that isn't provisioned needs no broker", { mqtt: null, status: "released" }, ""],
    ["its zone is gone", { tz: null }, "tz"],
    ["its zone is gone, and its facility makes good for that", { place_from: "facility" }, "tz"],
    ["its configuration is gone", { config: null }, "config"],
    ["what can't be read is named once", { config: null, unread: ["config", "brand_name"] }, "config, brand_name"],
  ])("%s", (_, change, expected) => {
    expect(driftOf(row(), { ...KNOWN, ...change })).toBe(expected);
  });

  it("what was never there isn't gone", () => {
    const bare = serviceRecord({ generation: null, tz: null });
    expect(driftOf(row({ record: bare, generation: 0 }), bare)).toBe("");
    expect(driftOf(row({ record: null, generation: null }), bare)).toBe("");
    const placed = serviceRecord({ place_from: "facility" });
    expect(driftOf(row({ record: placed }), serviceRecord({ tz: null }))).toBe("");
  });
});

it.each<[string, Partial<ProvisioningRow>, ServiceRecord["config"], number | null]>([
  ["another revision", {}, config(2), 2],
  ["the one in force", {}, config(1), null],
  ["one that was refused", { refused_revision: 2 }, config(2), null],
  ["none", {}, null, null],
  ["a configuration without a number", {}, config(null), null],
  ["the first record, which counts at once", { record: null }, config(2), null],
])("to be tried: %s", (...[, change, offered, expected]) => {
  expect(offeredRevision(row(change), serviceRecord({ config: offered }))).toBe(expected);
});

it.each<[string, Partial<ServiceRecord>, readonly string[]]>([
  [
    "nothing",
    { working_hours: hours, config: { revision: 1, filters: { pre_filter: { limits: { minutes: 5_256_000 } } } } },
    [],
  ],
  ["no zone named", { tz: null }, []],
  ["a zone that there isn't", { tz: "Mars/Base" }, ["there is no time zone Mars/Base"]],
  [
    "hours that are none",
    {
      working_hours: [
        { day: "monday", start: "24:00", stop: "17:00", enabled: true },
        { day: "tuesday", start: "08:00:30", stop: "8", enabled: true },
      ],
    },
    ["working hours of monday: 24:00 to 17:00", "working hours of tuesday: 08:00:30 to 8"],
  ],
  [
    "a limit a step over what a filter ever lasts",
    {
      config: {
        revision: 1,
        filters: { pre_filter: { limits: { minutes: 5_256_001, days: 3_650 } }, intake_filter: null },
      },
    },
    ["pre_filter: 5256001 minutes are more than 5256000"],
  ],
])("wrong with a configuration: %s", (_, change, expected) => {
  expect(configProblems(serviceRecord(change), [])).toEqual(expected);
});

it("what can't be read of a configuration is wrong with it", () => {
  expect(configProblems(serviceRecord(), ["config.filters"])).toEqual(["config.filters can't be read"]);
});
