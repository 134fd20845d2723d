import { isDeepStrictEqual } from "node:util";

/** Replaces vitest for thousands of runs in one process: collects tests, and has the matchers that they use. */
export interface Case {
  readonly name: string;
  readonly run: () => unknown;
}

export const cases: Case[] = [];

type Body = (...args: never[]) => unknown;

function collect(name: string, run: () => unknown): void {
  cases.push({ name, run });
}

function eachOf(define: (name: string, run: () => unknown) => void) {
  return (rows: readonly unknown[]) =>
    (name: string, body: Body): void =>
      rows.forEach((row, index) => {
        const args = (Array.isArray(row) ? row : [row]) as never[];
        define(`${name} #${index}`, () => body(...args));
      });
}

export const it = Object.assign(collect, { each: eachOf(collect) });
export const test = it;
const group = (_name: string, define: () => unknown): void => void define();
export const describe = Object.assign(group, { each: eachOf(group) });

class Mismatch extends Error {}

/** Removes undefined properties, as vitest's toEqual ignores them. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .map(([key, one]) => [key, plain(one)]),
  );
}

class Containing {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Replaces expect.stringContaining in an expected value by the actual text, if that contains it. */
function resolved(given: unknown, value: unknown): unknown {
  if (given instanceof Containing) return typeof value === "string" && value.includes(given.text) ? value : given;
  if (Array.isArray(given)) return given.map((one, i) => resolved(one, Array.isArray(value) ? value[i] : undefined));
  if (typeof given !== "object" || given === null || Object.getPrototypeOf(given) !== Object.prototype) return given;
  const pairs = Object.entries(given).map(([key, one]) => [key, resolved(one, Reflect.get(Object(value), key))]);
  return Object.fromEntries(pairs);
}

function matches(value: unknown, pattern: unknown): boolean {
  if (Array.isArray(pattern))
    return (
      Array.isArray(value) && value.length === pattern.length && pattern.every((one, at) => matches(value[at], one))
    );
  if (typeof pattern !== "object" || pattern === null) return Object.is(value, pattern);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(pattern).every(([key, one]) => matches(Reflect.get(value, key), one));
}

const MATCHERS: Readonly<Record<string, (value: never, ...given: never[]) => boolean>> = {
  toBe: (value: unknown, given: unknown) => Object.is(value, given),
  toEqual: (value: unknown, given: unknown) => isDeepStrictEqual(plain(value), plain(resolved(given, value))),
  toMatchObject: matches,
  toHaveLength: (value: { length: number }, length: number) => value.length === length,
  toContain: (value: string | readonly unknown[], given: never) => value.includes(given),
  toContainEqual: (value: readonly unknown[], given: unknown) =>
    value.some((one) => isDeepStrictEqual(plain(one), plain(given))),
  toBeNull: (value: unknown) => value === null,
  toBeUndefined: (value: unknown) => value === undefined,
  toBeGreaterThan: (value: number, given: number) => value > given,
  toBeGreaterThanOrEqual: (value: number, given: number) => value >= given,
  toBeLessThan: (value: number, given: number) => value < given,
  toBeLessThanOrEqual: (value: number, given: number) => value <= given,
  toBeCloseTo: (value: number, given: number, digits = 2) => Math.abs(value - given) < 10 ** -digits / 2,
};

function expectValue(value: unknown): unknown {
  const bound = (is: boolean): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(MATCHERS).map(([name, match]) => [
        name,
        (...given: never[]): void => {
          if (match(value as never, ...given) !== is) throw new Mismatch(name);
        },
      ]),
    );
  return { ...bound(true), not: bound(false) };
}

export const expect = Object.assign(expectValue, { stringContaining: (text: string) => new Containing(text) });
