import ts from "typescript";

/** A change to a file: `text` replaces `was`, the text from `start` to `end`. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** The function or constant around the change. */
  readonly within: string;
  /** The expression around the change, on one line. */
  readonly expression: string;
  readonly start: number;
  readonly end: number;
  readonly was: string;
  readonly text: string;
}

const { SyntaxKind: Kind } = ts;

/** The replacements of each operator: the boundary first, then the opposite. */
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

const MOST_EXPRESSION = 90;

/**
 * The mutant's line in a list: by its function and expression, not by its line number, so that edits elsewhere in the file don't
 * change it.
 */
export function mutantText({ file, within, expression, was, text }: Mutant): string {
  return `${file} ${within}: ${expression}, ${was} -> ${text}`;
}

function nameAround(node: ts.Node): string {
  const around = ts.findAncestor(
    node,
    (one) =>
      ts.isFunctionDeclaration(one) ||
      (ts.isVariableDeclaration(one) && one.parent.parent.parent === one.getSourceFile()),
  );
  const named = around !== undefined && (ts.isFunctionDeclaration(around) || ts.isVariableDeclaration(around));
  return named ? (around.name?.getText() ?? "") : "";
}

/** Finds all mutants of a source text: comparisons, arithmetic, booleans, Math.min and Math.max, negations. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const add = (node: ts.Node, text: string): void => {
    const start = node.getStart(tree);
    const end = node.getEnd();
    const line = tree.getLineAndCharacterOfPosition(start).line + 1;
    const expression = node.parent.getText(tree).replaceAll(/\s+/g, " ").slice(0, MOST_EXPRESSION);
    mutants.push({ file, line, within: nameAround(node), expression, start, end, was: source.slice(start, end), text });
  };
  const visit = (node: ts.Node): void => {
    // Types do not exist at run time.
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
