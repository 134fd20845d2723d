import { message, type Message, type Text } from "../domain/message.ts";
import type { PlcTools, ToolConnection } from "../acquisition/port.ts";
import { parseAddress } from "../config/profile-address.ts";
import { findProfile, SHIPPED_PROFILES } from "../config/profile.ts";
import { LAST_ADDRESS, type Profile } from "../domain/profile.ts";
import { CommandError, EXIT, type Run, type TableRow, type Values } from "./command.ts";
import { textOption } from "./options.ts";
import { addressOf, chosenBooth, numberOption, type ToolCall, withConnection } from "./plc-tools.ts";
import { print } from "./print.ts";
import {
  type Candidate,
  candidateOf,
  type Clues,
  DETECTABLE,
  type DetectableType,
  ORDERS,
  orderKeys,
  ordersFor,
  type Place,
  placesOf,
  rank,
  type Ranked,
  widthOfType,
} from "./rules/detect.ts";
import { NEAR, USUAL_TYPES } from "./rules/usual.ts";
import { textLines } from "./texts.ts";

/** Makes the command `booth-gateway detect`: finds the address, type and word order that a manual means. */
export function detectCommand(tools: PlcTools): Run {
  return async (call) => {
    const { answer, table, text } = await detected(tools, call);
    if (call.values["json"] !== true) call.io.table(table);
    print(call, answer, () => text);
    return answer.finding.best === null ? EXIT.failed : EXIT.ok;
  };
}

/** Reads an address or a tag in all possible ways. `answer` is for programs; `table` and `text` say the same for people. */
export async function detected(tools: PlcTools, { values, operands, io }: ToolCall) {
  const wanted = wantedOf(values, operands[0] ?? "");
  const candidates = await readAll(wanted, tools, io);
  const ranked = rank(candidates, wanted.clues);
  const finding = findingOf(ranked);
  return {
    answer: {
      device: wanted.device,
      finding,
      ranked: ranked.map(({ candidate: { place, type, order, value, words }, misfit, off }) => {
        return { ...place, type, order: order.letters, words, value, off, plausible: misfit !== Infinity };
      }),
    },
    table: candidateRows(candidates, finding),
    text: findingText(finding, wanted.clues, candidates),
  };
}

type Wanted = ReturnType<typeof wantedOf>;

function wantedOf(values: Values, operand: string) {
  const { at, tag, first, unit, device } = subjectOf(values, operand);
  const { table, address } = at;
  if (table !== "holding" && table !== "input") {
    const meant = { holding: `holding:${address}`, input: `input:${address}` };
    throw new CommandError(message("detect.a_bit", { operand, table, ...meant }), EXIT.usage);
  }
  const clues: Clues = {
    expect: numberOption(values, "expect"),
    min: tag?.point.min ?? tag?.between?.min,
    max: tag?.point.max ?? tag?.between?.max,
  };
  return {
    device: addressOf(values, device),
    unit: numberOption(values, "unit", { min: 0, max: 255 }) ?? unit,
    places: placesOf({ table, address }),
    types: typesIn(textOption(values, "type"), tag === null ? USUAL_TYPES : [tag.point.type]),
    rules: { scale: tag?.point.scale ?? 1, offset: tag?.point.offset ?? 0 },
    first,
    clues,
  };
}

/** Returns the place to read, the profile's word order for it, and the booth's device; the device is null if --host must name it. */
function subjectOf(values: Values, operand: string) {
  const at = parseAddress(operand);
  const named = textOption(values, "profile");
  if (!("table" in at) && named !== undefined)
    return { ...tagIn(findProfile(named, [SHIPPED_PROFILES]), operand, at.message), device: null };
  // Reads an address at the host that --host names, else at the booth's device.
  if ("table" in at && values["host"] !== undefined) return { at, tag: null, first: undefined, unit: 1, device: null };
  const { booth, profile } = chosenBooth(values);
  const usual = profile.protocol === "modbus" ? profile.quirks.unit_id : 1;
  const found = "table" in at ? { at, tag: null, first: undefined } : tagIn(profile, operand, at.message);
  return { ...found, unit: booth.modbus?.unit_id ?? usual, device: booth.modbus ?? null };
}

