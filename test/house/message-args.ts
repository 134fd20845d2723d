import { readFileSync, writeFileSync } from "node:fs";
import { parse, TYPE, type MessageFormatElement } from "@formatjs/icu-messageformat-parser";
import { format } from "prettier";

/** `npm run messages`: writes the types of the values of each message, from the English catalogue, to `src/domain/messages/args.d.ts`. */

const FOLDER = new URL("../../src/domain/messages/", import.meta.url);
const ARGS_FILE = new URL("args.d.ts", FOLDER);

/** Returns the text of the types' file for a catalogue. Variants of a message for a surface (`CODE.page`) have no types of their own. */
export async function argTypes(catalogue: Readonly<Record<string, string>>): Promise<string> {
  const rows = Object.entries(catalogue)
    .filter(([code]) => !code.endsWith(".page"))
    .map(([code, pattern]) => {
      const fields = [...valuesOf(pattern)].map(([name, type]) => `readonly ${name}: ${type}`);
      return `  readonly ${JSON.stringify(code)}: ${fields.length === 0 ? "NoArgs" : `{ ${fields.join("; ")} }`};`;
    });
  const head = `type NoArgs = Readonly<Record<never, never>>;\n\n/** The values of each message, by code. Written by \`npm run messages\` from \`en.json\`. */\n`;
  return format(`${head}export interface MessageArgs<Arg> {\n${rows.join("\n")}\n}\n`, {
    parser: "typescript",
    printWidth: 120,
  });
}

/** Returns the names of a pattern's values, each with its type: a choice by plural needs a number. */
export function valuesOf(pattern: string): ReadonlyMap<string, "number" | "string" | "Arg"> {
  const found = new Map<string, "number" | "string" | "Arg">();
  const add = (elements: readonly MessageFormatElement[]): void => {
    for (const element of elements) {
      if (element.type === TYPE.literal || element.type === TYPE.pound || element.type === TYPE.tag) continue;
      const isNumber = element.type === TYPE.plural || element.type === TYPE.number;
      const type = element.type === TYPE.select ? "string" : isNumber ? "number" : "Arg";
      if (type !== "Arg" || !found.has(element.value)) found.set(element.value, type);
      if (element.type === TYPE.plural || element.type === TYPE.select) {
        for (const option of Object.values(element.options)) add(option.value);
      }
    }
  };
  add(parse(pattern, { ignoreTag: true }));
  return found;
}

if (process.argv[1] === import.meta.filename) {
  const catalogue = JSON.parse(readFileSync(new URL("en.json", FOLDER), "utf8")) as Readonly<Record<string, string>>;
  writeFileSync(ARGS_FILE, await argTypes(catalogue));
}
