import type { Scrubber } from "./domain/machine.ts";

/** The text that replaces a secret. */
export const LEFT_OUT = "[left out]";

/** Least length of a secret, in characters. A shorter text occurs in words that aren't secret. */
const LEAST_LENGTH = 4;
/** Least length at which the start of a secret is replaced too, in characters. Peers often cut off what they quote. */
const LEAST_PREFIX = 8;
/** Least length at which the start of a secret is replaced at the end of a text, which may be cut off. */
const LEAST_LAST = 6;
/** Least size of a secret that is found in base64. For a shorter secret, too few characters depend on the secret alone. */
const LEAST_ENCODED_BYTES = 5;
/** Least length of a part of a URL that counts as secret, in characters. */
const LEAST_PART = 8;
/**
 * Maximum number of secrets: 64 booths with two passwords each, and even more secrets of services, outputs and notices. Above that, the
 * oldest secret is forgotten.
 */
const MOST_SECRETS = 500;

/** A secret as a peer may write it, without white space, quotes and escapes. */
interface Form {
  readonly text: string;
  /** True if the form is part of a longer base64 word, which is replaced as a whole. */
  readonly is_encoded: boolean;
}

/**
 * Makes a scrubber, which removes secrets from texts that peers wrote. A server that rejects a request often quotes it. The quotation may
 * be unchanged, encoded for a URL or in base64, escaped as JSON or HTML, broken over lines, or cut off. So the scrubber compares text and
 * secrets without white space, quotes and escapes, and regardless of case. It replaces the matching part of the original text. It knows the
 * secrets of the configuration and those that the service sends, at most MOST_SECRETS.
 */
export function createScrubber(): Scrubber {
  const known = new Map<string, readonly Form[]>();
  const learn = (secret: string): void => {
    const trimmed = secret.trim();
    if (trimmed.length < LEAST_LENGTH) return;
    const forms = known.get(trimmed) ?? formsOf(trimmed);
    known.delete(trimmed);
    known.set(trimmed, forms);
    const [oldest] = known.keys();
    if (known.size > MOST_SECRETS && oldest !== undefined) known.delete(oldest);
  };
  return {
    learn,
    learnAddress: (url) => partsOf(url).forEach(learn),
    scrub: (text) => (known.size === 0 ? text : scrubbed(text, [...known.values()].flat())),
  };
}

