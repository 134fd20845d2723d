import { isDeepStrictEqual } from "node:util";
import { isMap, isPair, isSeq, parse, parseDocument, stringify, type Node } from "yaml";
import { message } from "../domain/message.ts";
import { MessageError } from "../domain/messages/message-error.ts";
import { type DataPath, excessOf, valueAt } from "./yaml-source.ts";

/** Parses a setting's path as typed: service.url, booths[0].modbus.host, booths.booth-1.modbus.host. Returns null for any other text. */
export function settingPath(text: string): DataPath | null {
  const steps = text.split(".").flatMap((part) => {
    const [, name, indices = ""] = /^([A-Za-z0-9_-]+)((?:\[\d{1,3}\])*)$/.exec(part) ?? [];
    if (name === undefined) return [null];
    return [name, ...[...indices.matchAll(/\d+/g)].map(([index]) => Number(index))];
  });
  return steps.includes(null) ? null : steps.filter((step) => step !== null);
}

/**
 * Returns the file's text with one value set. Keeps every other character, comments included. `value` is YAML, so numbers, booleans and
 * lists keep their type. The path may name a booth by its id. Throws a MessageError if the text or the value isn't YAML, or if the file has
 * no such path.
 */
export function withSetting(text: string, path: DataPath, value: string): string {
  for (const [code, part] of [
    ["edit.file_excess", text],
    ["edit.value_excess", value],
  ] as const) {
    const excess = excessOf(part);
    if (excess !== null) throw new MessageError(message(code, { text: excess.text }));
  }
  const document = parseDocument(text, { uniqueKeys: false });
  if (document.errors.length > 0) throw new MessageError(message("edit.no_yaml"));
  const wanted: unknown = parse(value);
  const place = byIndex(document.toJS(), path);
  const change = changeOf(document.contents, { text, path: place, value: wanted });
  const changed = text.slice(0, change.from) + change.text + text.slice(change.to);
  const made = parseDocument(changed, { uniqueKeys: false });
  if (made.errors.length === 0 && isDeepStrictEqual(valueAt(made.toJS(), place), wanted)) return changed;
  throw new MessageError(UNCHANGEABLE);
}

const UNCHANGEABLE = message("edit.unchangeable");

/** A replacement of the characters from `from` up to `to`. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

type Wanted = Readonly<{ text: string; path: DataPath; value: unknown }>;

function changeOf(root: Node | null, { text, path, value }: Wanted): Change {
  let node: unknown = root;
  for (const [depth, key] of path.entries()) {
    const next: unknown = isMap(node) || isSeq(node) ? node.get(key, true) : undefined;
    if (next === undefined) return additionTo(node, { text, path: path.slice(depth), value });
    node = next;
  }
  const from = rangeOf(node)[0];
  const to = endOf(node);
  // Adds a blank before a value that was missing: its empty range begins right after the colon.
  return { from, to, text: from === to ? ` ${inFlow(value)}` : inFlow(value) };
}

function additionTo(node: unknown, { text, path, value }: Wanted): Change {
  const [key, ...deeper] = path;
  if (!isMap(node) || typeof key !== "string") {
    throw new MessageError(message("edit.no_place", { path: path.join(".") }));
  }
  const nested = deeper.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  const entry = `${key}: ${inFlow(nested)}`;
  const [start, end] = rangeOf(node);
  if (node.flow === true) {
    const last = node.items.at(-1);
    const at = last === undefined ? end - 1 : rangeOf(last.value ?? last.key)[1];
    return { from: at, to: at, text: last === undefined ? ` ${entry} ` : `, ${entry}` };
  }
  const lineEnd = text.indexOf("\n", endOf(node));
  const at = lineEnd === -1 ? text.length : lineEnd;
  const indent = " ".repeat(start - (text.lastIndexOf("\n", start - 1) + 1));
  return { from: at, to: at, text: `\n${indent}${entry}` };
}

/** Returns the end of a node's last value. The parser's range of a block also includes the comments after it. */
function endOf(node: unknown): number {
  const isBlock = (isMap(node) || isSeq(node)) && node.flow !== true;
  const last: unknown = isBlock ? node.items.at(-1) : undefined;
  const inner = isPair(last) ? last.value : last;
  return inner === null || inner === undefined ? rangeOf(node)[1] : endOf(inner);
}

function rangeOf(node: unknown): readonly [number, number] {
  const range = (node as Node).range;
  if (range === null || range === undefined) throw new MessageError(UNCHANGEABLE);
  return [range[0], range[1]];
}

function inFlow(value: unknown): string {
  return stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
}

/** Replaces a booth's id in a path by its index. */
function byIndex(data: unknown, path: DataPath): DataPath {
  const [first, second, ...rest] = path;
  if (first !== "booths" || typeof second !== "string") return path;
  const booths = valueAt(data, ["booths"]);
  const ids = (Array.isArray(booths) ? (booths as unknown[]) : []).map((booth) => String(valueAt(booth, ["id"])));
  const index = ids.indexOf(second);
  if (index === -1) throw new MessageError(message("edit.no_booth", { booth: second, known: ids }));
  return [first, index, ...rest];
}
