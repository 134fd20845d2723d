import { isMessage, type Message, type MessageArg, type Text } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";

/** A message as an answer with `said=true` has it. */
interface SaidMessage extends Message {
  readonly text: string;
}

export interface Heard {
  /** What must not be in an answer: a message that is not rendered, or code and values that give another text than the answer's. */
  readonly faults: readonly string[];
  /** The messages of the answer, without those within messages. */
  readonly said: readonly SaidMessage[];
  /** The answer without code and values. */
  readonly without: unknown;
}

/** Finds the messages in an answer of the local API that was asked for with `said=true`, and checks each. */
export function messagesIn(value: unknown, path = ""): Heard {
  if (typeof value === "string") return { faults: faultIn(value, path), said: [], without: value };
  if (isMessage(value)) return { faults: [`${path}: ${value.code} is not rendered`], said: [], without: value };
  if (Array.isArray(value)) {
    const all = value.map((one, index) => messagesIn(one, `${path}[${index}]`));
    return { ...joined(all), without: all.map(({ without }) => without) };
  }
  if (typeof value !== "object" || value === null) return { faults: [], said: [], without: value };
  const fields: Readonly<Record<string, unknown>> = { ...value };
  const table = tableIn(fields);
  const rest = Object.entries(fields).filter(([name]) => name !== "said" || table === null);
  const all = rest.map(([name, one]) => [name, messagesIn(one, `${path}.${name}`)] as const);
  const tabled = Object.entries(table ?? {}).map(([name, said]) => compared(fields[name], said, `${path}.${name}`));
  const without = Object.fromEntries(all.map(([name, one]) => [name, one.without]));
  return { ...joined([...all.map(([, one]) => one), ...tabled]), without };
}

function joined(all: readonly Pick<Heard, "faults" | "said">[]): Pick<Heard, "faults" | "said"> {
  return { faults: all.flatMap(({ faults }) => faults), said: all.flatMap(({ said }) => said) };
}

function faultIn(text: string, path: string): readonly string[] {
  return text.includes("[object Object]") ? [`${path}: ${text}`] : [];
}

/** The messages of an object by field name; null: its field `said`, if any, is something else. */
function tableIn({ said }: Readonly<Record<string, unknown>>): object | null {
  if (typeof said !== "object" || said === null || Array.isArray(said)) return null;
  const isTable = Object.values(said).every((one) => one === null || Array.isArray(one) || isSaid(one));
  return isTable ? said : null;
}

/** Compares the text of a field with its message; a list has an entry for each of its texts, null if it is no message. */
function compared(field: unknown, said: unknown, path: string): Pick<Heard, "faults" | "said"> {
  if (said === null) return { faults: [], said: [] };
  if (Array.isArray(said)) {
    const texts: readonly unknown[] = Array.isArray(field) ? field : [];
    return joined(said.map((one, index) => compared(texts[index], one, `${path}[${index}]`)));
  }
  if (!isSaid(said)) return { faults: [`${path}: no code and values`], said: [] };
  const message = messageOf(said);
  const isSame = render(message) === field && render(message, "page") === said.text;
  return { faults: isSame ? [] : [`${path}: ${said.code} gives "${render(message)}"`], said: [said] };
}

function isSaid(value: unknown): value is SaidMessage {
  return typeof value === "object" && value !== null && "code" in value && "args" in value && "text" in value;
}

/** Returns the message that an answer's code and values stand for. */
function messageOf({ code, args }: Message): Message {
  return { code, args: Object.fromEntries(Object.entries(args).map(([name, arg]) => [name, argOf(arg)])) };
}

function argOf(arg: MessageArg): MessageArg {
  if (typeof arg === "number" || typeof arg === "string") return arg;
  return isTexts(arg) ? arg.map((one) => (typeof one === "string" ? one : messageOf(one))) : messageOf(arg);
}

function isTexts(arg: Message | readonly Text[]): arg is readonly Text[] {
  return Array.isArray(arg);
}
