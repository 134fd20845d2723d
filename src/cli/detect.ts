import { parseAddress, type TableAddress } from "../config/profile-address.ts";
import { findProfile, SHIPPED_PROFILES } from "../config/profile.ts";
import {
  type Candidate,
  candidateOf,
  type Clues,
  DETECTABLE,
  type DetectableType,
  type OrderPair,
  ordersFor,
  type Place,
  placesOf,
  rank,
  type Ranked,
  widthOfType,
} from "../tools/rules/detect.ts";
import { modbusAddressText } from "../domain/plc-address.ts";
import type { ModbusAddress } from "../config/port.ts";
import type { ModbusProfile, ModbusTag } from "../domain/profile.ts";
import { CommandError, EXIT, type Run, type Values } from "./command.ts";
import { candidatesText, findingOf, findingText, type Finding } from "./detect-text.ts";
import { print } from "./print.ts";
import { MODBUS_PORT } from "../domain/places.ts";
import { USUAL_TYPES } from "./table/plc.ts";
import {
  chosenBooth,
  numberOption,
  unreachable,
  type PlcTools,
  type ToolCall,
  type ToolConnection,
} from "../tools/plc-tools.ts";

const TIMES = { connect_ms: 2500, answer_ms: 2000 } as const;

/** `booth-gateway detect`: which address, type and order a manual means. */
export function detectCommand(tools: PlcTools): Run {
  return async (call) => {
    const { answer, table, text } = await detected(tools, call);
    print(call, answer, () => `${table}${text}`);
    return answer.finding.best === null ? EXIT.failed : EXIT.ok;
  };
}

/** What it found; `table` and `text` tell the same for people. */
export async function detected(
  tools: PlcTools,
  { values, operands, io }: ToolCall,
): Promise<{ readonly answer: Detected; readonly table: string; readonly text: string }> {
  const wanted = wantedOf(values, operands[0] ?? "");
  const candidates = await readAll(wanted, tools, io).finally(() => io.progress(""));
  const ranked = rank(candidates, wanted.clues);
  const finding = findingOf(ranked);
  return {
    answer: { device: wanted.device, finding, ranked: ranked.map(plain) },
    table: candidatesText(candidates, finding),
    text: findingText(finding, wanted.clues, candidates),
  };
}

export interface Detected {
  readonly device: ModbusAddress;
  readonly finding: Finding;
  readonly ranked: readonly unknown[];
}

interface Wanted {
  readonly device: ModbusAddress;
  readonly unit: number;
  readonly places: readonly Place[];
  readonly types: readonly DetectableType[];
  readonly rules: { readonly scale: number; readonly offset: number };
  readonly first?: OrderPair["letters"] | undefined;
  readonly clues: Clues;
}

function plain({ candidate, misfit, off }: Ranked): unknown {
  const { place, type, order, value, words } = candidate;
  return { ...place, type, order: order.letters, words, value, off, plausible: misfit !== Infinity };
}

interface Subject {
  readonly at: TableAddress;
  readonly tag: ModbusTag | null;
  readonly profile: ModbusProfile | null;
  readonly unit: number;
  /** The booth's, where one is meant. */
  readonly device: ModbusAddress | null;
}

function wantedOf(values: Values, operand: string): Wanted {
  const { at, tag, profile, unit, device } = subjectOf(values, operand);
  const { table, address } = at;
  if (table !== "holding" && table !== "input") {
    throw new CommandError(
      `${operand} means a bit in table ${table}, which has no order to detect; for a register write holding:${address} or input:${address}`,
      EXIT.usage,
    );
  }
  const expect = numberOption(values, "expect");
  const min = tag?.point.min ?? tag?.between?.min;
  const max = tag?.point.max ?? tag?.between?.max;
  return {
    device: addressOf(values, device),
    unit: numberOption(values, "unit", { min: 0, max: 255 }) ?? unit,
    places: placesOf({ table, address }),
    types: typesOf(values, tag),
    rules: { scale: tag?.point.scale ?? 1, offset: tag?.point.offset ?? 0 },
    first: tag === null || profile === null ? undefined : lettersOf(tag, profile),
    clues: {
      ...(expect === undefined ? {} : { expect }),
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
    },
  };
}

function addressOf(values: Values, device: ModbusAddress | null): ModbusAddress {
  const port = numberOption(values, "port", { min: 1, max: 65_535 });
  const named = device === null || "serial" in device ? null : device;
  const host = typeof values["host"] === "string" ? values["host"] : named?.host;
  const isAsked = values["host"] !== undefined || port !== undefined || values["rtu"] !== undefined;
  if (device !== null && !isAsked) return device;
  if (host === undefined) throw new CommandError("name the PLC with --host", EXIT.usage);
  const framing = values["rtu"] === true ? "rtu" : named?.framing;
  return { host, port: port ?? named?.port ?? MODBUS_PORT, ...(framing === undefined ? {} : { framing }) };
}

