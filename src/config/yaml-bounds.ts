import { isMap, isScalar, isSeq, Lexer, LineCounter, Parser, visit } from "yaml";
import type { Document, Node } from "yaml";
import { MOST_TAGS } from "./profile-schema.ts";

/**
 * What a YAML file may hold at most. The parser, the schemas and the search for a problem's place take a time that grows with the
 * square of one or the other, so a file is measured first, in one pass over its characters, and refused before any of them sees it.
 */

/** Some seven for each key with its value: a profile with as many tags as there may be, of fourteen keys each, has fewer. */
const MAX_PIECES = 200_000;
/** Aliases resolve to copies: without a bound a few lines make gigabytes; and each is looked for in the whole file. */
export const MAX_ALIASES = 100;
/** Open brackets and indents at once, two for a list in a mapping; the deepest setting there is has a dozen. The parser recurses. */
const MAX_OPEN = 64;
/** Of the text itself: a file with more isn't YAML, and the parser takes ever longer over each. */
const MAX_MISTAKES = 100;
/** Of one mapping or list; a profile's tags are the longest that there is. */
const MAX_ENTRIES = MOST_TAGS;

/** Where a file breaks a bound, and which. */
export interface Excess {
  /** In characters from the text's beginning. */
  readonly offset: number;
  readonly message: string;
}

/** null: small and flat enough to be parsed. Stops at the first piece that is too much; `lines` counts the lines up to there. */
export function excessOf(text: string, lines = new LineCounter()): Excess | null {
  const parser = new Parser(lines.addNewLine);
  const counted = { pieces: 0, aliases: 0, mistakes: 0, open: 0 };
  for (const piece of new Lexer().lex(text)) {
    for (const { type } of parser.next(piece)) if (type === "error") counted.mistakes += 1;
    counted.pieces += 1;
    if (piece.startsWith("*")) counted.aliases += 1;
    counted.open = parser.stack.length;
    const message = excess(counted);
    if (message !== null) return { offset: parser.offset, message };
  }
  return null;
}

interface Counted {
  readonly pieces: number;
  readonly aliases: number;
  readonly mistakes: number;
  readonly open: number;
}

function excess(counted: Counted): string | null {
  if (counted.open > MAX_OPEN) return `is nested too deep: more than ${MAX_OPEN} lists and mappings are open here`;
  if (counted.aliases > MAX_ALIASES) return `has more than ${MAX_ALIASES} aliases (*name)`;
  if (counted.mistakes > MAX_MISTAKES) return `isn't YAML: more than ${MAX_MISTAKES} mistakes up to here`;
  if (counted.pieces > MAX_PIECES)
    return `has too many keys and values: more than ${MAX_PIECES} words and marks up to here`;
  return null;
}

/** What is too long in a document, or stands twice; the parser itself would compare each key with each. */
export function excessIn(document: Document.Parsed): readonly Excess[] {
  const found: Excess[] = [];
  visit(document, {
    Collection: (_, node) => {
      if (!isMap(node) && !isSeq(node)) return undefined;
      if (node.items.length > MAX_ENTRIES) {
        const message = `has ${node.items.length} entries, more than ${MAX_ENTRIES}`;
        found.push({ offset: startOf(node), message });
        return visit.SKIP;
      }
      if (isMap(node)) found.push(...doublesIn(node.items.map(({ key }) => key)));
      return undefined;
    },
  });
  return found;
}

function doublesIn(keys: readonly unknown[]): readonly Excess[] {
  const seen = new Set<unknown>();
  return keys.flatMap((key) => {
    if (!isScalar(key)) return [];
    const isDouble = seen.has(key.value);
    seen.add(key.value);
    return isDouble ? [{ offset: startOf(key), message: "Map keys must be unique" }] : [];
  });
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}
