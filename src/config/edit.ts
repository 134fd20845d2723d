import { isDeepStrictEqual } from "node:util";
import { isMap, isPair, isSeq, parse, parseDocument, stringify, type Node } from "yaml";
import { type DataPath, excessOf } from "./yaml-source.ts";

/** Where in a configuration file, as typed: service.url, booths[0].modbus.host, booths.booth-1.modbus.host; null: it is none. */
export function settingPath(text: string): DataPath | null {
  const steps = text.split(".").flatMap((part) => {
    const [, name, indices = ""] = /^([A-Za-z0-9_-]+)((?:\[\d{1,3}\])*)$/.exec(part) ?? [];
    if (name === undefined) return [null];
    return [name, ...[...indices.matchAll(/\d+/g)].map(([index]) => Number(index))];
  });
  return steps.includes(null) ? null : steps.filter((step) => step !== null);
}

/**
 * The file's text with the value set; not a character else changes, comments least of all. `value` is YAML, so that numbers,
 * switches and lists are what they look like. Booths may be named by their id. Throws an Error where the text, the value or the
 * place is none.
 */
export function withSetting(text: string, path: DataPath, value: string): string {
  for (const [what, part] of [
    ["the file", text],
    ["the value", value],
  ] as const) {
    const excess = excessOf(part);
    if (excess !== null) throw new Error(`${what} ${excess.message}`);
  }
  const document = parseDocument(text, { uniqueKeys: false });
  if (document.errors.length > 0) throw new Error("the file is no YAML");
  const wanted: unknown = parse(value);
  const place = byIndex(document.toJS(), path);
  const change = changeOf(document.contents, { text, path: place, value: wanted });
  const changed = text.slice(0, change.from) + change.text + text.slice(change.to);
  const made = parseDocument(changed, { uniqueKeys: false });
  const found: unknown = made.errors.length === 0 ? (made.toJS() as unknown) : undefined;
  if (isDeepStrictEqual(place.reduce(step, found), wanted)) return changed;
  throw new Error(UNCHANGEABLE);
}

const UNCHANGEABLE = "this place can't be changed by a command: edit the file";

/** Characters of the text from `from` up to `to`, and what stands there instead. */
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
  // Where a key has no value yet, that begins right behind its colon.
  return { from, to, text: from === to ? ` ${inFlow(value)}` : inFlow(value) };
}

function additionTo(node: unknown, { text, path, value }: Wanted): Change {
  const [key, ...deeper] = path;
  if (!isMap(node) || typeof key !== "string") throw new Error(`there is nothing to set ${path.join(".")} in`);
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

/** Where a node's last value ends; the parser counts comments that follow a block to it. */
function endOf(node: unknown): number {
  const isBlock = (isMap(node) || isSeq(node)) && node.flow !== true;
  const last: unknown = isBlock ? node.items.at(-1) : undefined;
  const inner = isPair(last) ? last.value : last;
  return inner === null || inner === undefined ? rangeOf(node)[1] : endOf(inner);
}

function rangeOf(node: unknown): readonly [number, number] {
  const range = (node as Node).range;
  if (range === null || range === undefined) throw new Error(UNCHANGEABLE);
  return [range[0], range[1]];
}

function inFlow(value: unknown): string {
  return stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
}

function step(at: unknown, key: string | number): unknown {
  return typeof at === "object" && at !== null ? (Reflect.get(at, key) as unknown) : undefined;
}

/** A booth's id in the place of its index. */
function byIndex(data: unknown, path: DataPath): DataPath {
  const [first, second, ...rest] = path;
  if (first !== "booths" || typeof second !== "string") return path;
  const booths = step(data, "booths");
  const ids = (Array.isArray(booths) ? (booths as unknown[]) : []).map((booth) => String(step(booth, "id")));
  const index = ids.indexOf(second);
  if (index === -1) throw new Error(`there is no booth "${second}"; there are ${ids.join(", ")}`);
  return [first, index, ...rest];
}