function tagIn(profile: Profile, name: string, notAnAddress: Text) {
  if (profile.protocol !== "modbus") {
    const { protocol } = profile;
    throw new CommandError(message("detect.no_orders", { profile: profile.name, protocol }), EXIT.usage);
  }
  const { quirks } = profile;
  const tag = profile.tags.find((one) => one.name === name);
  if (tag === undefined)
    throw new CommandError(message("detect.no_tag", { why: notAnAddress, profile: profile.name }), EXIT.usage);
  const { table, address, word_order = quirks.word_order } = tag.point;
  const byte_order = tag.point.byte_order ?? quirks.byte_order ?? "high_first";
  const first = ORDERS.find((one) => one.word_order === word_order && one.byte_order === byte_order)?.letters;
  return { at: { table, address }, tag, first, unit: quirks.unit_id };
}

/** Returns the given types (separated by commas), else the usual types. Throws a CommandError for a type that can't be detected. */
export function typesIn(given: string | undefined, usual: readonly string[]): readonly DetectableType[] {
  const names = given?.split(",").map((name) => name.trim()) ?? usual;
  return names.map((name) => {
    const type = DETECTABLE.find((known) => known === name);
    if (type !== undefined) return type;
    throw new CommandError(message("detect.no_type", { name, names: DETECTABLE.join(", ") }), EXIT.usage);
  });
}

/** Reads each place as every type in every word order. Rejects with a CommandError if the device does not answer. */
export function readAll(
  wanted: Omit<Wanted, "clues">,
  tools: PlcTools,
  io: ToolCall["io"],
): Promise<readonly Candidate[]> {
  return withConnection({ tools, device: wanted.device, io }, async (connection) => {
    const candidates: Candidate[] = [];
    for (const place of wanted.places) {
      io.progress(message("detect.reading", { place: `${place.table}:${place.address}` }));
      candidates.push(...(await readPlace(connection, place, wanted)));
    }
    return candidates;
  });
}

/**
 * Reads a place once for each width, because a device may refuse a wide read and answer a narrow read. A refused read gives no candidates.
 */
async function readPlace(
  connection: ToolConnection,
  place: Place,
  { types, unit, rules, first }: Omit<Wanted, "clues">,
): Promise<readonly Candidate[]> {
  const candidates: Candidate[] = [];
  const read = new Map<number, readonly number[]>();
  const { table, address } = place;
  for (const type of types) {
    const count = widthOfType(type);
    if (address + count - 1 > LAST_ADDRESS) continue;
    if (!read.has(count)) {
      const answer = await connection.registers(unit, { table, address, count });
      read.set(count, answer.kind === "words" ? answer.words : []);
    }
    const words = read.get(count) ?? [];
    if (words.length < count) continue;
    candidates.push(...ordersFor(type, first).map((order) => candidateOf({ place, words }, type, { order, ...rules })));
  }
  return candidates;
}

/** A candidate that doesn't fit, and its distance from the expected value as a share of that value. */
interface Near extends Candidate {
  readonly off: number;
}

const MOST_NEAREST = 3;

/** The best candidate, and other candidates that fit as well. */
type Finding = ReturnType<typeof findingOf>;

function findingOf(ranked: readonly Ranked[]) {
  const fitting = ranked.filter(({ misfit }) => misfit !== Infinity).map(({ candidate }) => candidate);
  const [best = null] = fitting;
  return {
    best,
    /** The keys that a profile's tag needs to read the best candidate; null if no candidate fits. */
    point:
      best === null
        ? null
        : { address: `${best.place.table}:${best.place.address}`, type: best.type, ...orderKeys(best) },
    // Leaves out candidates that read the same registers with the same result, because they are no real alternative.
    also: fitting.slice(1).filter((candidate) => !isSame(candidate, best)),
    /** The candidates nearest to the expected value, each value once, if no candidate fits. */
    nearest: best === null ? nearestOf(ranked) : [],
  };
}