/** Returns the parts of a URL that may be secret: a password, the path with the query, and each long part of both. */
function partsOf(text: string): readonly string[] {
  if (!URL.canParse(text)) return [text];
  const { password, pathname, search, hash } = new URL(text);
  const pieces = `${pathname}${search}${hash}`.split(/[/?&=#]/).filter((piece) => piece.length >= LEAST_PART);
  const whole = pathname === "/" ? [] : [pathname, `${pathname}${search}`];
  return [password, ...whole, search, ...pieces].filter((part) => part !== "");
}

function formsOf(secret: string): readonly Form[] {
  const bytes = Buffer.from(secret, "utf8");
  const plain = [secret, secret.replaceAll(" ", "+"), bytes.toString("latin1"), bytes.toString("hex")];
  const forms = plain.flatMap((text) => READINGS.map((reading) => squeezed(text, reading).text));
  const encoded = bytes.length < LEAST_ENCODED_BYTES ? [] : [0, 1, 2].flatMap((before) => base64Core(bytes, before));
  return [
    ...[...new Set(forms)].map((text) => ({ text, is_encoded: false })),
    ...[...new Set(encoded)].map((text) => ({ text: squeezed(text, "plain").text, is_encoded: true })),
  ].filter(({ text }) => text.length >= LEAST_LENGTH);
}

/** Returns the base64 characters that depend on the secret alone. `before`: number of bytes before the secret, modulo 3. */
function base64Core(secret: Buffer, before: number): readonly string[] {
  const bits = 8 * before;
  const text = Buffer.concat([Buffer.alloc(before), secret]).toString("base64");
  const core = text.slice(Math.ceil(bits / 6), Math.floor((bits + 8 * secret.length) / 6));
  return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
}

/** A text without the characters that peers insert, and the range of the original text for each character. */
interface Squeezed {
  readonly text: string;
  readonly from: readonly number[];
  readonly to: readonly number[];
}

/**
 * The ways to read a text. plain: unchanged. decoded: without the escapes of URLs, JSON and HTML. printable: decoded from the
 * quoted-printable encoding of mails, in which "=" at the end of a line continues the line.
 */
const READINGS = ["plain", "decoded", "printable"] as const;
type Reading = (typeof READINGS)[number];

/** A line break, with the reply code at the start of an SMTP line or the ">" of a quoted mail. */
const BREAK = /\r?\n(?:\d{3}[- ](?:\d\.\d+\.\d+ )?|(?:> ?)+)?/y;
const SOFT_BREAK = /=\r?\n/y;
const PRINTABLE = /=([0-9A-F]{2})/y;
const ESCAPE =
  /%([0-9a-f]{2})|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|&#x([0-9a-f]{1,6});|&#(\d{1,7});|&(amp|lt|gt|quot|apos);/iy;
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const BETWEEN = /[\s\p{Cc}\p{Cf}"'`\\]/u;

function squeezed(text: string, reading: Reading): Squeezed {
  const chars: string[] = [];
  const from: number[] = [];
  const to: number[] = [];
  for (let at = 0; at < text.length;) {
    const soft = reading === "printable" ? matchAt(SOFT_BREAK, text, at) : null;
    const skipped = (soft ?? matchAt(BREAK, text, at))?.[0].length ?? 0;
    const escape = reading === "plain" ? null : matchAt(reading === "decoded" ? ESCAPE : PRINTABLE, text, at);
    const char = escape === null ? (text[at] ?? "") : charOf(escape);
    const length = skipped > 0 ? skipped : (escape?.[0].length ?? 1);
    if (skipped === 0 && !BETWEEN.test(char)) {
      const lower = char.toLowerCase();
      chars.push(lower.length === 1 ? lower : (char[0] ?? ""));
      from.push(at);
      to.push(at + length);
    }
    at += length;
  }
  return { text: chars.join(""), from, to };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function charOf([, percent, unicode, byte, hex, decimal, name]: RegExpExecArray): string {
  if (name !== undefined) return NAMED[name.toLowerCase()] ?? "";
  const code = decimal === undefined ? parseInt(percent ?? unicode ?? byte ?? hex ?? "0", 16) : Number(decimal);
  return String.fromCharCode(code);
}

/** A range of characters of the original text, from one index up to another. */
type Range = readonly [from: number, to: number];

function scrubbed(text: string, forms: readonly Form[]): string {
  const ranges = READINGS.flatMap((reading) => {
    const view = squeezed(text, reading);
    return forms.flatMap((form) =>
      found(view, form).map((range) => (form.is_encoded ? wholeWord(text, range) : range)),
    );
  });
  let left = "";
  let end = 0;
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from >= end) left += `${text.slice(end, from)}${LEFT_OUT}`;
    end = Math.max(end, to);
  }
  return left + text.slice(end);
}

/** Returns the ranges of a form in a text, complete or cut off. */
function found({ text, from, to }: Squeezed, form: Form): readonly Range[] {
  const least = Math.min(form.text.length, Math.max(LEAST_PREFIX, Math.ceil(form.text.length / 2)));
  const ranges: Range[] = [];
  const add = (at: number, length: number): void => void ranges.push([from[at] ?? 0, to[at + length - 1] ?? 0]);
  for (let at = text.indexOf(form.text.slice(0, least)); at !== -1;) {
    let length = least;
    while (length < form.text.length && text[at + length] === form.text[length]) length += 1;
    add(at, length);
    at = text.indexOf(form.text.slice(0, least), at + length);
  }
  const last = text.replace(/(\.{2,}|…)$/, "");
  for (let length = Math.min(least - 1, last.length); length >= LEAST_LAST; length -= 1) {
    if (!last.endsWith(form.text.slice(0, length))) continue;
    add(last.length - length, length);
    break;
  }
  return ranges;
}

const WORD = /[A-Za-z0-9+/=_-]/;

function wholeWord(text: string, [from, to]: Range): Range {
  let first = from;
  let end = to;
  while (first > 0 && WORD.test(text[first - 1] ?? "")) first -= 1;
  while (WORD.test(text[end] ?? "")) end += 1;
  return [first, end];
}
