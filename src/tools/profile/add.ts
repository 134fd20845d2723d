import { say } from "../../domain/sentences.ts";
import type { ModbusAddress } from "../../config/port.ts";
import { parseAddress, type TableAddress } from "../../config/profile-address.ts";
import { modbusAddressText } from "../../domain/plc-address.ts";
import { type FirstOf, isBitTable, type ModbusQuirks } from "../../domain/profile.ts";
import type { PlcTools, RegisterAnswer } from "../../acquisition/port.ts";
import { CommandError, EXIT, type Call, type Run, type Values } from "../command.ts";
import { chosenDevice, deviceAddress, numberOption, unreachable } from "../plc-tools.ts";
import { type Draft, entryOf, openDraft, pairsIn, protocolOf, quirksOf, type TagEntry } from "./file.ts";
import { candidateOf, type Candidate, type Fit, fitsOf, ORDERS, type Place, placesOf, rank } from "../rules/detect.ts";
import { USUAL_TYPES } from "../rules/usual.ts";
import { counterIn, type UsualTag, usualFor, usualIn, usualTags } from "./usual-tags.ts";
import { readAll, shown, typesIn } from "../detect.ts";
import { textOption } from "../options.ts";
import { enter } from "./enter.ts";

/** What was found at the PLC: keys of the tag, where they came from, and the same as a person reads it. */
interface Finding {
  readonly keys: Readonly<Record<string, unknown>>;
  readonly from: string;
  readonly told: readonly string[];
  /** The value matched to what the display shows, or nobody said what that is. */
  readonly isSure: boolean;
}

interface Wanted {
  readonly name: string;
  readonly at: string;
  readonly draft: Draft;
  readonly more: Readonly<Record<string, unknown>>;
  readonly usual: UsualTag | null;
  readonly type: string | undefined;
  readonly expect: string | undefined;
}

/** `profile add TAG`: what stands at an address, found as `detect` does, goes into the file after a yes. */
export function addCommand(tools: PlcTools): Run {
  return async (call) => {
    const wanted = wantedOf(call);
    const { name, draft, usual, more } = wanted;
    const found = protocolOf(draft) === "opcua" ? foundNode(wanted) : await foundAt(wanted, { tools, call });
    const entry = tagOf(name, { usual, found, more });
    const meaning = usual === null ? "" : `; meaning as ${usual.name} in ${usual.profile}`;
    return enter(call, draft, { tags: [{ entry, from: `${found.from}${meaning}` }], told: found.told });
  };
}

function wantedOf({ values, operands }: Call): Wanted {
  const name = operands[1];
  if (name === undefined) throw new CommandError("name the tag: profile add TAG --at ADDRESS", EXIT.usage);
  const at = textOption(values, "at");
  if (at === undefined) throw new CommandError("say where it stands with --at, as the manual has it", EXIT.usage);
  const more = pairsIn(textOption(values, "with") ?? "");
  const usual = usualFor(name, usualTags());
  const type = textOption(values, "type") ?? (typeof more["type"] === "string" ? more["type"] : undefined);
  return { name, at, draft: openDraft(values), more, usual, type, expect: textOption(values, "expect") };
}

/** What the usual tag means, what was found, and what was said, which counts most. */
function tagOf(
  name: string,
  { usual, found, more }: Pick<Wanted, "usual" | "more"> & { readonly found: Finding },
): TagEntry {
  const type = String(found.keys["type"]);
  const given = typeof more["unit"] === "string" ? more["unit"] : undefined;
  const known = usual === null ? null : usualIn(usual, name, given);
  const keys = { ...(known?.meaning ?? { group: "fast" }), ...found.keys, ...more };
  const isNumber = type !== "bool" && type !== "string";
  const { min, max, deadband, unit, ...plain } = keys as Readonly<Record<string, unknown>>;
  const limits = isNumber ? { min, max, deadband, unit } : {};
  const scale = Number(keys["scale" as keyof typeof keys] ?? 1);
  const counter =
    known?.counter === undefined || !isNumber || "counter" in more
      ? {}
      : { counter: counterIn(known.counter, type, scale) };
  return entryOf({ name, ...plain, ...limits, ...counter });
}

function foundNode({ at, type, usual, more }: Wanted): Finding {
  const kind = type ?? usual?.type;
  if (kind === undefined) throw new CommandError(say("workshop.needs_type"), EXIT.usage);
  const keys = { ...("path" in more ? {} : { node: at }), type: kind };
  return { keys, from: `as typed on ${today()}, not read`, told: [], isSure: true };
}

interface Ask {
  readonly tools: PlcTools;
  readonly call: Call;
}

