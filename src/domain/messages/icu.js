/**
 * Renders ICU MessageFormat as far as the catalogues use it: `{name}`, `{name, number}`, `{name, plural, =0 {..} one {..} other {..}}`
 * with `#`, `{name, select, a {..} other {..}}`, and apostrophes that quote braces. A test compares it with a complete
 * implementation for every text, language and plural class.
 */

/** @typedef {Readonly<Record<string, string | number>>} Values */

/**
 * Renders a message pattern with these values. `locale` decides plural forms and the format of numbers.
 * @param {string} pattern @param {Values} values @param {string} locale @returns {string}
 */
export function icuText(pattern, values, locale) {
  return icuPart({ pattern, at: 0 }, { values, locale, count: null });
}

/**
 * Renders a pattern up to its end, or up to the brace that closes a choice of a plural or select.
 * @param {{ pattern: string, at: number }} source
 * @param {{ values: Values, locale: string, count: number | null }} how `count`: the number that `#` stands for
 */
function icuPart(source, how) {
  let text = "";
  while (source.at < source.pattern.length) {
    const sign = source.pattern[source.at] ?? "";
    if (sign === "}") break;
    source.at += 1;
    if (sign === "{") text += argumentPart(source, how);
    else if (sign === "'") text += quotedPart(source);
    else if (sign === "#" && how.count !== null) text += localNumber(how.count, how.locale);
    else text += sign;
  }
  return text;
}

/**
 * Reads an apostrophe. A doubled apostrophe stands for a single one. An apostrophe before a brace or `#` quotes the text up to the next
 * apostrophe. Any other apostrophe stands for itself.
 * @param {{ pattern: string, at: number }} source
 */
function quotedPart(source) {
  const next = source.pattern[source.at] ?? "";
  if (next === "'") source.at += 1;
  if (!"{}#".includes(next) || next === "") return "'";
  const end = source.pattern.indexOf("'", source.at);
  const words = source.pattern.slice(source.at, end === -1 ? undefined : end);
  source.at += words.length + 1;
  return words;
}

/**
 * Renders the argument after an opening brace: a value, a number, or the matching form of a plural or select.
 * @param {{ pattern: string, at: number }} source @param {{ values: Values, locale: string, count: number | null }} how @returns {string}
 */
function argumentPart(source, how) {
  const [whole = "", name = "", kind = ""] =
    /^\s*(\w+)\s*(?:,\s*(\w+)\s*,?)?\s*/.exec(source.pattern.slice(source.at)) ?? [];
  source.at += whole.length;
  const value = how.values[name] ?? `{${name}}`;
  if (kind !== "plural" && kind !== "select") {
    source.at += 1;
    return kind === "number" ? localNumber(Number(value), how.locale) : String(value);
  }
  const count = kind === "plural" ? Number(value) : how.count;
  const wanted = kind === "select" ? String(value) : new Intl.PluralRules(how.locale).select(Number(value));
  /** @type {Record<string, string>} */
  const forms = {};
  for (let form = nextForm(source); form !== null; form = nextForm(source)) {
    forms[form] = icuPart(source, { ...how, count });
    source.at += 1;
  }
  source.at += 1;
  return forms[`=${value}`] ?? forms[wanted] ?? forms["other"] ?? "";
}

/**
 * Reads the start of the next form of a plural or select, such as `one {`. Returns the form's name; null: no further form.
 * @param {{ pattern: string, at: number }} source
 */
function nextForm(source) {
  const [whole = "", name = ""] = /^\s*([^\s{}]+)\s*\{/.exec(source.pattern.slice(source.at)) ?? [];
  if (whole === "") source.at += /^\s*/.exec(source.pattern.slice(source.at))?.[0].length ?? 0;
  source.at += whole.length;
  return whole === "" ? null : name;
}

/** @param {number} value @param {string} locale */
const localNumber = (value, locale) => new Intl.NumberFormat(locale).format(value);
