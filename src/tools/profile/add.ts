import { render } from "../../domain/messages/render.ts";
import { message, type Message, type Text } from "../../domain/message.ts";
import type { PlcTools } from "../../acquisition/port.ts";
import type { ModbusAddress } from "../../config/port.ts";
import { parseAddress, type TableAddress } from "../../config/profile-address.ts";
import { type FirstOf, isBitTable, type ModbusQuirks } from "../../domain/profile.ts";
import { CommandError, EXIT, type Call, type Run } from "../command.ts";
import { readAll, shown, typesIn } from "../detect.ts";
import { textOption } from "../options.ts";
import { deviceAddress, unitOption, withConnection } from "../plc-tools.ts";
import { candidateOf, type Fit, fitsOf, ORDERS, orderKeys, placesOf, rank } from "../rules/detect.ts";
import { USUAL_TYPES } from "../rules/usual.ts";
import { enter } from "./enter.ts";
import { type Draft, type Keys, openDraft, pairsIn, protocolOf, quirksOf, today } from "./file.ts";
import { faultText } from "./import-asks.ts";
import { meantEntry, type UsualTag, usualFor } from "./usual-tags.ts";

/** A value that was found at the PLC: its tag's keys, their origin, and lines to show to the user. */
interface Finding {
  readonly keys: Keys;
  readonly from: string;
  readonly told: readonly Text[];
}

/** The tag that the command asks for. */
interface Wanted {
  /** The address as the person typed it. */
  readonly typed: string;
  readonly draft: Draft;
  /** Keys given with --with. */
  readonly more: Keys;
  readonly usual: UsualTag | undefined;
  readonly type: string | undefined;
  /** The value on the machine's display. */
  readonly expect: string | undefined;
}

interface Target extends Wanted {
  readonly device: ModbusAddress;
  readonly unit: number;
  readonly at: TableAddress;
  readonly quirks: ModbusQuirks;
  readonly tools: PlcTools;
  readonly io: Call["io"];
}

/** Makes the command `profile add TAG`: reads an address as `detect` does, and adds the tag to the file after a yes. */
export function addCommand(tools: PlcTools): Run {
  return async (call) => {
    const { values, operands } = call;
    const name = operands[1];
    if (name === undefined) throw new CommandError(message("workshop.which_new_tag"), EXIT.usage);
    const typed = textOption(values, "at");
    if (typed === undefined) throw new CommandError(message("workshop.where"), EXIT.usage);
    const more = pairsIn(textOption(values, "with") ?? "");
    const type = textOption(values, "type") ?? (typeof more["type"] === "string" ? more["type"] : undefined);
    const draft = openDraft(values);
    const usual = usualFor(name);
    const wanted = { typed, draft, more, usual, type, expect: textOption(values, "expect") };
    const found = protocolOf(draft) === "opcua" ? nodeFinding(wanted) : await findAt(wanted, tools, call);
    const meaning = usual === undefined ? "" : `; meaning as ${usual.name} in ${usual.profile}`;
    const entry = meantEntry(usual, { name, ...found.keys, ...more }, "fast");
    return enter(call, draft, { tags: [{ entry, from: `${found.from}${meaning}` }], told: found.told });
  };
}

function nodeFinding({ typed, type, usual, more }: Wanted): Finding {
  const known = type ?? usual?.type;
  if (known === undefined) throw new CommandError(message("workshop.needs_type"), EXIT.usage);
  const node = "path" in more ? undefined : typed;
  return { keys: { node, type: known }, from: `as typed on ${today()}, not read`, told: [] };
}

