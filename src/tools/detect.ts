import { parseAddress } from "../config/profile-address.ts";
import { findProfile, SHIPPED_PROFILES } from "../config/profile.ts";
import { modbusAddressText } from "../domain/plc-address.ts";
import type { ModbusProfile, ModbusTag, Profile } from "../domain/profile.ts";
import { say } from "../domain/sentences.ts";
import { CommandError, EXIT, type Run, type Values } from "./command.ts";
import type { PlcTools, ToolConnection } from "../acquisition/port.ts";
import { addressOf, chosenBooth, numberOption, type ToolCall, unreachable } from "./plc-tools.ts";
import {
  type Candidate,
  candidateOf,
  type Clues,
  DETECTABLE,
  type DetectableType,
  type OrderPair,
  ORDERS,
  ordersFor,
  type Place,
  placesOf,
  rank,
  type Ranked,
  widthOfType,
} from "./rules/detect.ts";
import { NEAR, USUAL_TYPES } from "./rules/usual.ts";
import { textOption } from "./options.ts";
import { print, tableText } from "./print.ts";

/** A way of reading that doesn't fit, and how far off, as a share of what is expected. */
interface Near extends Candidate {
  readonly off: number;
}

const MOST_NEAREST = 3;

/** What came out: the best way of reading, and others that fit as well. */
type Finding = ReturnType<typeof findingOf>;

function findingOf(ranked: readonly Ranked[]) {
  const fitting = ranked.filter(({ misfit }) => misfit !== Infinity);
  const best = fitting[0]?.candidate ?? null;
  // Reading the same registers another way with the same result isn't a second opinion.
  const others = fitting.slice(1).filter(({ candidate }) => !isSame(candidate, best));
  return {
    best,
    /** As it would stand in a profile; null where nothing fits. */
    point: best === null ? null : pointOf(best),
    also: others.map(({ candidate }) => candidate),
    /** Where nothing fits but numbers were read and one is expected: those that come nearest, no value twice. */
    nearest: best === null ? nearestOf(ranked) : [],
  };
}

function nearestOf(ranked: readonly Ranked[]): readonly Near[] {
  const near = ranked.flatMap(({ candidate, off }) => (off === null ? [] : [{ ...candidate, off }]));
  const isFirst = (one: Near, index: number): boolean => near.findIndex((other) => isSame(other, one)) === index;
  // Floats within half a percent come in the order of other clues: what is told goes by the distance told with it.
  return near
    .filter(isFirst)
    .slice(0, MOST_NEAREST)
    .toSorted((a, b) => a.off - b.off);
}

function isSame(a: Candidate, b: Candidate | null): boolean {
  return a.place === b?.place && a.value === b.value;
}

function pointOf({ place, type, order, words }: Candidate): Readonly<Record<string, string>> {
  return {
    address: `${place.table}:${place.address}`,
    type,
    ...(words.length > 1 ? { word_order: order.word_order } : {}),
    ...(order.byte_order === "low_first" ? { byte_order: order.byte_order } : {}),
  };
}

/** One line per place and type, the orders side by side; the best one is marked. */
function candidatesText(candidates: readonly Candidate[], { best }: Finding): string {
  const rows = Map.groupBy(candidates, ({ place, type }) => `${place.table}:${place.address} ${type}`);
  if (rows.size === 0) return "";
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
  const head = ["address (0-based)", "the manual", "type", "registers", ...ORDERS.map(({ letters }) => letters)];
  return tableText(head, lines);
}

/** A value with as many digits as people read. */
export function shown(value: number | null): string {
  if (value === null) return "-";
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7)));
}

/** The finding in sentences; `candidates` are all that was read. */
function findingText(
  { best, point, also, nearest }: Finding,
  { expect, min, max }: Clues,
  candidates: readonly Candidate[],
): string {
  if (best === null || point === null) {
    if (candidates.length === 0) return `${say("detect.no_register")}\n`;
    if (expect !== undefined) return nothingNear(expect, nearest);
    if (candidates.every(({ words }) => words.every((word) => word === 0))) return `${say("detect.all_zero")}\n`;
    return `${say("detect.none_within", { bounds: boundsText(min, max) })}\n`;
  }
  const yaml = Object.entries(point).map(([name, value]) => `${name}: ${name === "address" ? `"${value}"` : value}`);
  const [next] = also;
  const count = `${also.length} other ${also.length === 1 ? "reading fits" : "readings fit"} too`;
  const others =
    next === undefined
      ? ""
      : `${count}, the first ${shown(next.value)} at ${next.place.table}:${next.place.address}, ${next.type}, ${next.order.letters}: ${expect === undefined ? "give --expect VALUE as the display shows it" : "the manual's order decides, else ask again when the value has changed"}.\n`;
  return `* ${shown(best.value)}; in the profile: { ${yaml.join(", ")} }\n${others}`;
}

