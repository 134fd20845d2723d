import type { Random } from "../../src/domain/machine.ts";
import { badJson, badText, pick } from "../support/bad-values.ts";
import { EDITS } from "./edits.ts";

/** Maximum number of changes to an input. */
const MOST_EDITS = 4;
/** Maximum length of an input. Longer inputs find nothing new, and size limits have their own tests. */
const MOST_BYTES = 65_536;

type Below = (limit: number) => number;

/** Mutates bytes: values, cuts, insertions, repetitions, bits, and the end of another input. */
export function mutatedBytes(corpus: readonly Buffer[], random: Random): Buffer {
  const below: Below = (limit) => Math.floor(random.next() * limit);
  let bytes = pick(random, corpus);
  for (let edit = 0; edit <= below(MOST_EDITS) && bytes.length > 0; edit += 1) {
    const draw = below(EDITS.length + 2);
    if (draw < EDITS.length) bytes = EDITS[draw]?.(bytes, below(2 * bytes.length), below(256)) ?? bytes;
    else if (draw === EDITS.length) bytes = flipped(bytes, below);
    else bytes = spliced(bytes, pick(random, corpus), below);
  }
  return bytes.subarray(0, MOST_BYTES);
}

function flipped(bytes: Buffer, below: Below): Buffer {
  const copy = Buffer.from(bytes);
  const at = below(copy.length);
  copy[at] = (copy[at] ?? 0) ^ (1 << below(8));
  return copy;
}

function spliced(bytes: Buffer, other: Buffer, below: Below): Buffer {
  return Buffer.concat([bytes.subarray(0, below(bytes.length)), other.subarray(below(other.length + 1))]);
}

/** Mutates text in the same way by lines, words and numbers, so that most of it keeps its form. */
export function mutatedText(corpus: readonly string[], random: Random): string {
  const below: Below = (limit) => Math.floor(random.next() * limit);
  let text = pick(random, corpus);
  for (let edit = 0; edit <= below(MOST_EDITS) && text !== ""; edit += 1) {
    text = pick(random, TEXT_EDITS)(text, { random, below, other: pick(random, corpus) });
  }
  return text.slice(0, MOST_BYTES);
}

interface Means {
  readonly random: Random;
  readonly below: Below;
  readonly other: string;
}

type TextEdit = (text: string, means: Means) => string;

/** Words that have a meaning for one of the readers. */
const WORDS = /"[^"\n]*"|[\w.+-]+/g;

const TEXT_EDITS: readonly TextEdit[] = [
  (text, { random, below }) => replaced(text, below, () => badText(random).toWellFormed()),
  (text, { random, below }) => replaced(text, below, () => JSON.stringify(badText(random))),
  (text, { random, below }) => replaced(text, below, () => pick(random, ["null", "true", "[]", "{}", "-1", "1e400"])),
  (text, { random, below }) => replaced(text, below, () => badJson(random).slice(0, 4_000)),
  (text, { below, other }) => replaced(text, below, () => wordsOf(other)[below(wordsOf(other).length)]?.[0] ?? ""),
  (text, { below }) => changedNumber(text, below),
  (text, { below }) => byLines(text, (lines) => lines.toSpliced(below(lines.length), 1)),
  (text, { below }) =>
    byLines(text, (lines) => lines.toSpliced(below(lines.length), 0, lines[below(lines.length)] ?? "")),
  (text, { below, other }) =>
    byLines(text, (lines) => lines.toSpliced(below(lines.length), 0, ...other.split("\n").slice(0, 1 + below(4)))),
  (text, { below }) =>
    byLines(text, (lines) => lines.map((line, at) => (at === below(lines.length) ? ` ${line}` : line))),
  (text, { below }) => text.slice(0, below(text.length)),
  (text, { below }) => {
    const at = below(text.length);
    return text.slice(0, at) + String.fromCharCode(below(128)) + text.slice(at + below(2));
  },
];

function wordsOf(text: string): readonly RegExpExecArray[] {
  return [...text.matchAll(WORDS)];
}

function replaced(text: string, below: Below, word: () => string): string {
  const words = wordsOf(text);
  const found = words[below(words.length)];
  if (found === undefined) return text + word();
  return text.slice(0, found.index) + word() + text.slice(found.index + found[0].length);
}

function changedNumber(text: string, below: Below): string {
  const numbers = [...text.matchAll(/-?\d+(\.\d+)?/g)];
  const found = numbers[below(numbers.length)];
  if (found === undefined) return text;
  const value = Number(found[0]);
  const others = [value + 1, value - 1, -value, value * 1_000, value / 2, 0, 2 ** 31, 2 ** 53];
  return text.slice(0, found.index) + String(others[below(others.length)]) + text.slice(found.index + found[0].length);
}

function byLines(text: string, act: (lines: string[]) => string[]): string {
  return act(text.split("\n")).join("\n");
}