function findAt(wanted: Wanted, tools: PlcTools, { values, io }: Call): Promise<Finding> {
  const { typed, draft, more, usual, expect } = wanted;
  const at = parseAddress(typed);
  if ("message" in at) throw new CommandError(faultText(at), EXIT.usage);
  const quirks = quirksOf(draft);
  const device = deviceAddress(values);
  const target = { ...wanted, device, unit: unitOption(values) ?? quirks.unit_id, at, quirks, tools, io };
  if (isBitTable(at.table) || wanted.type === "bool" || "bit" in more) return findBit(target);
  const type = wanted.type ?? (expect === undefined ? usual?.type : undefined);
  // Detects a text by the usual tag (the tag of a shipped profile) or the display, because a version such as 3.41 looks like a number.
  const isUsuallyText = wanted.type === undefined && usual?.type === "string";
  const isText = type === "string" || isUsuallyText || (expect !== undefined && Number.isNaN(Number(expect)));
  return isText ? findText(target) : findNumber({ ...target, type });
}

const ON: Readonly<Record<string, boolean>> = { on: true, true: true, 1: true, off: false, false: false, 0: false };

async function findBit(target: Target): Promise<Finding> {
  const { typed, at, expect, more } = target;
  const bit = isBitTable(at.table) ? 0 : more["bit"];
  if (typeof bit !== "number") throw new CommandError(message("workshop.needs_bit"), EXIT.usage);
  const wanted = expect === undefined ? undefined : ON[expect.toLowerCase()];
  if (expect !== undefined && wanted === undefined)
    throw new CommandError(message("workshop.on_off", { text: expect }), EXIT.usage);
  const [word = 0] = await wordsAt(target, 1);
  const isOn = ((word >> bit) & 1) === 1;
  const said = message(isOn ? "workshop.bit_on" : "workshop.bit_off", { place: placeText(at) });
  if (wanted !== undefined && wanted !== isOn)
    throw new CommandError(message("workshop.check_again", { said }), EXIT.failed);
  const asExpected = expect === undefined ? "" : " as expected";
  return {
    keys: { address: placeText(at), type: "bool" },
    from: `${typed}, read ${isOn ? "on" : "off"}${asExpected} on ${today()}`,
    told: [said],
  };
}

/** The length of a text in registers if neither --with nor the usual tag says how long the text is. */
const TEXT_REGISTERS = 8;

async function findText(target: Target): Promise<Finding> {
  const { typed, at, expect = "", more, usual, quirks } = target;
  const given = more["length"];
  const least = Math.ceil(expect.length / 2);
  const length = typeof given === "number" ? given : Math.max(least, usual?.length ?? TEXT_REGISTERS);
  const words = await wordsAt(target, length);
  const own = quirks.string_order;
  const orders: readonly FirstOf[] = own === "high_first" ? [own, "low_first"] : [own, "high_first"];
  const read = orders.map((order) => ({ order, text: textIn(words, order) }));
  const found =
    read.find(({ text }) => target.expect === undefined || text === expect) ??
    read.find(({ text }) => text.includes(expect));
  if (found === undefined) {
    const texts = read.map(({ text }) => JSON.stringify(text)).join(" or ");
    const place = placeText(at);
    throw new CommandError(message("workshop.other_text", { place, found: texts, wanted: expect }), EXIT.failed);
  }
  const string_order = found.order === own ? undefined : found.order;
  return {
    keys: { address: placeText(at), type: "string", length, string_order },
    from: `${typed}, read "${found.text}" on ${today()}`,
    told: [message("workshop.text_is", { place: placeText(at), text: found.text })],
  };
}

function textIn(words: readonly number[], order: FirstOf): string {
  const codes = words.flatMap((word) => (order === "low_first" ? [word & 0xff, word >> 8] : [word >> 8, word & 0xff]));
  const end = codes.indexOf(0);
  return String.fromCharCode(...(end === -1 ? codes : codes.slice(0, end))).trimEnd();
}

