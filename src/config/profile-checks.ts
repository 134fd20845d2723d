import { message, type Message } from "../domain/message.ts";
import { modeTagOf } from "../domain/mode-bits.ts";
import {
  isBitTable,
  LAST_ADDRESS,
  type ModbusPoint,
  type ModbusType,
  type OpcuaType,
  pointWidth,
} from "../domain/profile.ts";
import { didYouMean } from "./nearest.ts";
import type { ModbusProfileInput, ProfileInput, TagInput } from "./profile-schema.ts";
import { AT_KEY, type Fault } from "./yaml-source.ts";

const FILTER_ROLES: ReadonlySet<string> = new Set(["filter_minutes", "filter_reset", "filter_pressure"]);
/** The lowest and the highest raw value of each integer type. */
const INTEGER_RANGES: Readonly<Partial<Record<ModbusType | OpcuaType, readonly [bigint, bigint]>>> = {
  uint8: [0n, 255n],
  int8: [-128n, 127n],
  uint16: [0n, 65_535n],
  int16: [-32_768n, 32_767n],
  bcd16: [0n, 9_999n],
  uint32: [0n, 4_294_967_295n],
  int32: [-2_147_483_648n, 2_147_483_647n],
  bcd32: [0n, 99_999_999n],
  uint64: [0n, 2n ** 64n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** Returns the faults of a profile that concern its names, its modes or its holes (addresses that the device refuses). */
export function checkProfile(input: ProfileInput): readonly Fault[] {
  return [...checkNames(input), ...checkModes(input), ...checkHoles(input)];
}

/** Returns the faults of a tag, except the faults of its address. */
export function checkTag(input: ProfileInput, tag: TagInput): readonly Fault[] {
  const faults: Fault[] = [];
  const groups = Object.keys(input.groups);
  if (!groups.includes(tag.group))
    faults.push(["group", message("config.no_group", { group: tag.group }), { hint: didYouMean(tag.group, groups) }]);
  const wantsFilter = tag.role !== undefined && FILTER_ROLES.has(tag.role);
  if (wantsFilter && tag.filter === undefined)
    faults.push(["role", message("config.needs_filter", { role: String(tag.role) })]);
  if (!wantsFilter && tag.filter !== undefined) faults.push(["filter", message("config.filter_role")]);
  if (tag.min !== undefined && tag.max !== undefined && tag.min > tag.max)
    faults.push(["min", message("config.min_max")]);
  if (tag.counter !== undefined && !isNumeric(tag))
    faults.push(["counter", message("config.no_counter", { type: tag.type })]);
  if (tag.deadband_percent !== undefined && (tag.counter !== undefined || !isNumeric(tag))) {
    const isCounter = tag.counter !== undefined;
    const { type } = tag;
    faults.push([
      "deadband_percent",
      isCounter ? message("config.counter_deadband") : message("config.no_deadband", { type }),
    ]);
  }
  if ((tag.min !== undefined || tag.max !== undefined) && !isNumeric(tag)) {
    faults.push([tag.min === undefined ? "max" : "min", message("config.no_limits", { type: tag.type })]);
  }
  if (tag.between !== undefined && !isNumeric(tag))
    faults.push(["between", message("config.no_limits", { type: tag.type })]);
  return [...faults, ...checkSentinels(tag), ...checkLabels(tag), ...checkModulus(tag)];
}

/** Returns the faults of a tag's address: its table, width, bits, and the orders of words and bytes. */
export function checkPoint(point: ModbusPoint, quirks: ModbusProfileInput["modbus"]): readonly Fault[] {
  const faults: Fault[] = [];
  const bits = isBitTable(point.table);
  if (quirks.tables !== undefined && !quirks.tables.includes(point.table)) {
    faults.push(["address", message("config.not_served", { tables: quirks.tables.join(", "), table: point.table })]);
  }
  if (bits && point.type !== "bool") faults.push(["type", message("config.bool_table", { table: point.table })]);
  if (bits && point.bit !== undefined) faults.push(["bit", message("config.no_bits", { table: point.table })]);
  if (!bits && point.type === "bool" && point.bit === undefined) {
    faults.push(["type", message("config.needs_bit")]);
  }
  if (point.type !== "bool" && point.bit !== undefined) faults.push(["bit", message("config.only_bool")]);
  if (point.type === "string" && point.length === undefined) faults.push(["type", message("config.needs_length")]);
  if (point.type !== "string" && point.length !== undefined) faults.push(["length", message("config.only_string")]);
  const last = point.address + pointWidth(point) - 1;
  if (last > LAST_ADDRESS) faults.push(["address", message("config.value_beyond")]);
  if (!bits && pointWidth(point) > quirks.max_registers) {
    faults.push(["length", message("config.too_long_read", { max: quirks.max_registers })]);
  }
  const hole = (quirks.holes[point.table] ?? []).find(([from, to]) => point.address <= to && last >= from);
  if (hole !== undefined) {
    const [from, to] = hole;
    faults.push(["address", message("config.in_hole", { from, to, table: point.table })]);
  }
  const isText = point.type === "string";
  if (point.string_order !== undefined && !isText) faults.push(["string_order", message("config.only_string_order")]);
  if (point.byte_order !== undefined && isText) faults.push(["byte_order", message("config.string_order")]);
  if (point.word_order !== undefined && isText) faults.push(["word_order", message("config.string_words")]);
  return faults;
}

function isNumeric(tag: TagInput): boolean {
  return tag.type !== "bool" && tag.type !== "string";
}

function checkSentinels(tag: TagInput): readonly Fault[] {
  if (tag.sentinels.length > 0 && !isNumeric(tag))
    return [["sentinels", message("config.no_sentinels", { type: tag.type })]];
  const range = INTEGER_RANGES[tag.type];
  if (range === undefined) return [];
  const unreadable = tag.sentinels.find((raw) => {
    if (typeof raw === "number" && !Number.isInteger(raw)) return true;
    return BigInt(raw) < range[0] || BigInt(raw) > range[1];
  });
  if (unreadable !== undefined)
    return [["sentinels", message("config.unreadable", { value: unreadable, type: tag.type })]];
  const inexact = tag.sentinels.find((raw) => typeof raw === "number" && !Number.isSafeInteger(raw));
  return inexact === undefined ? [] : [["sentinels", message("config.inexact", { value: inexact })]];
}

function checkLabels(tag: TagInput): readonly Fault[] {
  if (tag.labels === undefined) return [];
  const range = INTEGER_RANGES[tag.type];
  if (range === undefined) return [["labels", message("config.no_labels", { type: tag.type })]];
  const faults: Fault[] = [];
  if (tag.scale !== 1 || tag.offset !== 0) faults.push(["labels", message("config.labels_scale")]);
  if (tag.counter !== undefined) faults.push(["labels", message("config.labels_counter")]);
  const outside = Object.keys(tag.labels).find((raw) => BigInt(raw) < range[0] || BigInt(raw) > range[1]);
  if (outside !== undefined) faults.push(["labels", message("config.unreadable", { value: outside, type: tag.type })]);
  return faults;
}

/**
 * Checks a counter's modulus: it can't exceed the range of the counter's registers, but it may be smaller, as with a program's own
 * rollover.
 */
function checkModulus(tag: TagInput): readonly Fault[] {
  const range = INTEGER_RANGES[tag.type];
  const modulus = tag.counter?.modulus;
  if (range === undefined || modulus === undefined) return [];
  const largest = (Number(range[1]) + 1) * Math.abs(tag.scale);
  if (modulus <= largest * (1 + 1e-9)) return [];
  return [["counter", message("config.wraps", { type: tag.type, largest, modulus })]];
}

function checkNames({ tags }: ProfileInput): readonly Fault[] {
  return tags.flatMap(({ name }, index): readonly Fault[] => {
    const earlier = tags.findIndex((tag) => tag.name === name);
    if (earlier === index) return [];
    const hint = message("config.first_used", { at: earlier });
    return [[["tags", index, "name"], message("config.name_taken", { name }), { hint }]];
  });
}

function checkModes(input: ProfileInput): readonly Fault[] {
  const faults = [...checkModeTags(input), ...checkModeBits(input)];
  const hasBits = input.tags.some(({ role }) => role === "mode_bit");
  const hasTags = hasBits || input.tags.some(({ role }) => role === "mode");
  const isMapped = Object.keys(input.modes).length > 0;
  if (input.kind === "device") {
    if (hasTags || isMapped) faults.push(["kind", message("config.modeless")]);
    return faults;
  }
  if (!hasTags) faults.push(["tags", message("profile.no_mode_tag"), AT_KEY]);
  if (!isMapped && !hasBits) faults.push(["modes", message("profile.no_mode"), AT_KEY]);
  return faults;
}

function checkModeTags({ tags }: ProfileInput): readonly Fault[] {
  return tags.flatMap(({ role, bay }, index): readonly Fault[] => {
    if (role !== "mode" || tags.findIndex((tag) => tag.role === "mode" && tag.bay === bay) === index) return [];
    return [[["tags", index, "role"], message("config.second_mode", { bay })]];
  });
}

/** Checks the mode bits (one bit per mode) of each bay. They must be read together, and no other tag may give the bay's mode. */
function checkModeBits({ tags }: ProfileInput): readonly Fault[] {
  return tags.flatMap(({ role, mode, bay, group }, index): readonly Fault[] => {
    const fault = (key: string, text: Message): readonly Fault[] => [[["tags", index, key], text]];
    if (role !== "mode_bit") return mode === undefined ? [] : fault("mode", message("config.only_mode_bit"));
    if (mode === undefined) return fault("role", message("config.needs_mode"));
    if (tags.some((other) => other.role === "mode" && other.bay === bay)) {
      return fault("role", message("config.mode_and_bit", { bay }));
    }
    if (tags.some((other) => other.name === modeTagOf(bay))) {
      return fault("role", message("config.mode_bit_tag", { bay, tag: modeTagOf(bay) }));
    }
    const isBit = (tag: TagInput): boolean => tag.role === "mode_bit" && tag.mode !== undefined && tag.bay === bay;
    const shared = tags.find(isBit)?.group ?? group;
    return group === shared ? [] : fault("group", message("config.bits_group", { bay, group: shared }));
  });
}

function checkHoles(input: ProfileInput): readonly Fault[] {
  if (input.protocol !== "modbus") return [];
  return Object.entries(input.modbus.holes).flatMap(([table, ranges]) =>
    ranges.flatMap(([from, to], index): readonly Fault[] =>
      from <= to ? [] : [[["modbus", "holes", table, index], message("config.range_ends", { from, to })]],
    ),
  );
}
