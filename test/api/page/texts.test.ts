import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { IntlMessageFormat } from "intl-messageformat";
import { expect, it } from "vitest";
import { isPageFile } from "../../../src/api/page-files.ts";
import { argTypes, valuesOf } from "../../house/message-args.ts";

const FOLDER = new URL("../../../src/api/page/", import.meta.url);
const MESSAGES = new URL("../../../src/domain/messages/", import.meta.url);
const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.includes(".") && name !== "tsconfig.json",
);
const scripts = files.filter((name) => name.endsWith(".js"));
const read = (name: string, folder = FOLDER): string => readFileSync(new URL(name, folder), "utf8");
const LANGUAGES = ["en", "es", "de"] as const;
type Catalogue = Readonly<Record<string, string>>;
const code = scripts.map((name) => read(name));
const parsed = (text: string): Catalogue => JSON.parse(text) as Catalogue;

/** The texts of the page's views, and the agent's messages: each in a file for each language. */
const CATALOGUES = {
  "the page's texts": (language: string) => read(`texts/${language}.json`),
  "the agent's messages": (language: string) => read(`${language}.json`, MESSAGES),
} as const;
const NAMES = Object.keys(CATALOGUES) as (keyof typeof CATALOGUES)[];
const EACH = NAMES.flatMap((name) => LANGUAGES.map((language) => [name, language] as const));
const ENGLISH = parsed(CATALOGUES["the page's texts"]("en"));
const keys = Object.keys(ENGLISH);
/** Names and types of a pattern's values. Throws an error if the pattern can't be parsed. */
const argsOf = (pattern = ""): readonly string[] =>
  [...valuesOf(pattern)].map(([name, type]) => `${name}: ${type}`).toSorted();

/** Returns the texts that a language needs: records, with the reasons of their incidents, are in English. */
function inLanguage(english: Catalogue, language: string): Catalogue {
  const texts = Object.entries(english).filter(([key]) => language === "en" || !key.startsWith("incident."));
  return Object.fromEntries(texts);
}

