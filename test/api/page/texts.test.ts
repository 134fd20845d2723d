import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, it } from "vitest";
import { SENTENCES } from "../../../src/domain/sentences.ts";
import { isPageFile } from "../../../src/api/page-files.ts";

const FOLDER = new URL("../../../src/api/page/", import.meta.url);
const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.includes(".") && name !== "tsconfig.json",
);
const scripts = files.filter((name) => name.endsWith(".js"));
const read = (name: string): string => readFileSync(new URL(name, FOLDER), "utf8");
const LANGUAGES = ["en", "es", "de"] as const;
type Texts = Readonly<Record<string, string>>;
const code = scripts.filter((name) => !LANGUAGES.some((language) => name === `texts/${language}.js`)).map(read);
const fileOf = async (language: string) =>
  (await import(new URL(`texts/${language}.js`, FOLDER).href)) as { readonly TEXTS: Texts; readonly SAYINGS: Texts };
const textsOf = async (language: string): Promise<Texts> => (await fileOf(language)).TEXTS;
const sayingsOf = async (language: string): Promise<Texts> => (await fileOf(language)).SAYINGS;
const ENGLISH = await textsOf("en");
const keys = Object.keys(ENGLISH);
const namesIn = (text = ""): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([name]) => name).toSorted();

it.each(LANGUAGES)("%s has every text once, no other, and each is filled in with the same", async (language) => {
  const texts = await textsOf(language);
  expect(Object.keys(texts).toSorted()).toEqual(keys.toSorted());
  const written = [
    ...(read(`texts/${language}.js`).split("export const SAYINGS")[0] ?? "").matchAll(/^ {2}"?([\w.]+)"?:/gm),
  ].map(([, key]) => key ?? "");
  expect(written.toSorted()).toEqual(keys.toSorted());
  for (const key of keys) {
    expect([key, namesIn(texts[key])]).toEqual([key, namesIn(ENGLISH[key])]);
    expect(texts[key]?.trim(), key).not.toBe("");
  }
});

it.each(["es", "de"])("%s says every sentence of the agent, no other, and fills in the same", async (language) => {
  const sayings = await sayingsOf(language);
  expect(Object.keys(sayings).toSorted()).toEqual(Object.keys(SENTENCES).toSorted());
  for (const [code, text] of Object.entries(SENTENCES)) {
    expect([code, namesIn(sayings[code])]).toEqual([code, namesIn(text)]);
    expect(sayings[code], code).not.toBe(text);
  }
});

it("no sentence stands in another language's file as it is in English", async () => {
  for (const language of ["es", "de"]) {
    const texts = await textsOf(language);
    // A single word may be the same in both languages: Firmware, Gateway.
    const same = keys.filter((key) => texts[key] === ENGLISH[key] && /[a-z]{3,} [a-z]{2,}/.test(ENGLISH[key] ?? ""));
    expect(same, language).toEqual([]);
  }
});

it("every text that a view uses exists, and every text is used", () => {
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

it("every file of the page's folders is served under its own name, and every path in a document is a file", () => {
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

it("the page requests nothing from another host and has no inline scripts", () => {
  for (const name of files) {
    const text = read(name).replaceAll("http://www.w3.org/2000/svg", "");
    expect(text, name).not.toMatch(/https?:\/\/|@import|url\(["']?\/\//);
    expect(text, name).not.toMatch(/\binnerHTML\b|\beval\(|new Function/);
  }
  for (const name of ["index.html", "scan.html"]) {
    expect(read(name)).not.toMatch(/<script(?![^>]* src=)|<style| on\w+=| style=/);
  }
});
