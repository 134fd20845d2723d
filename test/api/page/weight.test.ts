import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { LIBRARY_FILES, sendPageFile } from "../../../src/api/page-files.ts";
import { LIBRARY_FILES as PACKAGED } from "../../../systemd/package/bundle.ts";

/** The amount of data that a phone has to load. */

const FOLDER = new URL("../../../src/api/page/", import.meta.url);
const FIRST_BYTES = 80_000;
const WITH_CHARTS_BYTES = 200_000;

const LANGUAGES = ["en", "es", "de"] as const;
const IMPORTED = /^import \{([^}]*)\} from "(\.\/[\w-]+\.js)";$/gm;
/** An import as the files have it, with its folder. */
const WRITTEN = /^import \{[^}]*\} from "\.{1,2}\/(?:(?:\w+|\.\.)\/)*[\w-]+\.js";$/gm;
/** Top-level names of a module. */
const NAMED = /^(?:export )?(?:async )?(?:const|let|class|function\*?) (?:\{ (.*?) \} =|(\w+))/gm;

const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"));
const read = (name: string): string => readFileSync(new URL(name, FOLDER), "utf8");
const isText = (name: string): boolean => /^\/[a-z]{2}\.js$/.test(name);

/** Returns a file as a browser gets it, compressed. */
async function sent(path: string, languages = "en"): Promise<Buffer> {
  let body: Buffer = Buffer.alloc(0);
  const response = {
    headersSent: false,
    writableLength: 0,
    setHeader: () => undefined,
    write: () => true,
    destroy: () => undefined,
    once: () => undefined,
    off: () => undefined,
    writeHead() {
      return this;
    },
    end: (all: Uint8Array | string = "") => (body = Buffer.from(all)),
  };
  await sendPageFile(response, path, { encodings: "gzip", known: undefined, languages });
  return body;
}

const textOf = async (path: string): Promise<string> => gunzipSync(await sent(path)).toString("utf8");

/** Returns these files and all that they import. `lazy`: also what they import later. */
async function closure(paths: readonly string[], { lazy }: { readonly lazy: boolean }): Promise<string[]> {
  const found = new Set<string>();
  const add = async (path: string): Promise<void> => {
    if (found.has(path) || isText(path)) return;
    found.add(path);
    const text = await textOf(path);
    const named = [...text.matchAll(IMPORTED)].map(([, , next = ""]) => next);
    const later = lazy ? [...text.matchAll(/import\("(\.\/[\w-]+\.js)"\)/g)].map(([, next = ""]) => next) : [];
    for (const next of [...named, ...later]) await add(next.slice(1));
  };
  for (const path of paths) await add(path);
  return [...found];
}

async function weight(paths: Iterable<string>): Promise<number> {
  const all = await Promise.all([...paths].map((path) => sent(path)));
  return all.reduce((sum, { length }) => sum + length, 0);
}

const ALWAYS = ["/", "/page.css", "/icon.svg"];
/** Returns the files of a language's texts. English messages come with the answers. */
const textFiles = (name: string): readonly string[] =>
  name === "en" ? ["/en.json"] : [`/${name}.json`, `/messages-${name}.json`];
/** The largest language's texts. */
const language = async (): Promise<number> =>
  Math.max(...(await Promise.all(LANGUAGES.map((name) => weight(textFiles(name))))));

it("the web page's first view needs two scripts and less than 80 kB compressed, without the chart library", async () => {
  const first = await closure(["/ahead.js", "/first.js"], { lazy: false });
  expect(first).toEqual(["/ahead.js", "/first.js"]);
  const text = await textOf("/first.js");
  expect(text).toContain("function todayStrip(");
  expect(text).not.toContain("uPlot");
  const bytes = (await weight([...first, ...ALWAYS])) + (await language());
  expect(bytes).toBeLessThan(FIRST_BYTES);
  expect(bytes).toBeGreaterThan(10_000);
});

it("the whole page in one language, including its charts, has less than 200 kB compressed", async () => {
  const all = await closure(["/ahead.js", "/first.js"], { lazy: true });
  expect(all).toContain("/filter-charts.js");
  const library = await weight(["/uplot.js", "/uplot.css"]);
  const bytes = (await weight([...all, ...ALWAYS])) + (await language()) + library;
  expect(library).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(WITH_CHARTS_BYTES);
});

it("the web page's lazily loaded modules import only names that the first view's bundle exports", async () => {
  const first = await textOf("/first.js");
  const has = new Set(
    [...first.matchAll(/^export (?:async )?(?:const|let|class|function\*?) (\w+)/gm)].map(([, name]) => name),
  );
  const later = await closure(["/days.js", "/filters.js", "/setup.js", "/health.js", "/network.js", "/display.js"], {
    lazy: true,
  });
  expect(later).toContain("/first.js");
  expect(later.filter((path) => ["/dom.js", "/texts.js", "/api.js", "/format.js"].includes(path))).toEqual([]);
  for (const path of later) {
    for (const [, names = "", from] of (await textOf(path)).matchAll(IMPORTED)) {
      if (from !== "./first.js") continue;
      expect(
        names
          .split(",")
          .map((name) => name.trim())
          .filter((name) => name !== "" && !has.has(name)),
        path,
      ).toEqual([]);
    }
  }
});

it("the web page's first-view modules have distinct top-level names, and import only in forms that the bundler supports", async () => {
  const first = await textOf("/first.js");
  const names = [...first.matchAll(NAMED)].flatMap(([, several = "", one = ""]) =>
    one === "" ? several.split(", ").map((name) => name.replace(/^\w+: /, "")) : [one],
  );
  expect(names.length).toBeGreaterThan(100);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  for (const name of files) {
    const imports = read(name).match(/^import /gm)?.length ?? 0;
    expect([name, [...read(name).matchAll(WRITTEN)].length]).toEqual([name, imports]);
    expect(read(name), name).not.toMatch(/^export [{*]|^import .* as /m);
  }
});

it("the package contains exactly the library files that the page serves", () => {
  expect([...PACKAGED].sort()).toEqual(
    Object.values(LIBRARY_FILES)
      .map(([file]) => file)
      .sort(),
  );
});

it.each(LANGUAGES)(
  "the web page's document for the language %s names all files of the first view, so that they load at once",
  async (name) => {
    const text = gunzipSync(await sent("/", name)).toString("utf8");
    const named = [...text.matchAll(/"(\/v\/[\w-]+(\/[\w-]+\.(?:js|css|json)))"/g)].map(([, , path]) => path);
    const files = ["/ahead.js", "/first.js", "/page.css", ...textFiles(name)];
    expect([...new Set(named)].toSorted()).toEqual(files.toSorted());
  },
);