it.each(EACH)(
  "%s in language %s include each English key exactly once with the same placeholders, and no other key",
  (name, language) => {
    const text = CATALOGUES[name](language);
    const english = inLanguage(parsed(CATALOGUES[name]("en")), language);
    const texts = parsed(text);
    expect(Object.keys(texts).toSorted()).toEqual(Object.keys(english).toSorted());
    // JSON.parse takes the last of several texts with the same key.
    expect([...text.matchAll(/^ {2}"/gm)]).toHaveLength(Object.keys(english).length);
    for (const key of Object.keys(english)) {
      expect([key, argsOf(texts[key])]).toEqual([key, argsOf(english[key])]);
      expect(texts[key]?.trim(), key).not.toBe("");
    }
  },
);

it("the web page's version of a message has only placeholders of the message's usual text, and names no command", () => {
  const english = parsed(CATALOGUES["the agent's messages"]("en"));
  for (const [key, pattern] of Object.entries(english).filter(([name]) => name.endsWith(".page"))) {
    const usual = argsOf(english[key.replace(/\.page$/, "")]);
    expect([key, argsOf(pattern).filter((arg) => !usual.includes(arg))]).toEqual([key, []]);
    expect(pattern, key).not.toMatch(/booth-gateway|systemctl|sudo/);
  }
});

it("the type declarations of message values match the English catalogue", async () => {
  const english = parsed(CATALOGUES["the agent's messages"]("en"));
  expect(read("args.d.ts", MESSAGES)).toBe(await argTypes(english));
});

type IcuText = (pattern: string, values: Readonly<Record<string, string | number>>, locale: string) => string;

/** A value with every sign that means something in a pattern. */
const WORDS = "it's {x} # <b> ''";
const COUNTS = [0, 1, 2, 5, 1000];

/** The values to try a pattern with: every count, and for a choice by words each word of the pattern and one that it lacks. */
function samplesOf(pattern: string): readonly Readonly<Record<string, string | number>>[] {
  const args = [...valuesOf(pattern)];
  const choices = [...pattern.matchAll(/(\w+)\s*\{/g)].map(([, word = ""]) => word);
  const isChoice = args.some(([, type]) => type === "string");
  return COUNTS.flatMap((count) =>
    (isChoice ? [...choices, "none"] : [WORDS]).map((choice) => {
      const valueOf = { number: count, string: choice, Arg: WORDS } as const;
      return Object.fromEntries(args.map(([name, type]) => [name, valueOf[type]] as const));
    }),
  );
}

it.each(EACH)(
  "%s in language %s are rendered by the page exactly as by a complete ICU library",
  async (name, language) => {
    const { icuText } = (await import(new URL("icu.js", MESSAGES).href)) as { readonly icuText: IcuText };
    const tags = { en: ["en", "en-GB"], es: ["es", "es-MX"], de: ["de", "de-AT"] }[language];
    for (const [key, pattern] of Object.entries(parsed(CATALOGUES[name](language)))) {
      for (const locale of tags) {
        const complete = new IntlMessageFormat(pattern, locale, undefined, { ignoreTag: true });
        for (const values of samplesOf(pattern)) {
          expect([key, icuText(pattern, values, locale)]).toEqual([key, String(complete.format(values))]);
        }
      }
    }
  },
);

it("the web page's renderer treats plain numbers, nested choices, quoted braces and apostrophes like a complete ICU library", async () => {
  const { icuText } = (await import(new URL("icu.js", MESSAGES).href)) as { readonly icuText: IcuText };
  const patterns = [
    "{count} and {count, number}",
    "{count, plural, =0 {none} one {# of {name}} other {# of {name}s}}",
    "{kind, select, a {{count, plural, one {one} other {# more}}} other {it's {kind}}}",
    "'{name}' isn''t {name}, it's '{'",
    "{count, plural, other {'#' is # and '{'}}",
  ];
  for (const pattern of patterns) {
    for (const count of COUNTS) {
      for (const values of [
        { count, name: WORDS, kind: "a" },
        { count, name: "", kind: "b" },
      ]) {
        const complete = new IntlMessageFormat(pattern, "en", undefined, { ignoreTag: true });
        expect([pattern, icuText(pattern, values, "en")]).toEqual([pattern, String(complete.format(values))]);
      }
    }
  }
});

it.each(NAMES)("%s contain no untranslated English sentence in another language's file", (name) => {
  const english = parsed(CATALOGUES[name]("en"));
  for (const language of ["es", "de"]) {
    const texts = parsed(CATALOGUES[name](language));
    // A single word may be the same in both languages: Firmware, Gateway.
    const isSentence = (pattern = ""): boolean => /[a-z]{3,} [a-z]{2,}/.test(pattern.replaceAll(/\{\w+\}/g, ""));
    const same = Object.keys(english).filter((key) => texts[key] === english[key] && isSentence(english[key]));
    expect(same, language).toEqual([]);
  }
});

it("every text that the page uses is in the catalogue, and every text in the catalogue is used", () => {
  const asked = code.flatMap((text) => [...text.matchAll(/"([a-z]+\.[A-Za-z_]+)"/g)].map(([, key]) => key ?? ""));
  const called = code.flatMap((text) => [...text.matchAll(/\bt\(\s*"([\w.]+)"/g)].map(([, key]) => key ?? ""));
  const families = code.flatMap((text) =>
    [...text.matchAll(/\bt\(`([a-z]+\.)\$\{/g)].map(([, family]) => family ?? ""),
  );
  expect(keys.length).toBeGreaterThan(150);
  expect(called.filter((key) => !keys.includes(key))).toEqual([]);
  const unused = keys.filter((key) => !asked.includes(key) && !called.includes(key));
  expect(unused.filter((key) => !families.some((family) => key.startsWith(family)))).toEqual([]);
});

it("every file of the page is served under its unique name, and every path linked in a document is served", () => {
  expect(new Set(files.map((name) => basename(name))).size).toBe(files.length);
  const documents: Readonly<Record<string, string>> = { "index.html": "/", "scan.html": "/scan" };
  for (const name of files) expect(isPageFile("GET", documents[name] ?? `/${basename(name)}`), name).toBe(true);
  const linked = Object.keys(documents).flatMap((name) =>
    [...read(name).matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, path]) => path ?? ""),
  );
  expect(linked.length).toBeGreaterThan(5);
  for (const path of linked) expect(isPageFile("GET", path), path).toBe(true);
  for (const path of ["/tsconfig.json", "/page.ts", "/../server.ts", "/__proto__", "/constructor"]) {
    expect(isPageFile("GET", path), path).toBe(false);
  }
});

it("the web page's files request nothing from another host and contain no inline scripts", () => {
  for (const name of files) {
    const text = read(name).replaceAll("http://www.w3.org/2000/svg", "");
    expect(text, name).not.toMatch(/https?:\/\/|@import|url\(["']?\/\//);
    expect(text, name).not.toMatch(/\binnerHTML\b|\beval\(|new Function/);
  }
  for (const name of ["index.html", "scan.html"]) {
    expect(read(name)).not.toMatch(/<script(?![^>]* src=)|<style| on\w+=| style=/);
  }
});
