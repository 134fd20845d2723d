import ts from "typescript";
import { mutantsOf, type Mutant } from "./mutants.ts";

const { SyntaxKind: Kind } = ts;

/** The function in runtime.ts that replaces each operator. */
const CALLS: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [Kind.LessThanToken]: "lt",
  [Kind.LessThanEqualsToken]: "le",
  [Kind.GreaterThanToken]: "gt",
  [Kind.GreaterThanEqualsToken]: "ge",
  [Kind.EqualsEqualsEqualsToken]: "eq",
  [Kind.ExclamationEqualsEqualsToken]: "ne",
  [Kind.AmpersandAmpersandToken]: "and",
  [Kind.BarBarToken]: "or",
  [Kind.PlusToken]: "add",
  [Kind.MinusToken]: "sub",
  [Kind.AsteriskToken]: "mul",
  [Kind.SlashToken]: "div",
  [Kind.PlusEqualsToken]: "add",
  [Kind.MinusEqualsToken]: "sub",
};

export interface Planted extends Mutant {
  readonly id: number;
  /** Evaluated when the module is loaded, so the mutant must be active before that. */
  readonly is_static: boolean;
}

/** Puts all mutants into a source. Each is activated by its id; `from` is the first id. */
export function instrumented(
  file: string,
  source: string,
  { from, runtime }: { readonly from: number; readonly runtime: string },
): { readonly text: string; readonly planted: Planted[] } {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const mutants = mutantsOf(file, source);
  const planted: Planted[] = [];
  const idAt = (node: ts.Node): number | undefined => {
    const index = mutants.findIndex(({ start, end }) => start === node.getStart(tree) && end === node.getEnd());
    if (index < 0) return undefined;
    const is_static = ts.findAncestor(node, (one) => ts.isFunctionLike(one)) === undefined;
    mutants.forEach((mutant, at) => {
      if (mutant.start === mutants[index]?.start && mutant.end === mutants[index].end)
        planted.push({ ...mutant, id: from + at, is_static });
    });
    return from + index;
  };
  const wrapped = (node: ts.Node): string | null => {
    if (ts.isBinaryExpression(node)) return binary(node);
    const id = isOther(node) ? idAt(ts.isPropertyAccessExpression(node) ? node.name : node) : undefined;
    if (id === undefined) return null;
    if (ts.isPrefixUnaryExpression(node)) return `$M.not(${id}, ${textOf(node.operand)})`;
    if (ts.isPropertyAccessExpression(node)) return `$M.${node.name.text}(${id})`;
    return `$M.${node.kind === Kind.TrueKeyword ? "yes" : "no"}(${id})`;
  };
  const binary = ({ left, operatorToken, right }: ts.BinaryExpression): string | null => {
    const id = idAt(operatorToken);
    const call = CALLS[operatorToken.kind];
    if (id === undefined || call === undefined) return null;
    const a = textOf(left);
    const b = textOf(right);
    if (call === "and" || call === "or") return `$M.${call}(${id}, () => (${a}), () => (${b}))`;
    const text = `$M.${call}(${id}, ${a}, ${b})`;
    return operatorToken.kind === Kind.PlusEqualsToken || operatorToken.kind === Kind.MinusEqualsToken
      ? `${a} = ${text}`
      : text;
  };
  const textOf = (node: ts.Node): string => {
    // Types do not exist at run time.
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
      return node.getText(tree);
    const own = wrapped(node);
    if (own !== null) return own;
    let out = "";
    let at = node.getStart(tree);
    ts.forEachChild(node, (child) => {
      out += source.slice(at, child.getStart(tree)) + textOf(child);
      at = child.getEnd();
    });
    return out + source.slice(at, node.getEnd());
  };
  return { text: `import * as $M from ${JSON.stringify(runtime)};\n${textOf(tree)}`, planted };
}

function isOther(node: ts.Node): boolean {
  return (
    ts.isPrefixUnaryExpression(node) ||
    ts.isPropertyAccessExpression(node) ||
    node.kind === Kind.TrueKeyword ||
    node.kind === Kind.FalseKeyword
  );
}
