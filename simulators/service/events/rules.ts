import type { BoothLog } from "../figures/log.ts";
import { intersection, type Span, union } from "../base/span.ts";
import { heldValues } from "./held.ts";

export const RULE_OPS = ["==", "!=", "<", "<=", ">", ">=", "in", "not_in", "like"] as const;
type RuleOp = (typeof RULE_OPS)[number];
type RuleValue = string | number | boolean;

/** A condition on a tag's value or, in aggregate definitions, on a figure. `in` and `not_in` take a list. */
export interface Rule {
  readonly tag: string;
  readonly op: RuleOp;
  readonly value: RuleValue | readonly RuleValue[];
}

/** Returns the time in which every rule holds. If one of the tags is unknown, the rules don't hold. */
export function spansOfRules(log: BoothLog, rules: readonly Rule[]): Span[] {
  const [first, ...more] = rules.map((rule) =>
    union(heldValues(log, rule.tag).filter(({ value }) => holds(rule, value))),
  );
  return more.reduce((all, spans) => intersection(all, spans), first ?? []);
}

/** Compares numbers by value, true and false as 1 and 0, everything else as text without regard to case. */
export function holds({ op, value }: Pick<Rule, "op" | "value">, found: unknown): boolean {
  const among = (Array.isArray(value) ? value : String(value).split(",")) as readonly RuleValue[];
  switch (op) {
    case "in":
      return among.some((one) => comparable(one) === comparable(found));
    case "not_in":
      return !among.some((one) => comparable(one) === comparable(found));
    case "like":
      return String(found).toUpperCase().includes(String(value).replaceAll("%", "").toUpperCase());
    case "==":
      return comparable(found) === comparable(value);
    case "!=":
      return comparable(found) !== comparable(value);
    default:
      return isOrdered(op, comparable(found), comparable(value));
  }
}

function isOrdered(op: "<" | "<=" | ">" | ">=", found: number | string, value: number | string): boolean {
  if (typeof found !== typeof value) return false;
  if (op === "<") return found < value;
  if (op === "<=") return found <= value;
  return op === ">" ? found > value : found >= value;
}

function comparable(value: unknown): number | string {
  const text = (typeof value === "string" ? value : JSON.stringify(value)).trim().toUpperCase();
  if (text === "TRUE" || text === "FALSE") return text === "TRUE" ? 1 : 0;
  return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
}
