import { say } from "../domain/sentences.ts";
import { modeTagOf } from "../domain/mode-bits.ts";
import {
  isBitTable,
  LAST_ADDRESS,
  type ModbusPoint,
  type ModbusType,
  type OpcuaType,
  pointWidth,
} from "../domain/profile.ts";
import type { Problem } from "./config-error.ts";
import { didYouMean } from "./nearest.ts";
import type { ModbusProfileInput, ProfileInput, TagInput } from "./profile-schema.ts";
import type { YamlSource } from "./yaml-source.ts";

/** What the schema can't say because it concerns more than one value. Each check gives problems, never throws. */

export type Fault = readonly [key: string, message: string, hint?: string | undefined];

const FILTER_ROLES: ReadonlySet<string> = new Set(["filter_minutes", "filter_reset", "filter_pressure"]);
/** Lowest and highest raw value. */
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

/** Checks that concern the profile as a whole. */
export function checkProfile(input: ProfileInput, source: YamlSource): readonly Problem[] {
  return [...checkNames(input, source), ...checkModes(input, source), ...checkHoles(input, source)];
}

/** Checks of one tag that need no address. */
export function checkTag(input: ProfileInput, tag: TagInput): readonly Fault[] {
  const faults: Fault[] = [];
  const groups = Object.keys(input.groups);
  if (!groups.includes(tag.group))
    faults.push(["group", say("config.no_group", { group: tag.group }), didYouMean(tag.group, groups)]);
  const wantsFilter = tag.role !== undefined && FILTER_ROLES.has(tag.role);
  if (wantsFilter && tag.filter === undefined)
    faults.push(["role", say("config.needs_filter", { role: String(tag.role) })]);
  if (!wantsFilter && tag.filter !== undefined) faults.push(["filter", say("config.filter_role")]);
  if (tag.min !== undefined && tag.max !== undefined && tag.min > tag.max) faults.push(["min", say("config.min_max")]);
  if (tag.counter !== undefined && !isNumeric(tag))
    faults.push(["counter", say("config.no_counter", { type: tag.type })]);
  if (tag.deadband_percent !== undefined && (tag.counter !== undefined || !isNumeric(tag))) {
    const what = tag.counter === undefined ? `a ${tag.type}` : "a counter";
    faults.push(["deadband_percent", `${what} has no deadband in percent`]);
  }
  if ((tag.min !== undefined || tag.max !== undefined) && !isNumeric(tag)) {
    faults.push([tag.min === undefined ? "max" : "min", say("config.no_limits", { type: tag.type })]);
  }
  if (tag.between !== undefined && !isNumeric(tag))
    faults.push(["between", say("config.no_limits", { type: tag.type })]);
  return [...faults, ...checkSentinels(tag), ...checkLabels(tag), ...checkModulus(tag)];
}

/** Checks of one tag against its device: the table that its address lies in, the orders of words and bytes. */
export function checkPoint(point: ModbusPoint, quirks: ModbusProfileInput["modbus"]): readonly Fault[] {
  const faults: Fault[] = [];
  const bits = isBitTable(point.table);
  if (quirks.tables !== undefined && !quirks.tables.includes(point.table)) {
    faults.push(["address", say("config.not_served", { tables: quirks.tables.join(", "), table: point.table })]);
  }
  if (bits && point.type !== "bool") faults.push(["type", say("config.bool_table", { table: point.table })]);
  if (bits && point.bit !== undefined) faults.push(["bit", say("config.no_bits", { table: point.table })]);
  if (!bits && point.type === "bool" && point.bit === undefined) {
    faults.push(["type", say("config.needs_bit")]);
  }
  if (point.type !== "bool" && point.bit !== undefined) faults.push(["bit", say("config.only_bool")]);
  if (point.type === "string" && point.length === undefined) faults.push(["type", say("config.needs_length")]);
  if (point.type !== "string" && point.length !== undefined) faults.push(["length", say("config.only_string")]);
  const last = point.address + pointWidth(point) - 1;
  if (last > LAST_ADDRESS) faults.push(["address", say("config.value_beyond")]);
  if (!bits && pointWidth(point) > quirks.max_registers) {
    faults.push(["length", say("config.too_long_read", { max: quirks.max_registers })]);
  }
  const hole = (quirks.holes[point.table] ?? []).find(([from, to]) => point.address <= to && last >= from);
  if (hole !== undefined)
    faults.push(["address", `lies in the declared hole ${hole[0]}..${hole[1]} of table ${point.table}`]);
  return [...faults, ...checkOrders(point)];
}

function isNumeric(tag: TagInput): boolean {
  return tag.type !== "bool" && tag.type !== "string";
}

function checkSentinels(tag: TagInput): readonly Fault[] {
  if (tag.sentinels.length > 0 && !isNumeric(tag))
    return [["sentinels", say("config.no_sentinels", { type: tag.type })]];
  const range = INTEGER_RANGES[tag.type];
  if (range === undefined) return [];
  const unreadable = tag.sentinels.find((raw) => {
    if (typeof raw === "number" && !Number.isInteger(raw)) return true;
    return BigInt(raw) < range[0] || BigInt(raw) > range[1];
  });
  if (unreadable !== undefined) return [["sentinels", say("config.unreadable", { value: unreadable, type: tag.type })]];
  const inexact = tag.sentinels.find((raw) => typeof raw === "number" && !Number.isSafeInteger(raw));
  return inexact === undefined ? [] : [["sentinels", say("config.inexact", { value: inexact })]];
}