async function findNumber(target: Target): Promise<Finding> {
  const { at, type, expect, more, usual, quirks, tools, io } = target;
  const { table, address } = at;
  if (table !== "holding" && table !== "input") throw new Error("a number in a table of bits");
  const tables = quirks.tables ?? ["holding", "input"];
  const wanted = {
    ...target,
    places: placesOf({ table, address }).filter((place) => tables.includes(place.table)),
    types: typesIn(type, usual?.meaning["role"] === "mode" ? ["uint16"] : USUAL_TYPES),
    rules: { scale: 1, offset: 0 },
    first: ORDERS.find(({ word_order }) => word_order === quirks.word_order)?.letters,
  };
  const candidates = await readAll(wanted, tools, io);
  const offset = Number(more["offset"] ?? 0);
  if (expect !== undefined && more["scale"] === undefined && offset === 0) {
    const [best, ...rest] = fitsOf(candidates, { shown: expect, isCounter: usual?.isCounter === true });
    if (best === undefined) throw nothingFits(target, "workshop.nothing_fits");
    const others = rest.filter(({ candidate, isExact }) => isExact && candidate.place !== best.candidate.place);
    return numberFinding(target, best, others.length);
  }
  const scale = Number(more["scale"] ?? 1);
  const scaled = candidates.map((one) => candidateOf(one, one.type, { ...one, scale, offset }));
  const [known] = wanted.types.length === 1 && expect === undefined ? scaled.filter(({ value }) => value !== null) : [];
  const [best] = rank(scaled, { expect: expect === undefined ? undefined : Number(expect) });
  const candidate = known ?? (best?.misfit === Infinity ? undefined : best?.candidate);
  if (candidate === undefined)
    throw nothingFits(target, scaled.length === 0 ? "workshop.nothing_fits" : "workshop.nothing_plausible");
  return numberFinding(target, { candidate, scale, isExact: true }, 0);
}

/**
 * Describes the register that shows the number typed by the technician: address, type, word order and scale.
 * @param others the number of other addresses that show the same number
 */
function numberFinding({ typed, expect }: Target, { candidate, scale, isExact }: Fit, others: number): Finding {
  const { place, type, order, words, value } = candidate;
  const letters = words.length > 1 ? `, ${order.letters}` : "";
  const read = `${shown(value)}${expect === undefined ? "" : `, on the display ${expect}`}`;
  const at = placeText(place);
  return {
    keys: { address: at, type, ...orderKeys(candidate), scale: scale === 1 ? undefined : scale },
    from: `${typed} ${render(place.reading)}${letters}, read ${read} on ${today()}`,
    told: [
      numberText(`${type}${letters}`, { at, scale, value: shown(value), expect }),
      ...(isExact ? [] : [message("workshop.roughly")]),
      ...(others === 0 ? [] : [message("workshop.others_fit", { count: others })]),
    ],
  };
}

function numberText(
  type: string,
  { at, scale, value, expect }: Readonly<Record<"at" | "value", string>> & Pick<Target, "expect"> & Pick<Fit, "scale">,
): Message {
  const read = expect === undefined ? value : message("workshop.read_and_shown", { value, expect });
  const how = scale === 1 ? type : message("workshop.scaled", { type, scale: String(scale) });
  return message("workshop.found", { at, how, read });
}

function nothingFits(
  { typed, expect }: Target,
  why: "workshop.nothing_fits" | "workshop.nothing_plausible",
): CommandError {
  const at = expect === undefined ? "" : ` --expect ${expect}`;
  const text = message("text.at", { place: typed, text: message(why) });
  return new CommandError(message("workshop.detect_shows", { text, wanted: `${typed}${at}` }), EXIT.failed);
}

function placeText({ table, address }: TableAddress): string {
  return `${table}:${address}`;
}

async function wordsAt({ at, device, unit, tools, io }: Target, count: number): Promise<readonly number[]> {
  const answer = await withConnection({ tools, device, io }, (one) => one.registers(unit, { ...at, count }));
  if (answer.kind === "words") return answer.words;
  const span = count === 1 ? placeText(at) : `${placeText(at)} to ${at.address + count - 1}`;
  throw new CommandError(message("workshop.refuses", { span, code: answer.code }), EXIT.failed);
}