async function foundAt(wanted: Wanted, ask: Ask): Promise<Finding> {
  const at = parseAddress(wanted.at);
  if ("message" in at) {
    throw new CommandError(`${at.message}${at.hint === undefined ? "" : ` (${at.hint})`}`, EXIT.usage);
  }
  const quirks = quirksOf(wanted.draft);
  const device = deviceAddress(ask.call.values);
  const unit = unitOf(ask.call.values, quirks);
  const place = { device, unit, at, quirks };
  if (isBitTable(at.table) || wanted.type === "bool" || "bit" in wanted.more) return foundBit(wanted, place, ask);
  const type = wanted.type ?? (wanted.expect === undefined ? wanted.usual?.type : undefined);
  // A version such as 3.41 is a text, though it looks like a number.
  const isUsuallyText = wanted.type === undefined && wanted.usual?.type === "string";
  const isText =
    type === "string" || isUsuallyText || (wanted.expect !== undefined && Number.isNaN(Number(wanted.expect)));
  return isText ? foundText(wanted, place, ask) : foundNumber({ ...wanted, type }, place, ask);
}

/** The unit that is named, else the booth's, else the profile's. */
export function unitOf(values: Values, { unit_id }: ModbusQuirks): number {
  const own = values["host"] === undefined ? chosenDevice(values)?.unit_id : undefined;
  return numberOption(values, "unit", { min: 0, max: 255 }) ?? own ?? unit_id;
}

interface At {
  readonly device: ModbusAddress;
  readonly unit: number;
  readonly at: TableAddress;
  readonly quirks: ModbusQuirks;
}

const ON: Readonly<Record<string, boolean>> = { on: true, true: true, 1: true, off: false, false: false, 0: false };

async function foundBit({ at: typed, expect, more }: Wanted, place: At, ask: Ask): Promise<Finding> {
  const { at } = place;
  const bit = more["bit"];
  const isAlone = isBitTable(at.table);
  if (!isAlone && typeof bit !== "number") {
    throw new CommandError(say("workshop.needs_bit"), EXIT.usage);
  }
  const wanted = expect === undefined ? undefined : ON[expect.toLowerCase()];
  if (expect !== undefined && wanted === undefined)
    throw new CommandError(say("workshop.on_off", { text: expect }), EXIT.usage);
  const [word = 0] = await wordsAt({ ...at, count: 1 }, place, ask);
  const isOn = ((word >> (isAlone ? 0 : Number(bit))) & 1) === 1;
  if (wanted !== undefined && wanted !== isOn) {
    throw new CommandError(say("workshop.check_again", { said: bitText(at, isOn) }), EXIT.failed);
  }
  return {
    keys: { address: addressText(at), type: "bool" },
    from: `${typed}, read ${onOff(isOn)}${expect === undefined ? "" : " as expected"} on ${today()}`,
    told: [bitText(at, isOn)],
    isSure: expect !== undefined,
  };
}

/** Registers of a text of which nobody knows the length: as many as usual, else these. */
const TEXT_REGISTERS = 8;

async function foundText({ at: typed, expect, more, usual }: Wanted, place: At, ask: Ask): Promise<Finding> {
  const given = more["length"];
  const least = Math.ceil((expect ?? "").length / 2);
  const length = typeof given === "number" ? given : Math.max(least, usual?.length ?? TEXT_REGISTERS);
  const at = place.at;
  const words = await wordsAt({ ...at, count: length }, place, ask);
  const orders: readonly FirstOf[] = [place.quirks.string_order, other(place.quirks.string_order)];
  const read = orders.map((order) => ({ order, text: textIn(words, order) }));
  const found =
    read.find(({ text }) => expect === undefined || text === expect) ??
    read.find(({ text }) => text.includes(expect ?? ""));
  if (found === undefined) {
    const said = read.map(({ text }) => JSON.stringify(text)).join(" or ");
    throw new CommandError(
      say("workshop.other_text", { place: addressText(at), found: said, wanted: expect ?? "" }),
      EXIT.failed,
    );
  }
  return {
    keys: { address: addressText(at), type: "string", length, ...stringOrder(found.order, place.quirks) },
    from: `${typed}, read "${found.text}" on ${today()}`,
    told: [say("workshop.text_is", { place: addressText(at), text: found.text })],
    isSure: expect !== undefined,
  };
}

function stringOrder(order: FirstOf, { string_order }: ModbusQuirks) {
  return order === string_order ? {} : { string_order: order };
}

function other(order: FirstOf): FirstOf {
  return order === "high_first" ? "low_first" : "high_first";
}

function textIn(words: readonly number[], order: FirstOf): string {
  const codes = words.flatMap((word) => (order === "low_first" ? [word & 0xff, word >> 8] : [word >> 8, word & 0xff]));
  const end = codes.indexOf(0);
  return String.fromCharCode(...(end === -1 ? codes : codes.slice(0, end))).trimEnd();
}