function nearestOf(ranked: readonly Ranked[]): readonly Near[] {
  const near = ranked.flatMap(({ candidate, off }) => (off === null ? [] : [{ ...candidate, off }]));
  // Sorts the nearest candidates by distance, because people see it. The ranking treats floats within half a percent as equal.
  return near
    .filter((one, index) => near.findIndex((other) => isSame(other, one)) === index)
    .slice(0, MOST_NEAREST)
    .toSorted((a, b) => a.off - b.off);
}

function isSame(a: Candidate, b: Candidate | null): boolean {
  return a.place === b?.place && a.value === b.value;
}

/** Returns a line for each place and type, with the values in all word orders as columns. Marks the best candidate with an asterisk. */
function candidateRows(candidates: readonly Candidate[], { best }: Finding): readonly TableRow[] {
  const rows = Map.groupBy(candidates, ({ place, type }) => `${place.table}:${place.address} ${type}`);
  if (rows.size === 0) return [];
  const lines = [...rows.values()].flatMap((row) => {
    const [first] = row;
    if (first === undefined) return [];
    const { place, type, words } = first;
    const raw = words.map((word) => word.toString(16).padStart(4, "0")).join(" ");
    const cells = ORDERS.map(({ letters }) => {
      const candidate = row.find(({ order }) => order.letters === letters);
      if (candidate === undefined) return "";
      return `${shown(candidate.value)}${candidate === best ? " *" : ""}`;
    });
    return [[`${place.table}:${place.address}`, place.reading, type, raw, ...cells]];
  });
  const head = ["address (0-based)", "manual", "type", "registers", ...ORDERS.map(({ letters }) => letters)];
  return [head, ...lines];
}

/** Formats a value for people: at most 7 significant digits of a fraction. */
export function shown(value: number | null): string {
  return value === null ? "-" : String(Number.isInteger(value) ? value : Number(value.toPrecision(7)));
}

/** Describes the finding in sentences. `candidates` are all readings. */
function findingText(
  { best, point, also, nearest }: Finding,
  { expect, min, max }: Clues,
  candidates: readonly Candidate[],
): Text {
  if (best === null || point === null) {
    if (candidates.length === 0) return textLines([message("detect.no_register")]);
    if (expect !== undefined) return nothingNear(expect, nearest);
    if (candidates.every(({ words }) => words.every((word) => word === 0)))
      return textLines([message("detect.all_zero")]);
    return textLines([message("detect.none_within", { bounds: boundsText(min, max) })]);
  }
  const yaml = Object.entries(point).map(([name, value]) => `${name}: ${name === "address" ? `"${value}"` : value}`);
  const first = message("detect.best", { value: shown(best.value), point: `{ ${yaml.join(", ")} }` });
  const [next] = also;
  if (next === undefined) return textLines([first]);
  const others = message("detect.also", {
    count: also.length,
    value: shown(next.value),
    way: wayOf(next),
    advice: message(expect === undefined ? "detect.give_expect" : "detect.manual_decides"),
  });
  return textLines([first, others]);
}

/** Returns a candidate's address, type and word order as a text. */
function wayOf({ place, type, order }: Candidate): string {
  return `${place.table}:${place.address}, ${type}, ${order.letters}`;
}

function nothingNear(expect: number, nearest: readonly Near[]): Text {
  const check = message("detect.check_display");
  const then = nearest.length === 0 ? check : message("detect.nearest");
  const lines = nearest.map((one) => `  ${shown(one.value)} (${wayOf(one)}; ${percent(one.off)})`);
  const found = message("detect.nothing_near", { share: percent(NEAR), expect, then });
  return textLines([found, ...lines, ...(nearest.length === 0 ? [] : [check])]);
}

/** Formats a share in percent with two significant digits, up to 1000 %. */
function percent(share: number): string {
  return share >= 10 ? "> 1000 %" : `${Number((share * 100).toPrecision(2))} %`;
}

function boundsText(min: number | undefined, max: number | undefined): Message {
  if (min !== undefined && max !== undefined) return message("detect.between", { min, max });
  if (min !== undefined) return message("detect.at_least", { min });
  return max === undefined ? message("detect.usual") : message("detect.at_most", { max });
}
