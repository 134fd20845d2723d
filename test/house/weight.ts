import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** How much there is to read of one folder's TypeScript. */
export interface Weight {
  readonly lines: number;
  /** Tokens of the TypeScript scanner, without comments and white space: formatting does not change the count. */
  readonly tokens: number;
  /** Places whose only purpose is to save lines: `...{ a, b }` and `const [a, b] = [x, y]`. */
  readonly squeezed: number;
}

/** Weighs all TypeScript files below a folder, except links and declaration files. */
export function weightOf(root: string, folder: string): Weight {
  const total = { lines: 0, tokens: 0, squeezed: 0 };
  for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".ts") || entry.name.endsWith(".d.ts")) continue;
    const text = readFileSync(join(entry.parentPath, entry.name), "utf8");
    total.lines += text.split("\n").length - 1;
    const source = ts.createSourceFile(entry.name, text, ts.ScriptTarget.Latest, false);
    countNode(source, source, total);
  }
  return total;
}

/** Adds the tokens and squeezed places of a node to the total. Walking the tree scans each token in its context (templates, regular expressions). */
function countNode(node: ts.Node, source: ts.SourceFile, total: { tokens: number; squeezed: number }): void {
  const children = node.getChildren(source);
  if (children.length === 0 && node.getWidth(source) > 0) total.tokens += 1;
  if (isSqueezed(node)) total.squeezed += 1;
  for (const child of children) if (!ts.isJSDoc(child)) countNode(child, source, total);
}

function isSqueezed(node: ts.Node): boolean {
  if (ts.isSpreadAssignment(node)) return ts.isObjectLiteralExpression(node.expression);
  if (!ts.isVariableDeclaration(node) || !ts.isArrayBindingPattern(node.name)) return false;
  return node.initializer !== undefined && ts.isArrayLiteralExpression(node.initializer);
}

/** Counts the files in the walk of a reading, from the PLC's register to the MQTT publish, as docs/explain/architecture.md lists it. */
export function filesOfTheWalk(root: string): number {
  const text = readFileSync(join(root, "docs/explain/architecture.md"), "utf8");
  const section = text.split("### A reading, from the PLC until the service has it")[1]?.split("###")[0] ?? "";
  return new Set([...section.matchAll(/^\| `([^`]+\.ts)`/gm)].map(([, file]) => file)).size;
}
