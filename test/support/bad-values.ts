import type { Random } from "../../src/domain/machine.ts";

export function pick<T>(random: Random, list: readonly T[]): T {
  const found = list[Math.floor(random.next() * list.length)];
  if (found === undefined) throw new Error("nothing to pick from");
  return found;
}

/** The fragments contain no SQL keyword in upper case: upper-case SQL in an answer therefore comes from the service. */
const SQL = [
  "' or '1'='1",
  "'; drop table booths; --",
  "x' union select hash from api_keys --",
  "1) or (select 1 from users",
  "%' escape '%",
  'name" desc, (select password from users) --',
  "/**/or/**/1=1",
];

const TEXTS = [
  ...SQL,
  "",
  " ",
  "0",
  "-1",
  "1e309",
  "9007199254740993",
  "999999999",
  "99999999999999999999",
  "NaN",
  "null",
  "true",
  "[]",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "../../../../etc/passwd",
  "..%2f..%2fservice.db",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udfff\ud800",
  "\u202etxt.exe",
  "e\u0301".repeat(40),
  "😀".repeat(60),
  "%s%n%x",
  "${7*7}",
  "<script>alert(1)</script>",
  "=cmd|' /c calc'!a0",
  "\r\nset-cookie: a=b",
  "a".repeat(201),
  "a".repeat(5_000),
  "2025-02-17 10:00:00Z",
  "2025-02-30T00:00:00Z",
  "0000-01-01T00:00:00Z",
  "1900-01-01 00:00:00",
  "9999-12-31T23:59:59.999999Z",
  "2025-02-17T10:00:00+02:00",
  "America/Denver",
  "Mars/Phobos",
  "00:00:00",
  "24:00:00",
];

export function badText(random: Random): string {
  return pick(random, TEXTS);
}

const NUMBERS = [0, -0, -1, 1, 0.5, 1e-320, 1e308, -1e308, 2 ** 31, 2 ** 53, -(2 ** 53), 1e21, 253_402_300_800_000];

/** Returns a random value of any JSON type. */
export function badValue(random: Random, depth = 0): unknown {
  const kind = Math.floor(random.next() * (depth > 3 ? 5 : 9));
  if (kind === 0) return null;
  if (kind === 1) return random.next() < 0.5;
  if (kind === 2) return pick(random, NUMBERS);
  if (kind < 5) return badText(random);
  const size = Math.floor(random.next() * 4);
  const children = Array.from({ length: size }, () => badValue(random, depth + 1));
  if (kind < 7) return children;
  // Builds the object from entries, so that a key __proto__ becomes an own property, as in JSON.parse.
  return Object.fromEntries(children.map((child, i) => [i === 0 ? "__proto__" : badText(random), child]));
}

/** Returns text instead of valid JSON: broken, huge, deeply nested, or with keys that have a special meaning. */
export function badJson(random: Random): string {
  const deep = Math.floor(random.next() * 3_000);
  return pick(random, [
    () => "{",
    () => '{"a":',
    () => '{"a":1}}',
    () => "\ufeff{}",
    () => "undefined",
    () => "NaN",
    () => '{"a":1e999}',
    () => '{"__proto__":{"scope":"admin"},"constructor":{"prototype":{"account_id":"x"}}}',
    () => "[".repeat(deep),
    () => `${"[".repeat(deep)}${"]".repeat(deep)}`,
    () => `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`,
    () => `{"name":"${"x".repeat(20_000)}"}`,
    () => `[${"0,".repeat(5_000)}0]`,
    () => JSON.stringify(badValue(random)),
    () => `{"name":"\\ud800","subject":"\\u0000","message":"\\ud800"}`,
  ])();
}
