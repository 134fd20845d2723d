import { isMessage, type Message, type MessageArg, type Text } from "../message.ts";
import { icuText } from "./icu.js";
import english from "./en.json" with { type: "json" };

/** Where a text is shown. A message with a variant `CODE.page` in the catalogue has a text without commands and paths for the page. */
export type Surface = "shell" | "page";

const patterns: Readonly<Record<string, string>> = english;

/** Renders a text in English. Words of somebody else are returned unchanged. */
export function render(text: Text, surface: Surface = "shell"): string {
  if (typeof text === "string") return text;
  const { code, args } = text;
  const name = surface === "page" && `${code}.page` in patterns ? `${code}.page` : code;
  const pattern = patterns[name];
  // A stored message of another version.
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

/** Fields that a rendered answer has in addition to its texts: the messages of the fields with these names. */
export interface Said {
  readonly code: Message["code"];
  readonly args: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/**
 * Renders the messages in a JSON value, at any depth. With `said`, an object whose fields contain messages gets a field `said`: by
 * field name the message with its text for the page; for a field with a list, one for each entry, null if the entry is no message.
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

/** Returns the messages of a field; null: it has none. */
function saidEntry(value: unknown): unknown {
  if (isMessage(value)) return saidOf(value);
  if (!Array.isArray(value)) return null;
  const all = value.map(saidEntry);
  return all.every((one) => one === null) ? null : all;
}

/** Returns a message as the page gets it: each message in its values has its text too. */
function saidOf({ code, args }: Message): Said {
  const values: Record<string, unknown> = {};
  for (const [name, arg] of Object.entries(args))
    values[name] = isList(arg) ? arg.map((one) => saidEntry(one) ?? one) : (saidEntry(arg) ?? arg);
  return { code, args: values, text: render({ code, args }, "page") };
}
