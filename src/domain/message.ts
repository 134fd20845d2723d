import type { MessageArgs } from "./messages/args.d.ts";

export type MessageCode = keyof MessageArgs<unknown>;

/** A value in a message. The renderer joins a list with commas. */
export type MessageArg = string | number | Message | readonly Text[];

/**
 * A text for people as data: a message code of the catalogues in `messages/`, and the values to insert. Rules and state contain messages.
 * The edges (log, command line, local API, page, notices, records) render them. A code never changes its meaning, because stored states and
 * the journal contain codes.
 */
export interface Message {
  readonly code: MessageCode;
  readonly args: Readonly<Record<string, MessageArg>>;
}

/** A text for people: a message, or a foreign text from a PLC, a server or the operating system. */
export type Text = string | Message;

/** The type of a value after rendering, in which each text is a string. */
export type Rendered<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends Message
    ? string
    : T extends readonly (infer One)[]
      ? readonly Rendered<One>[]
      : T extends object
        ? { readonly [Name in keyof T]: Rendered<T[Name]> }
        : T;

/** Makes a message. The English catalogue defines the types of its values. */
export function message<C extends MessageCode>(
  code: C,
  ...[args]: keyof MessageArgs<MessageArg>[C] extends never ? [] : [MessageArgs<MessageArg>[C]]
): Message {
  return { code, args: { ...args } };
}

/** Returns whether a value of unknown origin, such as a part of an API answer, is a message. */
export function isMessage(value: unknown): value is Message {
  return typeof value === "object" && value !== null && "code" in value && "args" in value && !("text" in value);
}

/** Returns whether two texts are the same. Used to compare, for example, the reasons of two failures in a row. */
export function isSameText(one: Text, other: Text): boolean {
  if (typeof one === "string" || typeof other === "string") return one === other;
  return one.code === other.code && JSON.stringify(one.args) === JSON.stringify(other.args);
}

/** Applies a change, such as hiding secrets, to the foreign parts of a text. The message's own words contain no secrets. */
export function mapWords(text: Text, change: (words: string) => string): Text {
  if (typeof text === "string") return change(text);
  const changed = Object.entries(text.args).map(([name, arg]) => [name, mapArg(arg, change)] as const);
  return { code: text.code, args: Object.fromEntries(changed) };
}

function mapArg(arg: MessageArg, change: (words: string) => string): MessageArg {
  if (typeof arg === "number") return arg;
  return isMessageOrWords(arg) ? mapWords(arg, change) : arg.map((one) => mapWords(one, change));
}

function isMessageOrWords(arg: Text | readonly Text[]): arg is Text {
  return !Array.isArray(arg);
}
