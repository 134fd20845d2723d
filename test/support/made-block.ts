import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "prettier";

/** Blocks of documents that are generated from code or measurements. Two invisible comments mark each block. */

const ROOT = new URL("../../", import.meta.url);
const begin = (name: string): string => `<!-- made: ${name} -->`;
const END = "<!-- end -->";

export interface MadeBlock {
  /** Path of the document below the project's root. */
  readonly document: string;
  readonly name: string;
  readonly markdown: string;
}

/** Returns the document's present and expected text. Throws if the document has no such block. */
export async function madeDocument({ document, name, markdown }: MadeBlock): Promise<{
  readonly file: string;
  readonly is: string;
  readonly should: string;
}> {
  const file = fileURLToPath(new URL(document, ROOT));
  const is = readFileSync(file, "utf8");
  const from = is.indexOf(begin(name));
  const to = is.indexOf(END, from);
  if (from < 0 || to < 0) throw new Error(`${document} has no block ${begin(name)} ... ${END}`);
  const body = await format(markdown, { parser: "markdown", printWidth: 120 });
  return { file, is, should: `${is.slice(0, from)}${begin(name)}\n\n${body}\n${is.slice(to)}` };
}

/** Writes the generated block into its document. */
export async function writeBlock(block: MadeBlock): Promise<void> {
  const { file, should } = await madeDocument(block);
  writeFileSync(file, should);
}
