import { MODES_LISTED } from "../../domain/booth.ts";
import type { Parameters } from "../../domain/parameters.ts";
import type { TagName } from "../../domain/units.ts";
import type { Message } from "../port.ts";
import type { Figure } from "./figures.ts";
import { type PlainConfig, statusTopic, type Subject, topicOf } from "./plain.ts";

/** A booth as Home Assistant's discovery announces it: a device with an entity for each figure and each tag. */
export interface Announced extends Subject {
  readonly version: string;
  readonly parameters: Parameters | null;
  readonly figures: readonly Figure[];
  /** Tags with boolean values. */
  readonly switches: ReadonlySet<TagName>;
  /** The firmware of the PLC; null if it is unknown. */
  readonly firmware_version: string | null;
}

type Entity = Readonly<Record<string, unknown>>;

/** Returns the retained discovery messages of a booth, one for each entity; empty if discovery is not configured. */
export function discoveryOf(config: PlainConfig, booth: Announced): readonly Message[] {
  const prefix = config.home_assistant?.prefix;
  if (prefix === undefined) return [];
  const node = idOf(`${booth.gateway}_${booth.booth}`);
  const shared = sharedKeys(config, booth, node);
  const message = (component: "sensor" | "binary_sensor", name: string, entity: Entity): Message => ({
    topic: `${prefix}/${component}/${node}/${idOf(name)}/config`,
    payload: JSON.stringify({ ...entity, unique_id: `${node}_${name}`, ...shared }),
    qos: 1,
    retain: true,
  });
  return [
    ...booth.figures.map((figure) => message("sensor", figure.figure, figureEntity(config, booth, figure))),
    ...Object.entries(booth.parameters?.tags ?? {}).map(([tag, { unit }]) => {
      const named = { name: sentence(tag), entity_category: "diagnostic" };
      const entity = { ...named, ...valueKeys(config, topicOf(config.topics.tag, booth, { tag })) };
      return booth.switches.has(tag)
        ? message("binary_sensor", `tag_${tag}`, { ...entity, payload_on: "true", payload_off: "false" })
        : message("sensor", `tag_${tag}`, { ...entity, ...unitKeys(unit) });
    }),
  ];
}

/** Replaces characters that a discovery topic does not allow, which are all except letters, digits, dashes and underscores. */
function idOf(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

function sentence(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function sharedKeys(config: PlainConfig, booth: Announced, node: string): Entity {
  const { gateway, serial, version, firmware_version } = booth;
  return {
    availability_topic: statusTopic(config, gateway),
    qos: 1,
    device: {
      identifiers: [node],
      name: `Booth ${serial ?? booth.booth}`,
      ...(serial === null ? {} : { serial_number: serial }),
      ...(firmware_version === null ? {} : { sw_version: firmware_version }),
    },
    origin: { name: "booth-gateway", sw_version: version },
  };
}

/** A template that writes booleans in lower case, as binary sensors expect; Python would write a capital. Unknown values are empty. */
const VALUE =
  "{{ (value_json.value | string | lower) if value_json.value is boolean else ('' if value_json.value is none else value_json.value) }}";

function valueKeys({ payload }: PlainConfig, state_topic: string): Entity {
  return payload === "json" ? { state_topic, value_template: VALUE } : { state_topic };
}

function figureEntity(config: PlainConfig, booth: Subject, { figure, label, sort, unit, diagnostic }: Figure): Entity {
  return {
    name: sentence(label),
    ...valueKeys(config, topicOf(config.topics.figure, booth, { figure })),
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

/** Home Assistant's units by device class, keyed by the agent's spelling of the unit (`src/domain/engineering-units.ts`). */
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
/** Device classes of counters that only grow. */
const TOTALS: readonly string[] = ["energy", "gas"];

const UNITS: ReadonlyMap<string, Entity> = new Map(
  Object.entries(CLASSES).flatMap(([device_class, units]) =>
    Object.entries(units).map(([unit, unit_of_measurement]) => {
      const state_class = TOTALS.includes(device_class) ? "total_increasing" : "measurement";
      return [unit, { unit_of_measurement, device_class, state_class }] as const;
    }),
  ),
);

/** Returns the keys for a unit. A unit without a device class is shown as it is. */
function unitKeys(unit: string): Entity {
  if (unit === "") return {};
  return UNITS.get(unit) ?? { unit_of_measurement: unit, state_class: "measurement" };
}
