import { expect, test } from "vitest";
import type { OutputConfig } from "../../src/config/port.ts";
import { parametersOf } from "../../src/config/parameters.ts";
import { findProfile } from "../../src/config/profile.ts";
import type { BoothSummary } from "../../src/domain/summary.ts";
import { figuresOf } from "../../src/outputs/rules/figures.ts";
import { discoveryOf } from "../../src/outputs/rules/home-assistant.ts";
import type { Message } from "../../src/outputs/port.ts";
import { CATEGORIES, KEYS, REQUIRED } from "./home-assistant-keys.ts";

type Plain = NonNullable<OutputConfig["mqtt"]>;

const TOPICS = { tag: "b/{booth}/{tag}", figure: "b/{booth}/f/{figure}", status: "b/{gateway}/status" };
const PLAIN: Plain = {
  topics: TOPICS,
  payload: "json",
  retain: true,
  history: false,
  home_assistant: { prefix: "homeassistant" },
};

function announced(config: Plain = PLAIN): readonly Message[] {
  const profile = findProfile("click-booth");
  const booth = {
    id: "booth-1",
    poll: {},
    filters: {},
    bay_count: 1,
    tz: "UTC",
    working_hours: [],
    profile: "click-booth",
    modbus: { host: "127.0.0.1", port: 502 },
  };
  // Summaries of a booth that has all filters.
  const filter = {
    minutes: 90,
    limit_minutes: 600,
    percent: 15,
    overuse_since: null,
    assumed: false,
    state: "good",
  } as const;
  const filters = { exhaust_filter: filter, intake_filter: filter, pre_filter: filter };
  const figures = figuresOf({
    summary: { ...SUMMARY, filters },
    plc: { kind: "up", since: 0 },
    durations: { spray: 60_000 },
    waiting_for_clock: 0,
  });
  return discoveryOf(config, {
    gateway: "3fcf89fe-c6d2",
    booth: "booth-1",
    serial: "ABCD-1",
    version: "1.2.3",
    firmware_version: "2.0",
    parameters: parametersOf(profile, booth),
    figures,
    switches: new Set(["door_open"]),
  });
}

const SUMMARY: Omit<BoothSummary, "filters"> = {
  mode: "spray",
  since: 1,
  raw: "2",
  cycles_today: 1,
  cycles_total: 2,
  run_open: true,
  filter_entries: [],
  open_incidents: 0,
  last_active_mode: "spray",
  plc_serial: null,
  last_good_at: 1,
  in_gap: false,

  firmware_version: null,
  plc_program: null,
  plc_program_revision: null,
  read: { firmware_version: null, plc_program: null, plc_program_revision: null },
  last_firmware_update: null,
  last_program_update: null,
};

function keysOutside(value: object, of: keyof typeof KEYS): readonly string[] {
  const known: readonly string[] = KEYS[of];
  return Object.keys(value).filter((key) => !known.includes(key));
}

test("each Home Assistant discovery message has all required keys and no unknown key", () => {
  const all = announced();
  expect(all.length).toBeGreaterThan(40);
  for (const { topic, payload, retain, qos } of all) {
    const [prefix, component = "", node, object, end] = topic.split("/");
    expect([prefix, end, retain, qos]).toEqual(["homeassistant", "config", true, 1]);
    for (const part of [node, object]) expect(part).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(["sensor", "binary_sensor"]).toContain(component);
    const of = component as "sensor" | "binary_sensor";
    const entity = JSON.parse(String(payload)) as Record<string, unknown> & { device: object; origin: object };
    expect([topic, keysOutside(entity, of)]).toEqual([topic, []]);
    expect(keysOutside(entity.device, "device")).toEqual([]);
    expect(keysOutside(entity.origin, "origin")).toEqual([]);
    for (const key of REQUIRED[of]) expect(entity).toHaveProperty(key);
    for (const key of REQUIRED.device) expect(entity.device).toHaveProperty(key);
    for (const key of REQUIRED.origin) expect(entity.origin).toHaveProperty(key);
    if ("entity_category" in entity) expect(CATEGORIES).toContain(entity["entity_category"]);
    // Only this class has options, and it needs them.
    expect("options" in entity).toBe(entity["device_class"] === "enum");
    // The gateway accepts no commands.
    expect(JSON.stringify(entity)).not.toContain("command");
  }
  const ids = all.map(({ payload }) => (JSON.parse(String(payload)) as { unique_id: string }).unique_id);
  expect(new Set(ids).size).toBe(all.length);
});

test("Home Assistant discovery contains device classes, units, and the payloads for on and off", () => {
  const entities = new Map(
    announced().map(({ topic, payload }) => [topic.split("/")[3], JSON.parse(String(payload)) as object]),
  );
  expect(entities.get("mode")).toMatchObject({ device_class: "enum", state_topic: "b/booth-1/f/mode" });
  expect(entities.get("mode_since")).toMatchObject({ device_class: "timestamp" });
  expect(entities.get("cycles_total")).toMatchObject({ state_class: "total_increasing" });
  expect(entities.get("spray_minutes_today")).toMatchObject({ device_class: "duration", unit_of_measurement: "min" });
  expect(entities.get("exhaust_filter_percent")).toMatchObject({ unit_of_measurement: "%" });
  expect(entities.get("tag_air_temperature")).toMatchObject({ device_class: "temperature", unit_of_measurement: "°C" });
  expect(entities.get("tag_door_open")).toMatchObject({ payload_on: "true", payload_off: "false" });
});

test("Home Assistant discovery is sent only if configured, and has no value template if payloads are plain values", () => {
  const { home_assistant, ...without } = PLAIN;
  expect(home_assistant).toBeDefined();
  expect(announced(without)).toEqual([]);
  const bare = announced({ ...PLAIN, payload: "value" });
  expect(bare.filter(({ payload }) => String(payload).includes("value_template"))).toEqual([]);
});
