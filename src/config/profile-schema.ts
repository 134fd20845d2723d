import { z } from "zod";
import { FILTER_TYPES } from "../domain/booth.ts";
import { TAG_ROLES } from "../domain/parameters.ts";
import { MODBUS_TABLES, MODBUS_TYPES, OPCUA_TYPES } from "../domain/profile.ts";
import {
  groupNameSchema,
  groupSchema,
  limitsSchema,
  modeSetsSchema,
  perFilter,
  profileModeSchema,
  profileNameSchema,
  whole,
} from "./common-schema.ts";
import { shapeFault } from "./shape-faults.ts";
import { bakeRulesSchema } from "./records-schema.ts";

const uri = z.string().min(1).max(500);
const name = z.string().min(1).max(500);

const nodeSchema = z
  .union([name, z.strictObject({ namespace: uri, id: name })], shapeFault("config.node"))
  .describe("nsu=URI;s=NAME, or s=NAME in the profile's namespace, or i=NUMBER with nsu=, or {namespace, id}.");

const pathSchema = z
  .array(name)
  .min(1)
  .max(32)
  .describe("Browse path below the folder Objects. Each name is NAME in the profile's namespace, or nsu=URI;NAME.");

const opcuaSchema = z.strictObject({
  namespace: uri.exactOptional().describe("URI of the default namespace of nodes and names."),
  max_nodes_per_read: whole(1, 1000)
    .default(100)
    .describe("Maximum number of variables in one read, unless the server's limit is lower."),
});

/** The default heartbeat: a record at least every quarter of an hour shows that a tag is still read. */
const DEFAULT_HEARTBEAT_MS = 900_000;
/** The Modbus protocol's limits for a single answer. */
const PROTOCOL_MAX_REGISTERS = 125;
const PROTOCOL_MAX_BITS = 2000;
/** The maximum number of tags in a profile, well above any booth. The limit protects against reading a wrong file. */
export const MOST_TAGS = 2000;

const wordOrder = z.enum(["high_first", "low_first"]);
const address = whole(0, 65_535);
const range = z.tuple([address, address]);
const holes = z
  .strictObject({
    coil: z.array(range).exactOptional(),
    discrete: z.array(range).exactOptional(),
    input: z.array(range).exactOptional(),
    holding: z.array(range).exactOptional(),
  })
  .default({})
  .describe("Ranges for which the device returns an exception, 0-based and inclusive. No request includes them.");

const modbusSchema = z.strictObject({
  unit_id: whole(0, 255).default(1),
  word_order: wordOrder
    .default("high_first")
    .describe("Register order of a longer value: high_first is ABCD, low_first is CDAB."),
  byte_order: wordOrder
    .exactOptional()
    .describe("Byte order in a register: low_first is BADC, or DCBA with word_order low_first."),
  string_order: wordOrder.default("high_first").describe("Byte of a register that contains the first character."),
  max_registers: whole(2, PROTOCOL_MAX_REGISTERS).default(PROTOCOL_MAX_REGISTERS),
  max_bits: whole(1, PROTOCOL_MAX_BITS).default(PROTOCOL_MAX_BITS),
  holes,
  min_gap_ms: whole(0, 5000)
    .default(0)
    .describe("Pause that the device needs between a response and the next request."),
  connect_delay_ms: whole(0, 30_000).default(0).describe("Pause after connecting."),
  idle_close_ms: whole(500, 3_600_000)
    .exactOptional()
    .describe("Idle time after which the device closes a connection."),
  tables: z
    .array(z.enum(MODBUS_TABLES))
    .min(1)
    .exactOptional()
    .describe("Tables that the device supports. Default: all."),
});

const counterSchema = z.strictObject({
  step: z.number().positive().describe("Size of one step, in the tag's unit."),
  modulus: z
    .number()
    .positive()
    .exactOptional()
    .describe("The counter wraps from modulus - step to 0. Absent: the counter is not known to wrap."),
  max_rate_per_h: z.number().positive().exactOptional(),
  retained: z.boolean().describe("true if the PLC keeps the count over a power cycle."),
});

const tagName = {
  name: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, shapeFault("config.tag_name")),
  label: z.string().min(1).max(100).exactOptional(),
  role: z.enum(TAG_ROLES).exactOptional().describe("Use of the tag in the derivation."),
  mode: profileModeSchema.exactOptional().describe("With the role mode_bit: the mode in which the bit is on."),
  filter: z.enum(FILTER_TYPES).exactOptional(),
  bay: whole(0, 4).default(0).describe("0: the whole booth."),
};