async function foundNumber({ at: typed, type, expect, more, usual }: Wanted, place: At, ask: Ask): Promise<Finding> {
  const { at, device, unit, quirks } = place;
  if (at.table !== "holding" && at.table !== "input") throw new Error("a number in a table of bits");
  const first = ORDERS.find(({ word_order }) => word_order === quirks.word_order)?.letters;
  const stated = { table: at.table, address: at.address };
  const tables = quirks.tables ?? ["holding", "input"];
  const wanted = {
    device,
    unit,
    places: placesOf(stated).filter(({ table }) => tables.includes(table)),
    types: typesIn(type, usual?.meaning["role"] === "mode" ? ["uint16"] : USUAL_TYPES),
    rules: { scale: 1, offset: 0 },
    first,
  };
  const candidates = await readAll(wanted, ask.tools, ask.call.io).finally(() => ask.call.io.progress(""));
  const given = { scale: Number(more["scale"] ?? NaN), offset: Number(more["offset"] ?? 0) };
  if (expect !== undefined && Number.isNaN(given.scale) && given.offset === 0) {
    const fits = fitsOf(candidates, { shown: expect, isCounter: usual?.isCounter === true });
    return foundBy(fits, { typed, expect });
  }
  const scale = Number.isNaN(given.scale) ? 1 : given.scale;
  const scaled = candidates.map((one) => candidateOf(one, one.type, { ...one, scale, offset: given.offset }));
  const [known] = wanted.types.length === 1 && expect === undefined ? scaled.filter(({ value }) => value !== null) : [];
  const [best] = rank(scaled, { expect: expect === undefined ? undefined : Number(expect) });
  const candidate = known ?? (best?.misfit === Infinity ? undefined : best?.candidate);
  if (candidate === undefined) throw nothingFits(typed, expect, scaled);
  return findingOf({ candidate, scale, isExact: true }, { typed, expect, others: 0 });
}

function foundBy(
  fits: readonly Fit[],
  { typed, expect }: { readonly typed: string; readonly expect: string },
): Finding {
  const [best, ...rest] = fits;
  if (best === undefined) throw nothingFits(typed, expect, []);
  const others = rest.filter(({ candidate, isExact }) => isExact && candidate.place !== best.candidate.place).length;
  return findingOf(best, { typed, expect, others });
}

function findingOf(
  { candidate, scale, isExact }: Fit,
  { typed, expect, others }: { readonly typed: string; readonly expect: string | undefined; readonly others: number },
): Finding {
  const { place, type, order, words, value } = candidate;
  const orders = {
    ...(words.length > 1 ? { word_order: order.word_order } : {}),
    ...(order.byte_order === "low_first" ? { byte_order: order.byte_order } : {}),
  };
  const letters = words.length > 1 ? `, ${order.letters}` : "";
  const display = expect === undefined ? "" : `, the display ${expect}`;
  const read = `${shown(value)}${display}`;
  const doubt = others === 0 ? [] : [say("workshop.others_fit", { count: others })];
  return {
    keys: { address: addressText(place), type, ...orders, ...(scale === 1 ? {} : { scale }) },
    from: `${typed} ${place.reading}${letters}, read ${read} on ${today()}`,
    told: [
      `${addressText(place)} as ${type}${letters}${scale === 1 ? "" : `, scale ${scale}`}: ${read}`,
      ...(isExact ? [] : [say("workshop.roughly")]),
      ...doubt,
    ],
    isSure: isExact && others === 0,
  };
}

function nothingFits(typed: string, expect: string | undefined, candidates: readonly Candidate[]): CommandError {
  const at = expect === undefined ? "" : ` --expect ${expect}`;
  const why = candidates.length === 0 ? say("workshop.nothing_fits") : say("workshop.nothing_plausible");
  return new CommandError(
    `${typed}: ${why}; detect ${typed}${at} shows all that is read, or say the type with --type`,
    EXIT.failed,
  );
}

function addressText({ table, address }: Pick<Place, "address"> & { readonly table: string }): string {
  return `${table}:${address}`;
}

function bitText(at: TableAddress, isOn: boolean): string {
  return say(isOn ? "workshop.bit_on" : "workshop.bit_off", { place: addressText(at) });
}

function onOff(isOn: boolean): string {
  return isOn ? "on" : "off";
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

async function wordsAt(
  block: TableAddress & { readonly count: number },
  { device, unit }: At,
  { tools, call }: Ask,
): Promise<readonly number[]> {
  const connection = tools.connect(device, { connect_ms: 2500, answer_ms: 2000 });
  const stop = (): void => connection.close();
  call.io.signal.addEventListener("abort", stop, { once: true });
  try {
    await connection.open();
    return wordsOf(await connection.registers(unit, block), block);
  } catch (error) {
    throw call.io.signal.aborted ? call.io.signal.reason : unreachable(error, modbusAddressText(device));
  } finally {
    call.io.signal.removeEventListener("abort", stop);
    connection.close();
  }
}

function wordsOf(answer: RegisterAnswer, { table, address, count }: TableAddress & { readonly count: number }) {
  if (answer.kind === "words") return answer.words;
  const span = count === 1 ? `${table}:${address}` : `${table}:${address} to ${address + count - 1}`;
  throw new CommandError(say("workshop.refuses", { span, code: answer.code }), EXIT.failed);
}
