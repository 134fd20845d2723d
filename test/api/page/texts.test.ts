import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { isPageFile } from "../../../src/api/page-files.ts";

const FOLDER = new URL("../../../src/api/page/", import.meta.url);
const files = readdirSync(FOLDER).filter((name) => !name.endsWith(".json"));
const scripts = files.filter((name) => name.endsWith(".js"));
const read = (name: string): string => readFileSync(new URL(name, FOLDER), "utf8");
const TEXTS = ["texts.js", "plc-texts.js", "begin-texts.js"];
const code = scripts.filter((name) => !TEXTS.includes(name)).map(read);
const keys = TEXTS.flatMap((name) => [...read(name).matchAll(/^ {2}"?([\w.]+)"?:/gm)]).map(([, key]) => key ?? "");

it("every text that a view asks for is there, once, and every one that is there is asked for", () => {
  const asked = code.flatMap((text) => [...text.matchAll(/"([a-z]+\.[A-Za-z_]+)"/g)].map(([, key]) => key ?? ""));
  const called = code.flatMap((text) => [...text.matchAll(/\bt\(\s*"([\w.]+)"/g)].map(([, key]) => key ?? ""));
  const families = code.flatMap((text) =>
    [...text.matchAll(/\bt\(`([a-z]+\.)\$\{/g)].map(([, family]) => family ?? ""),
  );
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.length).toBeGreaterThan(150);
  expect(called.filter((key) => !keys.includes(key))).toEqual([]);
  const unused = keys.filter((key) => !asked.includes(key) && !called.includes(key));
  expect(unused.filter((key) => !families.some((family) => key.startsWith(family)))).toEqual([]);
});

it("every file of the folder is served, and every path in one leads to a file", () => {
  const documents: Readonly<Record<string, string>> = { "index.html": "/", "scan.html": "/scan" };
  for (const name of files) expect(isPageFile("GET", documents[name] ?? `/${name}`), name).toBe(true);
  const linked = Object.keys(documents).flatMap((name) =>
    [...read(name).matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, path]) => path ?? ""),
  );
  expect(linked.length).toBeGreaterThan(5);
  for (const path of linked) expect(isPageFile("GET", path), path).toBe(true);
  for (const path of ["/tsconfig.json", "/page.ts", "/../server.ts", "/__proto__", "/constructor"]) {
    expect(isPageFile("GET", path), path).toBe(false);
  }
});

it("nothing is asked of another host, and nothing runs that stands in the page itself", () => {
  for (const name of files) {
    const text = read(name).replaceAll("http://www.w3.org/2000/svg", "");
    expect(text, name).not.toMatch(/https?:\/\/|@import|url\(["']?\/\//);
    expect(text, name).not.toMatch(/\binnerHTML\b|\beval\(|new Function/);
  }
  for (const name of ["index.html", "scan.html"]) {
    expect(read(name)).not.toMatch(/<script(?![^>]* src=)|<style| on\w+=| style=/);
  }
});