function nothingNear(expect: number, nearest: readonly Near[]): string {
  const told = nearest.map(
    ({ value, off, place, type, order }) =>
      `  ${shown(value)} (${place.table}:${place.address}, ${type}, ${order.letters}; ${percent(off)})\n`,
  );
  const then = say(told.length === 0 ? "detect.check_display" : "detect.nearest");
  const first = say("detect.nothing_near", { share: percent(NEAR), expect, then });
  return told.length === 0 ? `${first}\n` : `${first}\n${told.join("")}${say("detect.check_display")}\n`;
}

/** A share in percent: two digits that count, and no sign for what is far beyond. */
function percent(share: number): string {
  return share >= 10 ? "> 1000 %" : `${Number((share * 100).toPrecision(2))} %`;
}

function boundsText(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return say("detect.between", { min, max });
  if (min !== undefined) return say("detect.at_least", { min });
  return max === undefined ? say("detect.usual") : say("detect.at_most", { max });
}

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
export async function detected(tools: PlcTools, { values, operands, io }: ToolCall) {
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

type Wanted = ReturnType<typeof wantedOf>;

function plain({ candidate, misfit, off }: Ranked) {
  const { place, type, order, value, words } = candidate;
  return { ...place, type, order: order.letters, words, value, off, plausible: misfit !== Infinity };
}

function wantedOf(values: Values, operand: string) {
  const { at, tag, first, unit, device } = subjectOf(values, operand);
  const { table, address } = at;
  if (table !== "holding" && table !== "input") {
    throw new CommandError(
      say("detect.a_bit", { operand, table, holding: `holding:${address}`, input: `input:${address}` }),
      EXIT.usage,
    );
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
    types: typesOf(values, tag),
    rules: { scale: tag?.point.scale ?? 1, offset: tag?.point.offset ?? 0 },
    first,
    clues,
  };
}

/** What is to be read, in which order the profile has it, and the booth's device, where one is meant. */
function subjectOf(values: Values, operand: string) {
  const at = parseAddress(operand);
  const named = textOption(values, "profile");
  if (!("table" in at) && named !== undefined) {
    return { ...tagIn(findProfile(named, [SHIPPED_PROFILES]), operand, at.message), device: null };
  }
  // An address is to be read at the host that is named, else at the booth's device.
  if ("table" in at && values["host"] !== undefined) return { at, tag: null, first: undefined, unit: 1, device: null };
  const { booth, profile } = chosenBooth(values);
  const usual = profile.protocol === "modbus" ? profile.quirks.unit_id : 1;
  const found = "table" in at ? { at, tag: null, first: undefined } : tagIn(profile, operand, at.message);
  return { ...found, unit: booth.modbus?.unit_id ?? usual, device: booth.modbus ?? null };
}

function tagIn(profile: Profile, name: string, notAnAddress: string) {
  if (profile.protocol !== "modbus") {
    const message = say("detect.no_orders", { profile: profile.name, protocol: profile.protocol });
    throw new CommandError(message, EXIT.usage);
  }
  const tag = profile.tags.find((one) => one.name === name);
  if (tag === undefined) {
    throw new CommandError(say("detect.no_tag", { why: notAnAddress, profile: profile.name }), EXIT.usage);
  }
  const { table, address } = tag.point;
  return { at: { table, address }, tag, first: lettersOf(tag, profile), unit: profile.quirks.unit_id };
}

function lettersOf({ point }: ModbusTag, { quirks }: ModbusProfile): OrderPair["letters"] | undefined {
  const word_order = point.word_order ?? quirks.word_order;
  const byte_order = point.byte_order ?? quirks.byte_order ?? "high_first";
  return ORDERS.find((one) => one.word_order === word_order && one.byte_order === byte_order)?.letters;
}

function typesOf(values: Values, tag: ModbusTag | null): readonly DetectableType[] {
  return typesIn(textOption(values, "type"), tag === null ? USUAL_TYPES : [tag.point.type]);
}

/** The types named with commas between, else the usual ones. Throws a CommandError for one that can't be detected. */
export function typesIn(given: string | undefined, usual: readonly string[]): readonly DetectableType[] {
  const names = given?.split(",").map((name) => name.trim()) ?? usual;
  return names.map((name) => {
    const type = DETECTABLE.find((known) => known === name);
    if (type !== undefined) return type;
    throw new CommandError(say("detect.no_type", { name, names: DETECTABLE.join(", ") }), EXIT.usage);
  });
}

/** All ways to read what stands at the places. Rejects with a CommandError where the device doesn't answer. */
export async function readAll(
  wanted: Omit<Wanted, "clues">,
  tools: PlcTools,
  io: ToolCall["io"],
): Promise<readonly Candidate[]> {
  const connection = tools.connect(wanted.device, TIMES);
  const stop = (): void => connection.close();
  io.signal.addEventListener("abort", stop, { once: true });
  try {
    await connection.open();
    const candidates: Candidate[] = [];
    for (const place of wanted.places) {
      io.progress(say("detect.reading", { place: `${place.table}:${place.address}` }));
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
  { types, unit, rules, first }: Omit<Wanted, "clues">,
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
