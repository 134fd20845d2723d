import ts from "typescript";

/** One change to one file: the text from `start` to `end` becomes `text`. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly was: string;
  readonly text: string;
}

const { SyntaxKind: Kind } = ts;

/** Each operator with what it is taken for: the boundary first, then the opposite. */
const OPERATORS: Readonly<Partial<Record<ts.SyntaxKind, readonly string[]>>> = {
  [Kind.LessThanToken]: ["<=", ">="],
  [Kind.LessThanEqualsToken]: ["<", ">"],
  [Kind.GreaterThanToken]: [">=", "<="],
  [Kind.GreaterThanEqualsToken]: [">", "<"],
  [Kind.EqualsEqualsEqualsToken]: ["!=="],
  [Kind.ExclamationEqualsEqualsToken]: ["==="],
  [Kind.AmpersandAmpersandToken]: ["||"],
  [Kind.BarBarToken]: ["&&"],
  [Kind.PlusToken]: ["-"],
  [Kind.MinusToken]: ["+"],
  [Kind.AsteriskToken]: ["/"],
  [Kind.SlashToken]: ["*"],
  [Kind.PlusEqualsToken]: ["-="],
  [Kind.MinusEqualsToken]: ["+="],
};

/** All mutants of a source text: comparisons, arithmetic, booleans, Math.min and Math.max, negations. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const add = (node: ts.Node, text: string): void => {
    const start = node.getStart(tree);
    const end = node.getEnd();
    const line = tree.getLineAndCharacterOfPosition(start).line + 1;
    mutants.push({ file, line, start, end, was: source.slice(start, end), text });
  };
  const visit = (node: ts.Node): void => {
    // Types are gone at run time.
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      for (const text of OPERATORS[node.operatorToken.kind] ?? []) add(node.operatorToken, text);
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === Kind.ExclamationToken) {
      add(node, node.operand.getText(tree));
    } else if (node.kind === Kind.TrueKeyword) add(node, "false");
    else if (node.kind === Kind.FalseKeyword) add(node, "true");
    else if (ts.isPropertyAccessExpression(node) && node.expression.getText(tree) === "Math") {
      if (node.name.text === "min") add(node.name, "max");
      if (node.name.text === "max") add(node.name, "min");
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return mutants;
}

export function applied(source: string, { start, end, text }: Mutant): string {
  return source.slice(0, start) + text + source.slice(end);
}
