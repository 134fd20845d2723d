import type { MadeBlock } from "../support/made-block.ts";
import type { Figure } from "./figure.ts";

/** A run as bench.json has it. A figure that couldn't be measured has a value of null there. */
export interface BenchResult {
  readonly machine: string;
  readonly node: string;
  readonly commit: string;
  readonly quick: boolean;
  /** Every family was measured. */
  readonly whole: boolean;
  /** Processes that wanted a core in the minute before the end, as the machine tells; those of the run among them. */
  readonly load: number;
  readonly figures: readonly Figure[];
}

/** A figure as cells: name, value, unit, anchor, ratio, target, reached. */
export function cellsOf({ name, value, unit, anchor, ratio, target, reached }: Figure): readonly string[] {
  const verdict = reached === null ? "" : reached ? "yes" : "no";
  return [name, short(value), unit, short(anchor), short(ratio), target, verdict];
}

/** NaN stands in JSON as null. */
function short(value: number | null): string {
  return value === null || Number.isNaN(value) ? "" : value.toPrecision(4);
}

/** The figures with a target as a table of docs/figures.md, with the machine that they were measured on. */
export function figuresBlock({ machine, node, commit, quick, load, figures }: BenchResult): MadeBlock {
  const head = ["figure", "value", "unit", "anchor", "ratio", "target", "reached"];
  const rows = figures.filter(({ reached }) => reached !== null).map(cellsOf);
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "/")).join(" | ")} |`;
  const command = `\`npm run bench${quick ? " -- --quick" : ""}\``;
  const markdown = [
    `Measured on ${machine}, Node ${node}, at commit ${commit}, by ${command}, at a load of ${load.toFixed(1)}:`,
    "",
    line(head),
    line(head.map(() => "---")),
    ...rows.map(line),
  ];
  return { document: "docs/figures.md", name: "benchmark", markdown: markdown.join("\n") };
}
