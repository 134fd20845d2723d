/**
 * The fields that Home Assistant's MQTT discovery accepts, from its own repository: keys of a sensor and a binary sensor
 * (homeassistant/components/mqtt/sensor.py at 17309b7 and binary_sensor.py at 1215908, what both have in common in schemas.py at c6ca7f5,
 * `options` in abbreviations.py at 911803b), of a device and an origin (schemas.py). Read there in November 2026; nothing here was tried
 * against Home Assistant itself.
 */
const COMMON = [
  "availability",
  "availability_mode",
  "availability_template",
  "availability_topic",
  "payload_available",
  "payload_not_available",
  "device",
  "origin",
  "enabled_by_default",
  "entity_category",
  "icon",
  "json_attributes_topic",
  "json_attributes_template",
  "object_id",
  "unique_id",
  "encoding",
  "qos",
  "state_topic",
  "value_template",
  "device_class",
  "expire_after",
  "force_update",
  "name",
] as const;

export const KEYS = {
  sensor: [...COMMON, "last_reset_value_template", "options", "state_class", "unit_of_measurement"],
  binary_sensor: [...COMMON, "off_delay", "payload_off", "payload_on"],
  device: [
    "identifiers",
    "connections",
    "manufacturer",
    "model",
    "model_id",
    "name",
    "hw_version",
    "serial_number",
    "sw_version",
    "via_device",
    "suggested_area",
    "configuration_url",
  ],
  origin: ["name", "sw_version", "support_url"],
} as const satisfies Record<string, readonly string[]>;

/** A device needs an identifier, and an entity a unique id to belong to one. */
export const REQUIRED = {
  sensor: ["state_topic", "unique_id"],
  binary_sensor: ["state_topic", "unique_id"],
  device: ["identifiers"],
  origin: ["name"],
} as const satisfies Record<keyof typeof KEYS, readonly string[]>;

export const CATEGORIES: readonly unknown[] = ["config", "diagnostic"];
