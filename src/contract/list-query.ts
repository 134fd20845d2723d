import { QueryError, type Query } from "./reports-query.ts";
import { parseTime } from "./time.ts";

type Item = Readonly<Record<string, unknown>>;
type Test = (item: Item) => boolean;
type Order = (a: Item, b: Item) => number;

const MAX_CRITERIA = 20;
/** Of the values' order, for operators that follow from it alone. */
const BY_ORDER: Readonly<Record<string, (order: number) => boolean>> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  lt: (order) => order < 0,
  le: (order) => order <= 0,
  gt: (order) => order > 0,
  ge: (order) => order >= 0,
};
/** Nothing is neither before nor after anything. */
const OF_SOMETHING = new Set(["lt", "le", "gt", "ge"]);

/**
 * The items that `filter=field:op:value,...` leaves (eq ne lt le gt ge like in; values of in parted by |), in the order of
 * `sort=-a,b`, as at the service. Throws QueryError for a field that isn't in `fields` and for any other operator.
 */
export function selected<T extends Item>(items: readonly T[], query: Query, fields: readonly string[]): T[] {
  const tests = criteria(query["filter"]).map((text) => testOf(text, fields));
  const orders = criteria(query["sort"]).map((text) => orderOf(text, fields));
  return items
    .filter((item) => tests.every((test) => test(item)))
    .sort((a, b) => orders.reduce((found, order) => (found === 0 ? order(a, b) : found), 0));
}

function criteria(text = ""): string[] {
  const parts = text.split(",").filter((part) => part !== "");
  if (parts.length > MAX_CRITERIA) throw new QueryError(`more than ${MAX_CRITERIA.toString()} criteria`);
  return parts;
}

function testOf(text: string, fields: readonly string[]): Test {
  const [field = "", op = "", ...rest] = text.split(":");
  const value = rest.join(":");
  if (!fields.includes(field)) throw new QueryError(`filter: no field ${field}`);
  if (rest.length === 0) throw new QueryError("filter is not field:op:value");
  const byOrder = Object.hasOwn(BY_ORDER, op) ? BY_ORDER[op] : undefined;
  if (byOrder !== undefined) {
    return ({ [field]: found }) => (!OF_SOMETHING.has(op) || found !== null) && byOrder(compare(found, value));
  }
  if (op === "in") return ({ [field]: found }) => value.split("|").some((one) => compare(found, one) === 0);
  if (op !== "like") throw new QueryError("filter is not field:op:value");
  const part = value.replaceAll("%", "").toUpperCase();
  return ({ [field]: found }) => textOf(found).toUpperCase().includes(part);
}

function orderOf(text: string, fields: readonly string[]): Order {
  const [sign, field] = text.startsWith("-") ? [-1, text.slice(1)] : [1, text];
  if (!fields.includes(field)) throw new QueryError(`sort: no field ${field}`);
  return ({ [field]: a }, { [field]: b }) =>
    sign * (typeof a === "number" && typeof b === "number" ? a - b : orderOfTexts(textOf(a), textOf(b)));
}

/** Numbers by value, instants by time in whichever spelling, all else as text. */
function compare(found: unknown, value: string): number {
  if (typeof found === "number" && value.trim() !== "" && Number.isFinite(Number(value))) return found - Number(value);
  const [a, b] = [parseTime(textOf(found)), parseTime(value)];
  return a !== null && b !== null ? a - b : orderOfTexts(textOf(found), value);
}

function orderOfTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}
