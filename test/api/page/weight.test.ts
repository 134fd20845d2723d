import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { LIBRARY_FILES, sendPageFile } from "../../../src/api/page-files.ts";
import { LIBRARY_FILES as PACKAGED } from "../../../systemd/package/bundle.ts";

/** What a phone in a workshop's far corner has to fetch. */

const FOLDER = new URL("../../../src/api/page/", import.meta.url);
const LIBRARIES = new URL("../../../node_modules/", import.meta.url);
const FIRST_BYTES = 80_000;
const WITH_CHARTS_BYTES = 200_000;

const read = (name: string): string => readFileSync(new URL(name, FOLDER), "utf8");
const packed = (text: string | Buffer): number => gzipSync(text, { level: 9 }).length;

/** The files that come with these, by their imports; `lazy`: those that are only asked for later too. */
function closure(names: readonly string[], lazy: boolean): Set<string> {
  const found = new Set<string>();
  const add = (name: string): void => {
    if (found.has(name)) return;
    found.add(name);
    const imports = [
      ...read(name).matchAll(/^(?:import|export) .*?from "\.\/([\w-]+\.js)";$|^} from "\.\/([\w-]+\.js)";$/gm),
    ];
    const later = lazy ? [...read(name).matchAll(/import\("\.\/([\w-]+\.js)"\)/g)] : [];
    for (const [, one, other] of [...imports, ...later]) add(one ?? other ?? "");
  };
  for (const name of names) add(name);
  return found;
}

const weight = (names: Iterable<string>): number => [...names].reduce((sum, name) => sum + packed(read(name)), 0);
/** The largest language's texts. */
const language = Math.max(
  ...readdirSync(FOLDER)
    .filter((name) => /^[a-z]{2}\.js$/.test(name))
    .map((name) => packed(read(name))),
);
const isText = (name: string): boolean => /^[a-z]{2}\.js$/.test(name);
const CHARTS = ["/uplot.js", "/uplot.css"].map((path) => LIBRARY_FILES[path]?.[0] ?? "");

it("the first view is under 80 kB, packed, and nothing of a charts' library comes with it", () => {
  const first = [...closure(["main.js"], false)].filter((name) => !isText(name));
  expect(first).toContain("today.js");
  expect(first).not.toContain("plot.js");
  const bytes = weight([...first, "index.html", "page.css", "icon.svg"]) + language;
  expect(bytes).toBeLessThan(FIRST_BYTES);
  expect(bytes).toBeGreaterThan(10_000);
});

it("the whole page in one language, with its charts, is under 200 kB", () => {
  const all = [...closure(["main.js"], true)].filter((name) => !isText(name));
  expect(all).toContain("filter-charts.js");
  const library = CHARTS.reduce((sum, file) => sum + packed(readFileSync(new URL(file, LIBRARIES))), 0);
  const bytes = weight([...all, "index.html", "page.css", "icon.svg"]) + language + library;
  expect(library).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(WITH_CHARTS_BYTES);
});

it("the package brings each file of a library that is served, and no other", () => {
  expect([...PACKAGED].sort()).toEqual(
    Object.values(LIBRARY_FILES)
      .map(([file]) => file)
      .sort(),
  );
});

it("what Now is drawn with is named in the document as it is sent, so that it comes at once and not file by file", async () => {
  let text = "";
  const response = {
    ...{ headersSent: false, writableLength: 0, setHeader: () => undefined, write: () => true },
    ...{ destroy: () => undefined, once: () => undefined, off: () => undefined },
    writeHead() {
      return this;
    },
    end: (body: Uint8Array | string = "") => (text = body.toString()),
  };
  await sendPageFile(response, "/", { encodings: undefined, known: undefined, languages: "es" });
  const first = [...closure(["main.js"], false)].filter((name) => !isText(name));
  expect(first.filter((name) => !text.includes(`/${name}"`))).toEqual([]);
  expect(text).toContain('/es.js"');
  expect(text).not.toContain('/de.js"');
});
