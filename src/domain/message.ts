import type { MessageArgs } from "./messages/args.d.ts";

export type MessageCode = keyof MessageArgs;

/** A value in a message. The renderer joins a list with commas. */
export type MessageArg = string | number | Message | readonly Text[];

/**
 * A text of the agent for people, as data: a code of the catalogues in `messages/`, and the values that fill it in. Rules and
 * state carry messages; the edges (log, command line, local API, page, notices, records) render them. A code never changes its
 * meaning, because stored states and the journal contain it.
 */
export interface Message {
  readonly code: MessageCode;
  readonly args: Readonly<Record<string, MessageArg>>;
}

/** A text for people: a message, or words of somebody else, such as a PLC, a server or the operating system. */
export type Text = string | Message;

/** A value as it arrives behind an edge: each text is rendered. */
export type Rendered<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends Message
    ? string
    : T extends readonly (infer One)[]
      ? readonly Rendered<One>[]
      : T extends object
        ? { readonly [Name in keyof T]: Rendered<T[Name]> }
        : T;

/** Makes a message. The types of the values follow from the English catalogue. */
export function message<C extends MessageCode>(
  code: C,
  ...[args]: keyof MessageArgs[C] extends never ? [] : [MessageArgs[C]]
): Message {
  return { code, args: { ...args } };
}

/** Returns whether a value of unknown origin, such as a part of an API answer, is a message. */
export function isMessage(value: unknown): value is Message {
  return typeof value === "object" && value !== null && "code" in value && "args" in value && !("text" in value);
}

/** Returns whether two texts are the same, such as the reason of a failure and that of the failure before it. */
export function isSameText(one: Text, other: Text): boolean {
  if (typeof one === "string" || typeof other === "string") return one === other;
  return one.code === other.code && JSON.stringify(one.args) === JSON.stringify(other.args);
}

/** Applies a change, such as hiding secrets, to the words of somebody else in a text: the message's own words contain none. */
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