const tagMeaning = {
  scale: z
    .number()
    .refine((scale) => scale !== 0, shapeFault("config.scale_zero"))
    .default(1),
  offset: z.number().default(0),
  sentinels: z
    .array(
      z.union([z.number(), z.string().regex(/^(-?\d{1,20}|0x[0-9a-fA-F]{1,16})$/, shapeFault("config.whole_text"))]),
    )
    .default([])
    .describe('Raw values that mean "no value". Write values beyond 2^53 as text.'),
  labels: z
    .record(z.string().regex(/^-?\d{1,20}$/, shapeFault("config.raw_value")), z.string().min(1).max(60))
    .exactOptional()
    .describe("Text for each raw value. The tag's value is then the text."),
  min: z.number().exactOptional().describe("Lowest possible value. A lower reading is bad."),
  max: z.number().exactOptional().describe("Highest possible value. A higher reading is bad."),
  group: groupNameSchema,
  unit: z.string().max(20).default(""),
  factor: z.number().positive().default(1).describe("Value in the figure's unit = value x factor."),
  deadband: z.number().min(0).default(0).describe("Changes up to this size are not logged, in the tag's unit."),
  deadband_percent: z
    .number()
    .positive()
    .max(50)
    .exactOptional()
    .describe("Deadband in percent of the last logged value. The larger deadband applies. Not for counters."),
  heartbeat_ms: whole(1000, 86_400_000).default(DEFAULT_HEARTBEAT_MS),
  between: z
    .strictObject({ min: z.number(), max: z.number() })
    .refine(({ min, max }) => min < max, shapeFault("config.min_below"))
    .exactOptional()
    .describe("Range that the process should stay in. A value outside is a valid reading, but opens an incident."),
  counter: counterSchema.exactOptional(),
};

const modbusTagSchema = z.strictObject({
  ...tagName,
  address: z
    .union([z.int(), z.string()], shapeFault("config.address"))
    .describe(
      "400001 or 40001 or 4x0001 (holding), 300001 (input), 100001 (discrete), '000001' (coil), or TABLE:NUMBER, 0-based. 10001 to 19999 are rejected, because they could be a coil or a discrete input.",
    ),
  type: z.enum(MODBUS_TYPES),
  word_order: wordOrder.exactOptional(),
  byte_order: wordOrder.exactOptional(),
  string_order: wordOrder.exactOptional(),
  length: whole(1, PROTOCOL_MAX_REGISTERS).exactOptional().describe("Registers of a string."),
  bit: whole(0, 15).exactOptional().describe("Number of the bit in a register that holds a bool."),
  ...tagMeaning,
});

const opcuaTagSchema = z.strictObject({
  ...tagName,
  node: nodeSchema.exactOptional(),
  path: pathSchema.exactOptional(),
  type: z.enum(OPCUA_TYPES),
  ...tagMeaning,
});

const filterSchema = z.strictObject({
  limits: limitsSchema,
  baseline_pa: z.number().min(0).exactOptional().describe("Clean pressure drop, Pa."),
});

const profileHead = {
  name: profileNameSchema,
  version: z.string().min(1).max(40),
  kind: z
    .enum(["booth", "device"])
    .exactOptional()
    .describe("device: a single drive, burner or sensor, without modes. Default: booth."),
};

const profileBody = {
  vendor: z.string().max(200).default(""),
  document: z.string().max(1000).default("").describe("Source document of the register map."),
  groups: z.record(groupNameSchema, groupSchema),
  modes: z
    .record(z.string().max(40), profileModeSchema)
    .describe("Mode for each code of the PLC. The code is written as text."),
  mode_sets: modeSetsSchema.default({}),
  filters: perFilter(filterSchema),
  bake_rules: bakeRulesSchema,
};

export const modbusProfileSchema = z.strictObject({
  ...profileHead,
  protocol: z.literal("modbus"),
  modbus: modbusSchema.prefault({}),
  ...profileBody,
  tags: z.array(modbusTagSchema).min(1).max(MOST_TAGS),
});

export const opcuaProfileSchema = z.strictObject({
  ...profileHead,
  protocol: z.literal("opcua"),
  opcua: opcuaSchema.prefault({}),
  ...profileBody,
  tags: z.array(opcuaTagSchema).min(1).max(MOST_TAGS),
});

/** The schema of profiles for editors. The loader uses only the schema of the file's protocol, so that its messages fit. */
export const profileSchema = z.discriminatedUnion("protocol", [modbusProfileSchema, opcuaProfileSchema]);

export type ModbusProfileInput = z.output<typeof modbusProfileSchema>;
export type ProfileInput = z.output<typeof profileSchema>;
export type OpcuaTagInput = z.output<typeof opcuaTagSchema>;
export type TagInput = ProfileInput["tags"][number];
