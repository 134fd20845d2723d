import { isMessage, type Message, type MessageArg, type Text } from "../message.ts";
import { icuText } from "./icu.js";
import english from "./en.json" with { type: "json" };

/** The place at which a text is shown. For the page, the catalogue may have a variant `CODE.page` without commands and paths. */
export type Surface = "shell" | "page";

const patterns: Readonly<Record<string, string>> = english;

/** Renders a text in English. Foreign texts are returned unchanged. */
export function render(text: Text, surface: Surface = "shell"): string {
  if (typeof text === "string") return text;
  const { code, args } = text;
  const name = surface === "page" && `${code}.page` in patterns ? `${code}.page` : code;
  const pattern = patterns[name];
  // Shows the code and the values of a message that another version of the agent stored.
  if (pattern === undefined) return [code, ...Object.values(args).map((arg) => valueOf(arg, surface))].join(" ");
  const values = Object.entries(args).map(([key, arg]) => [key, valueOf(arg, surface)] as const);
  return icuText(pattern, Object.fromEntries(values), "en");
}

function valueOf(arg: MessageArg, surface: Surface): string | number {
  if (typeof arg === "number") return arg;
  return isList(arg) ? arg.map((one) => render(one, surface)).join(", ") : render(arg, surface);
}

function isList(arg: MessageArg): arg is readonly Text[] {
  return Array.isArray(arg);
}

/** The messages behind the texts of a rendered answer, by field name. */
export interface Said {
  readonly code: Message["code"];
  readonly args: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/**
 * Renders all messages in a JSON value, at any depth. With `said`, an object with messages gets a field `said`. By field name, it holds the
 * message with its text for the page. For a list, it holds one entry per item, null if the item is no message.
 */
export function rendered(value: unknown, { said = false } = {}): unknown {
  if (isMessage(value)) return render(value);
  if (Array.isArray(value)) return value.map((one) => rendered(one, { said }));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const fields = entries.map(([name, one]) => [name, rendered(one, { said })] as const);
  const messages = said ? entries.flatMap(([name, one]) => saidField(name, one)) : [];
  return Object.fromEntries(messages.length === 0 ? fields : [...fields, ["said", Object.fromEntries(messages)]]);
}

function saidField(name: string, value: unknown): readonly (readonly [string, unknown])[] {
  const said = saidEntry(value);
  return said === null ? [] : [[name, said]];
}

/** Returns the messages of a field; null: the field has none. */
function saidEntry(value: unknown): unknown {
  if (isMessage(value)) return saidOf(value);
  if (!Array.isArray(value)) return null;
  const all = value.map(saidEntry);
  return all.every((one) => one === null) ? null : all;
}

/** Returns a message in the form for the page: each message in its values also has its text. */
function saidOf({ code, args }: Message): Said {
  const values: Record<string, unknown> = {};
  for (const [name, arg] of Object.entries(args))
    values[name] = isList(arg) ? arg.map((one) => saidEntry(one) ?? one) : (saidEntry(arg) ?? arg);
  return { code, args: values, text: render({ code, args }, "page") };
}
