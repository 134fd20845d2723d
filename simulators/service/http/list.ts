import { parseTime } from "../base/time.ts";
import { badRequest } from "../base/errors.ts";
import { type Answer, type Call, ok } from "./operation.ts";
import { envelope, pagingParams } from "./query.ts";

/** A resource as in an answer. */
export type Item = Readonly<Record<string, unknown>>;

const OPERATORS = ["eq", "ne", "lt", "le", "gt", "ge", "like", "in"] as const;
type Operator = (typeof OPERATORS)[number];
const MAX_CRITERIA = 20;

interface ListRules {
  /** Fields allowed in filter and sort. */
  readonly fields: readonly string[];
  /** Fields that `search` compares, without regard to case. */
  readonly search?: readonly string[];
}

/**
 * Returns a page of a collection. Parameters: `search`, `filter=field:op:value,...` (values of `in` separated by |),
 * `sort=-a,b`, `limit` (-1 = all), `page`. Throws 400 for an unknown field or operator.
 */
export function listAnswer(call: Call, items: readonly Item[], rules: ListRules): Answer {
  return ok(envelope(select(call, items, rules), pagingParams(call.query, { allowAll: true })));
}

/** Returns the items that match `search` and `filter`, in the order of `sort`. */
export function select<T extends Item>(call: Pick<Call, "query">, items: readonly T[], rules: ListRules): T[] {
  const tests = criteria(call.query["filter"]).map((text) => testOf(text, rules));
  const orders = criteria(call.query["sort"]).map((text) => orderOf(text, rules));
  const word = (call.query["search"] ?? "").trim().toUpperCase();
  const isFound = (item: Item): boolean =>
    word === "" ||
    rules.search === undefined ||
    rules.search.some((name) => textOf(item[name]).toUpperCase().includes(word));
  return items
    .filter((item) => isFound(item) && tests.every((test) => test(item)))
    .sort((a, b) => orders.reduce((found, order) => (found === 0 ? order(a, b) : found), 0));
}

function criteria(text: string | undefined): string[] {
  const parts = (text ?? "").split(",").filter((part) => part !== "");
  if (parts.length > MAX_CRITERIA) throw badRequest(`more than ${MAX_CRITERIA} criteria`);
  return parts;
}

function testOf(text: string, { fields }: ListRules): (item: Item) => boolean {
  const [field = "", op = "", ...rest] = text.split(":");
  const value = rest.join(":");
  if (!fields.includes(field)) throw badRequest(`filter: no field ${field}`);
  if (rest.length === 0 || !isOperator(op)) throw badRequest("filter is not field:op:value");
  return (item) => holds(op, item[field], value);
}

function isOperator(text: string): text is Operator {
  return (OPERATORS as readonly string[]).includes(text);
}

function holds(op: Operator, found: unknown, value: string): boolean {
  switch (op) {
    case "eq":
      return compare(found, value) === 0;
    case "ne":
      return compare(found, value) !== 0;
    case "lt":
      return found !== null && compare(found, value) < 0;
    case "le":
      return found !== null && compare(found, value) <= 0;
    case "gt":
      return found !== null && compare(found, value) > 0;
    case "ge":
      return found !== null && compare(found, value) >= 0;
    case "like":
      return textOf(found).toUpperCase().includes(value.replaceAll("%", "").toUpperCase());
    case "in":
      return value.split("|").some((one) => compare(found, one) === 0);
  }
}

/** Compares numbers by value, instants by time in any format, everything else as text. */
function compare(found: unknown, value: string): number {
  if (typeof found === "number" && value.trim() !== "" && Number.isFinite(Number(value))) return found - Number(value);
  const times = [parseTime(textOf(found)), parseTime(value)];
  if (times[0] !== undefined && times[1] !== undefined) return times[0] - times[1];
  return order(textOf(found), value);
}

function orderOf(text: string, { fields }: ListRules): (a: Item, b: Item) => number {
  const isDown = text.startsWith("-");
  const field = isDown ? text.slice(1) : text;
  if (!fields.includes(field)) throw badRequest(`sort: no field ${field}`);
  return (a, b) => (isDown ? -1 : 1) * orderOfValues(a[field], b[field]);
}

function orderOfValues(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return order(textOf(a), textOf(b));
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}