function checkLabels(tag: TagInput): readonly Fault[] {
  if (tag.labels === undefined) return [];
  const range = INTEGER_RANGES[tag.type];
  if (range === undefined) return [["labels", say("config.no_labels", { type: tag.type })]];
  const faults: Fault[] = [];
  if (tag.scale !== 1 || tag.offset !== 0) faults.push(["labels", say("config.labels_scale")]);
  if (tag.counter !== undefined) faults.push(["labels", say("config.labels_counter")]);
  const outside = Object.keys(tag.labels).find((raw) => BigInt(raw) < range[0] || BigInt(raw) > range[1]);
  if (outside !== undefined) faults.push(["labels", say("config.unreadable", { value: outside, type: tag.type })]);
  return faults;
}

function checkOrders(point: ModbusPoint): readonly Fault[] {
  const faults: Fault[] = [];
  const isText = point.type === "string";
  if (point.string_order !== undefined && !isText) faults.push(["string_order", say("config.only_string_order")]);
  if (point.byte_order !== undefined && isText) faults.push(["byte_order", say("config.string_order")]);
  if (point.word_order !== undefined && isText) faults.push(["word_order", say("config.string_words")]);
  return faults;
}

/** A counter can't count further than its registers; what is smaller (a program's own rollover) is possible. */
function checkModulus(tag: TagInput): readonly Fault[] {
  const range = INTEGER_RANGES[tag.type];
  const modulus = tag.counter?.modulus;
  if (range === undefined || modulus === undefined) return [];
  const largest = (Number(range[1]) + 1) * Math.abs(tag.scale);
  if (modulus <= largest * (1 + 1e-9)) return [];
  return [["counter", say("config.wraps", { type: tag.type, largest, modulus })]];
}

function checkNames(input: ProfileInput, source: YamlSource): readonly Problem[] {
  const first = new Map<string, number>();
  return input.tags.flatMap(({ name }, index) => {
    const earlier = first.get(name);
    first.set(name, earlier ?? index);
    const hint = earlier === undefined ? undefined : say("config.first_used", { at: earlier });
    return earlier === undefined
      ? []
      : [source.problemAt(["tags", index, "name"], say("config.name_taken", { name }), { hint })];
  });
}

function checkModes(input: ProfileInput, source: YamlSource): readonly Problem[] {
  const tags = input.tags.filter(({ role }) => role === "mode");
  const bits = input.tags.filter(({ role }) => role === "mode_bit");
  const problems = [...checkModeTags(input, source), ...checkModeBits(input, source)];
  const mapped = Object.keys(input.modes).length > 0;
  if (input.kind === "device") {
    const modeless = tags.length + bits.length === 0 && !mapped;
    return modeless ? problems : [...problems, source.problemAt(["kind"], say("config.modeless"))];
  }
  if (tags.length + bits.length === 0)
    problems.push(source.problemAt(["tags"], say("profile.no_mode_tag"), { at: "key" }));
  if (!mapped && bits.length === 0) problems.push(source.problemAt(["modes"], say("profile.no_mode"), { at: "key" }));
  return problems;
}

function checkModeTags({ tags }: ProfileInput, source: YamlSource): readonly Problem[] {
  const bays = new Set<number>();
  return tags.flatMap(({ role, bay }, index) => {
    if (role !== "mode") return [];
    const is_second = bays.has(bay);
    bays.add(bay);
    return is_second ? [source.problemAt(["tags", index, "role"], say("config.second_mode", { bay }))] : [];
  });
}

/** Bits of a bay are read together, and make the mode that another tag must not give. */
function checkModeBits({ tags }: ProfileInput, source: YamlSource): readonly Problem[] {
  const first = new Map<number, string>();
  return tags.flatMap(({ name, role, mode, bay, group }, index) => {
    const problem = (key: string, text: string): Problem[] => [source.problemAt(["tags", index, key], text)];
    if (role !== "mode_bit") return mode === undefined ? [] : problem("mode", say("config.only_mode_bit"));
    if (mode === undefined) return problem("role", say("config.needs_mode"));
    if (tags.some((other) => other.role === "mode" && other.bay === bay))
      return problem("role", say("config.mode_and_bit", { bay }));
    if (tags.some((other) => other.name === modeTagOf(bay)))
      return problem("role", `the bits of bay ${bay} make the tag "${modeTagOf(bay)}", and ${name} stands beside one`);
    const together = first.get(bay) ?? group;
    first.set(bay, together);
    return group === together ? [] : problem("group", `the bits of bay ${bay} are read in one group, ${together}`);
  });
}

function checkHoles(input: ProfileInput, source: YamlSource): readonly Problem[] {
  if (input.protocol !== "modbus") return [];
  return Object.entries(input.modbus.holes).flatMap(([table, ranges]) =>
    ranges.flatMap(([from, to], index) =>
      from <= to
        ? []
        : [source.problemAt(["modbus", "holes", table, index], `the range ends (${to}) before it starts (${from})`)],
    ),
  );
}