function subjectOf(values: Values, operand: string): Subject {
  const at = parseAddress(operand);
  if ("table" in at) return { at, tag: null, profile: null, ...boothDevice(values) };
  if (typeof values["profile"] === "string") {
    const profile = findProfile(values["profile"], [SHIPPED_PROFILES]);
    return { ...tagIn(profile, operand, at.message), device: null };
  }
  const { booth, profile } = chosenBooth(values);
  const found = tagIn(profile, operand, at.message);
  const { modbus } = booth;
  return { ...found, unit: modbus?.unit_id ?? found.unit, device: modbus ?? null };
}

/** Where an address is to be read: at the host that is named, else at the booth's device. */
function boothDevice(values: Values): Pick<Subject, "unit" | "device"> {
  if (typeof values["host"] === "string") return { unit: 1, device: null };
  const { booth, profile } = chosenBooth(values);
  const unit = profile.protocol === "modbus" ? profile.quirks.unit_id : 1;
  return { unit: booth.modbus?.unit_id ?? unit, device: booth.modbus ?? null };
}

function tagIn(profile: ReturnType<typeof findProfile>, name: string, notAnAddress: string): Omit<Subject, "device"> {
  if (profile.protocol !== "modbus") {
    throw new CommandError(
      `the profile ${profile.name} is for ${profile.protocol}: its values have no orders`,
      EXIT.usage,
    );
  }
  const tag = profile.tags.find((one) => one.name === name);
  if (tag === undefined) {
    throw new CommandError(`${notAnAddress}, and the profile ${profile.name} has no tag of that name`, EXIT.usage);
  }
  const { table, address } = tag.point;
  return { at: { table, address }, tag, profile, unit: profile.quirks.unit_id };
}

function lettersOf({ point }: ModbusTag, { quirks }: ModbusProfile): OrderPair["letters"] {
  const word = (point.word_order ?? quirks.word_order) === "low_first";
  const byte = (point.byte_order ?? quirks.byte_order) === "low_first";
  if (word) return byte ? "DCBA" : "CDAB";
  return byte ? "BADC" : "ABCD";
}

function typesOf(values: Values, tag: ModbusTag | null): readonly DetectableType[] {
  const given = values["type"];
  const names =
    typeof given === "string"
      ? given.split(",").map((name) => name.trim())
      : tag === null
        ? USUAL_TYPES
        : [tag.point.type];
  return names.map((name) => {
    const type = DETECTABLE.find((known) => known === name);
    if (type !== undefined) return type;
    throw new CommandError(`${name} is no type to detect; there are ${DETECTABLE.join(", ")}`, EXIT.usage);
  });
}

async function readAll(wanted: Wanted, tools: PlcTools, io: ToolCall["io"]): Promise<readonly Candidate[]> {
  const connection = tools.connect(wanted.device, TIMES);
  const stop = (): void => connection.close();
  io.signal.addEventListener("abort", stop, { once: true });
  try {
    await connection.open();
    const candidates: Candidate[] = [];
    for (const place of wanted.places) {
      io.progress(`reading ${place.table}:${place.address}`);
      candidates.push(...(await readPlace(connection, place, wanted)));
    }
    return candidates;
  } catch (error) {
    throw io.signal.aborted ? io.signal.reason : unreachable(error, modbusAddressText(wanted.device));
  } finally {
    io.signal.removeEventListener("abort", stop);
    connection.close();
  }
}

/** Each width by itself: a hole behind a narrow value must not hide it. What the device refuses gives no candidates. */
async function readPlace(
  connection: ToolConnection,
  place: Place,
  { types, unit, rules, first }: Wanted,
): Promise<readonly Candidate[]> {
  const candidates: Candidate[] = [];
  const read = new Map<number, readonly number[]>();
  for (const type of types) {
    const count = widthOfType(type);
    if (place.address + count > 65_536) continue;
    if (!read.has(count)) {
      const answer = await connection.registers(unit, { table: place.table, address: place.address, count });
      read.set(count, answer.kind === "words" ? answer.words : []);
    }
    const words = read.get(count) ?? [];
    if (words.length < count) continue;
    candidates.push(...ordersFor(type, first).map((order) => candidateOf({ place, words }, type, { order, ...rules })));
  }
  return candidates;
}
