import { MODES_LISTED } from "../../domain/booth.ts";
import type { Parameters, TagParameters } from "../../domain/parameters.ts";
import type { TagName } from "../../domain/units.ts";
import type { Figure } from "./figures.ts";
import type { Message } from "../port.ts";
import { type PlainConfig, statusTopic, type Subject, topicOf } from "./plain.ts";

/** Home Assistant's MQTT discovery: a retained message for each entity, all of a booth's under one device. */

/** What is announced of a booth. */
export interface Announced extends Subject {
  readonly version: string;
  readonly parameters: Parameters | null;
  readonly figures: readonly Figure[];
  /** Tags that are on or off. */
  readonly switches: ReadonlySet<TagName>;
  /** Of the PLC, where it says so. */
  readonly firmware_version: string | null;
}

/** Discovery's messages for a booth, by topic. */
export function discoveryOf(config: PlainConfig, booth: Announced): readonly Message[] {
  const prefix = config.home_assistant?.prefix;
  if (prefix === undefined) return [];
  const { parameters, figures, switches } = booth;
  const tags = Object.entries(parameters?.tags ?? {});
  const said = (component: Component, name: string, own: Entity): Message => ({
    topic: `${prefix}/${component}/${nodeOf(booth)}/${name.replaceAll(/[^A-Za-z0-9_-]/g, "_")}/config`,
    payload: JSON.stringify({ ...own, ...common(config, booth, name) }),
    qos: 1,
    retain: true,
  });
  return [
    ...figures.map((figure) => said("sensor", figure.figure, figureEntity(config, booth, figure))),
    ...tags.map(([tag, of]) => {
      const state_topic = topicOf(config.topics.tag, booth, { tag });
      return switches.has(tag)
        ? said("binary_sensor", `tag_${tag}`, { ...named(tag), ...valueOf(config, state_topic), ...ON_OFF })
        : said("sensor", `tag_${tag}`, { ...named(tag), ...valueOf(config, state_topic), ...unitOf(of) });
    }),
  ];
}

type Component = "sensor" | "binary_sensor";
type Entity = Readonly<Record<string, unknown>>;

const ON_OFF = { payload_on: "true", payload_off: "false" };

/** As discovery's topic allows it: letters, digits, dashes, lines. */
function nodeOf({ gateway, booth }: Subject): string {
  return `${gateway}_${booth}`.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

function named(tag: TagName): Entity {
  return { name: sentence(tag), entity_category: "diagnostic" };
}

function sentence(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function common(config: PlainConfig, booth: Announced, name: string): Entity {
  const { gateway, serial, version, firmware_version } = booth;
  return {
    unique_id: `${nodeOf(booth)}_${name}`,
    availability_topic: statusTopic(config, gateway),
    qos: 1,
    device: {
      identifiers: [nodeOf(booth)],
      name: `Booth ${serial ?? booth.booth}`,
      ...(serial === null ? {} : { serial_number: serial }),
      ...(firmware_version === null ? {} : { sw_version: firmware_version }),
    },
    origin: { name: "booth-gateway", sw_version: version },
  };
}

/** Spells true and false as it would; Python's own way begins with a capital. What isn't known is empty. */
const VALUE =
  "{{ (value_json.value | string | lower) if value_json.value is boolean else ('' if value_json.value is none else value_json.value) }}";

function valueOf({ payload }: PlainConfig, state_topic: string): Entity {
  return payload === "json" ? { state_topic, value_template: VALUE } : { state_topic };
}

function figureEntity(config: PlainConfig, booth: Subject, { figure, label, sort, unit, diagnostic }: Figure): Entity {
  return {
    name: sentence(label),
    ...valueOf(config, topicOf(config.topics.figure, booth, { figure })),
    ...(unit === "" ? {} : { unit_of_measurement: unit }),
    ...(diagnostic ? { entity_category: "diagnostic" } : {}),
    ...SORTS[sort],
  };
}

const SORTS: Readonly<Record<Figure["sort"], Entity>> = {
  mode: { device_class: "enum", options: [...MODES_LISTED] },
  time: { device_class: "timestamp" },
  count: { state_class: "measurement" },
  total: { state_class: "total_increasing" },
  minutes: { device_class: "duration", state_class: "measurement" },
  hours: { device_class: "duration", state_class: "measurement" },
  percent: { state_class: "measurement" },
  state: {},
};

/** The units that Home Assistant accepts for each device class, by the spelling of `src/domain/engineering-units.ts`. */
const CLASSES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  temperature: { C: "°C", F: "°F", K: "K" },
  pressure: { Pa: "Pa", hPa: "hPa", kPa: "kPa", bar: "bar", mbar: "mbar", psi: "psi", inHg: "inHg", mmHg: "mmHg" },
  energy: { Wh: "Wh", kWh: "kWh", MWh: "MWh", MJ: "MJ", GJ: "GJ" },
  gas: { m3: "m³", ft3: "ft³", CCF: "CCF" },
  frequency: { Hz: "Hz", kHz: "kHz" },
  duration: { ms: "ms", s: "s", min: "min", h: "h", d: "d" },
  voltage: { V: "V", mV: "mV", kV: "kV" },
  current: { A: "A", mA: "mA" },
  power: { W: "W", kW: "kW", MW: "MW" },
  volume_flow_rate: { "m3/h": "m³/h", "l/min": "L/min", CFM: "ft³/min", GPM: "gal/min" },
  speed: { "m/s": "m/s", "km/h": "km/h", "ft/s": "ft/s" },
  humidity: { "%RH": "%" },
};
/** Classes of what only grows. */
const TOTALS: readonly string[] = ["energy", "gas"];

const UNITS: ReadonlyMap<string, Entity> = new Map(
  Object.entries(CLASSES).flatMap(([device_class, units]) =>
    Object.entries(units).map(([unit, unit_of_measurement]) => {
      const state_class = TOTALS.includes(device_class) ? "total_increasing" : "measurement";
      return [unit, { unit_of_measurement, device_class, state_class }] as const;
    }),
  ),
);

/** A unit that Home Assistant has no class for is shown as it is. */
function unitOf({ unit }: TagParameters): Entity {
  if (unit === "") return {};
  return UNITS.get(unit) ?? { unit_of_measurement: unit, state_class: "measurement" };
}
